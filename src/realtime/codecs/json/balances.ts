import type { BalanceReport } from '../../../domain/charge-outcome.ts'
import { balanceValues } from '../../../file-types/balance-values.ts'
import { encodeValue } from './value.ts'

/** `balances` of an answer: prepaid balances, included units, and postpaid credit. */
export function encodeBalances(balances: readonly BalanceReport[]): string {
  return `,"balances":${encodeValue(balances.map(balanceValues))}`
}

import type { BalanceReport } from '../../../domain/charge-outcome.ts'
import { balanceValues } from '../../../file-types/balance-values.ts'
import { encodeValue } from './value.ts'

/** `balances` of an answer: prepaid credit, what groups include, and the credit of postpaid. */
export function encodeBalances(balances: readonly BalanceReport[]): string {
  return `,"balances":${encodeValue(balances.map(balanceValues))}`
}

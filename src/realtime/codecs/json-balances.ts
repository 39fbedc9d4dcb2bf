import { balanceValues } from '../../catalog/file-types/balance-values.ts'
import type { BalanceReport } from '../../domain/charge-outcome.ts'
import { encodeValue } from './json-value.ts'

/** `balances` of an answer: prepaid credit, what groups include, and the credit of postpaid. */
export function encodeBalances(balances: readonly BalanceReport[]): string {
  return `,"balances":${encodeValue(balances.map(balanceValues))}`
}

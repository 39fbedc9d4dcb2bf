import type { BalanceReport } from '../../domain/charge-outcome.ts'
import { parseGroupCounter } from '../../domain/counters.ts'
import { decimalText } from '../../domain/money.ts'
import { quote } from './json-text.ts'

/** `balances` of an answer: prepaid credit, what groups include, and the credit of postpaid. */
export function encodeBalances(balances: readonly BalanceReport[]): string {
  return `,"balances":[${balances.map(encodeBalance).join(',')}]`
}

function encodeBalance(balance: BalanceReport): string {
  const isMoney = balance.kind === 'money'
  const chargingBy = isMoney ? 'cost' : 'usagev'
  const free = isMoney ? decimalText(balance.free) : balance.free
  const reserved = isMoney ? decimalText(balance.reserved) : balance.reserved
  const to = new Date(balance.toMs).toISOString()
  const type = `"charging_by":"${chargingBy}","usaget":${quote(balance.usaget)}`
  const amounts = `"balance":${free},"reserved":${reserved},"to":"${to}"`
  return `{${nameOf(balance)},${type},${amounts}}`
}

function nameOf({ counter, prepaidIncludeId }: BalanceReport): string {
  if (counter === '') return `"pp_includes_external_id":${prepaidIncludeId}`
  return `"group":${quote(parseGroupCounter(counter)?.name ?? counter)}`
}

import type { BalanceReport } from '../domain/charge-outcome.ts'
import { CREDIT, parseGroupCounter } from '../domain/counters.ts'
import { decimalText } from '../domain/money.ts'
import { type AnswerValue, NumberText } from './file-type.ts'

/**
 * Money available for the services of a request, micros: the smallest amount left by a credit
 * limit, otherwise the sum of prepaid money. Amounts of groups are excluded, as they apply only to
 * their own usage. Null if there is no such balance or the credit is unlimited.
 */
export function remainingMicros(balances: readonly BalanceReport[] | null): number | null {
  let credit: number | null = null
  let prepaid: number | null = null
  for (const { kind, counter, free } of balances ?? []) {
    if (kind !== 'money') continue
    if (counter === CREDIT) credit = Math.min(credit ?? free, free)
    else if (counter === '') prepaid = (prepaid ?? 0) + free
  }
  return credit ?? prepaid
}

/**
 * A balance in answers: prepaid credit by its include, otherwise a group or the postpaid credit.
 * Units are integers, money is a decimal of the currency, times are ISO 8601.
 */
export function balanceValues(balance: BalanceReport): Readonly<Record<string, AnswerValue>> {
  const { counter, free, reserved, usaget, debt } = balance
  const isMoney = balance.kind === 'money'
  const amounts = {
    charging_by: isMoney ? 'cost' : 'usagev',
    usaget,
    balance: isMoney ? new NumberText(decimalText(free)) : free,
    reserved: isMoney ? new NumberText(decimalText(reserved)) : reserved,
    to: new Date(balance.toMs).toISOString(),
    ...(debt > 0 ? { debt: new NumberText(decimalText(debt)) } : {}),
  }
  if (counter === '') return { pp_includes_external_id: balance.prepaidIncludeId, ...amounts }
  return { group: parseGroupCounter(counter)?.name ?? counter, ...amounts }
}

import type { BalanceReport } from '../../domain/charge-outcome.ts'
import { parseGroupCounter } from '../../domain/counters.ts'
import { decimalText } from '../../domain/money.ts'
import { type AnswerValue, NumberText } from './file-type.ts'

/**
 * A balance as answers show it: prepaid credit by its include, else what a group includes or the
 * credit of postpaid. Units as they are, money as a decimal of the currency, times as ISO 8601.
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

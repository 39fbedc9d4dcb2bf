/** Rules of money: for which accounts a change of a bill makes an event. */
import { FieldError } from '../fields.ts'
import { type EventRule, eventRuleOf, type Receiver, type RuleFilter } from './rule-documents.ts'

export const MONEY_EVENT_TYPES = [
  'invoice_confirmed',
  'invoice_parked',
  'payment_completed',
  'payment_rejected',
  'payment_pending',
  'credit_note',
  'overdue',
] as const

export type MoneyEventType = (typeof MONEY_EVENT_TYPES)[number]

/** As stored in the configuration, after validation of its form. */
export interface MoneyRuleDocument extends Receiver {
  active?: boolean
  event_type: MoneyEventType
  /** The type if absent. */
  event_code?: string
  event_description?: string
  filter?: Pick<RuleFilter, 'aid'>
}

export interface MoneyRule extends EventRule {
  readonly type: MoneyEventType
  isFor(aid: number): boolean
}

/**
 * Compiles the rules of a list one by one; null for one that is not active. Throws `FieldError` for
 * the second rule with a type and code: its events could not be told from those of the first.
 */
export function moneyRuleCompiler(): (document: MoneyRuleDocument, at: string) => MoneyRule | null {
  const named = new Set<string>()
  return (document, at) => {
    if (document.active === false) return null
    const { event_type: type, event_code: code = type, filter } = document
    const name = JSON.stringify([type, code])
    if (named.has(name)) {
      throw new FieldError(`${at}.event_code`, `belongs to another rule of ${type}`)
    }
    named.add(name)
    const aids = filter?.aid === undefined ? null : new Set(filter.aid)
    return {
      ...eventRuleOf({ ...document, event_code: code }),
      type,
      isFor: (aid) => aids === null || aids.has(aid),
    }
  }
}

/** Explains a rule on a changed balance: each condition with its paths and their values. */
import type { Reason } from '../charge-outcome.ts'
import type { ChangedBalance } from './balance.ts'
import {
  type BalanceChange,
  type CompiledCondition,
  type CompiledPath,
  matchOf,
  type PathMatch,
  pathsIn,
  type ReportedValue,
} from './conditions.ts'
import { reportedAmount } from './constant.ts'
import type { BalanceEvent } from './event.ts'
import { kindAt, sumAt } from './paths.ts'
import type { ConditionType } from './rule-documents.ts'
import type { BalanceRule } from './rules.ts'

export interface PathExplanation {
  path: string
  /** Undefined if the balance does not have the value. */
  before?: ReportedValue
  after?: ReportedValue
  /** Compared with the value; percentages as shares of the total. */
  constants: readonly (number | string)[]
  /** Null if the condition is not met for the path. */
  match: PathMatch | null
}

export interface ConditionExplanation {
  type: ConditionType
  isMet: boolean
  /** Whether its matching paths are the events. */
  decides: boolean
  paths: readonly PathExplanation[]
}

export interface BalanceExplanation {
  balance: ChangedBalance
  /** Whether the rule is tested on the balance at all. */
  isTested: boolean
  isMet: boolean
  conditions: readonly ConditionExplanation[]
}

/** The result of a rule for usage that is settled in one request. */
export interface RuleTrial {
  /** Outcome of the request: nothing is settled unless it is granted. */
  reason: Reason
  detail: string
  /** Why the rule is not for the subscriber: it is off, or a list of its filter; null if it is. */
  excludedBy: 'active' | 'plan' | 'service' | 'aid' | null
  /** Plan of the usage; empty if nothing is settled. */
  plan: string
  /** The balances that the usage changes. */
  balances: readonly BalanceExplanation[]
  events: readonly BalanceEvent[]
}

/** `isMet` is true exactly if `SubscriberRules.matches` finds the rule on this balance. */
export function explainRule(rule: BalanceRule, change: BalanceChange): BalanceExplanation {
  const { balance } = change
  const isTested = balance.changed.some((bucket) => rule.isTriggeredBy(bucket))
  const conditions = rule.conditions.map((condition, index) =>
    explainCondition(condition, index === rule.conditions.length - 1, change),
  )
  const isMet = isTested && conditions.every((condition) => condition.isMet)
  return { balance, isTested, isMet, conditions }
}

function explainCondition(
  condition: CompiledCondition,
  decides: boolean,
  change: BalanceChange,
): ConditionExplanation {
  const paths = pathsIn(condition, change).map((path) => explainPath(condition, path, change))
  const isMet = paths.some(({ match }) => match !== null)
  return { type: condition.type, isMet, decides, paths }
}

function explainPath(
  condition: CompiledCondition,
  path: CompiledPath,
  change: BalanceChange,
): PathExplanation {
  const { value, document, total } = path
  const { balance, subscriber } = change
  const match = matchOf(condition, path, change)
  const constants = condition.expected.map(({ text, constant }) => constant?.reported ?? text)
  if (value.kind === 'field') {
    const read = value.read(balance, subscriber)
    const values = read === undefined ? {} : { before: read, after: read }
    return { path: document.path, ...values, constants, match }
  }
  const kind = kindAt(value, balance)
  if (kind === null) return { path: document.path, constants, match }
  const isShare = condition.type === 'reached_percentage'
  const whole = total === null ? undefined : sumAt(total, balance.after)
  return {
    path: document.path,
    before: reportedAmount(sumAt(value, balance.before) ?? 0, kind),
    after: reportedAmount(sumAt(value, balance.after) ?? 0, kind),
    constants: isShare
      ? condition.constants.map((one) =>
          whole === undefined ? 'no total' : one.share(whole, kind),
        )
      : constants,
    match,
  }
}

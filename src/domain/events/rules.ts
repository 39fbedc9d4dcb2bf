/**
 * Rules of balances: compiled once per change of the configuration, and applied to each settled
 * request.
 */
import type { Bucket } from '../bucket.ts'
import type { CounterOwners } from '../counters.ts'
import { FieldError } from '../fields.ts'
import { compileAction, type RuleAction } from './actions.ts'
import { type ChangedBalance, changedBalances, groupOf } from './balance.ts'
import {
  type BalanceChange,
  type CompiledCondition,
  compileCondition,
  matchesOf,
  type PathMatch,
} from './conditions.ts'
import type { AmountPath, UsingSubscriber } from './paths.ts'
import type { BalanceRuleDocument } from './rule-documents.ts'
import type { UsageTotal } from './usage-totals.ts'

export interface BalanceRule {
  document: BalanceRuleDocument
  /** All of them have to be met; the last one decides: its matching paths are reported. */
  conditions: readonly CompiledCondition[]
  /** Its action on further usage; null if it makes events only. */
  action: RuleAction | null
  /** Totals that its paths name. */
  totals: readonly UsageTotal[]
  /** The balance changes that may meet it. */
  isTriggeredBy(bucket: Bucket): boolean
}

/** A rule that is met by a path of a balance. */
export interface RuleMatch {
  rule: BalanceRule
  balance: ChangedBalance
  match: PathMatch
}

/** Throws `FieldError`; `at` is the path of the rule. */
export function compileBalanceRule(document: BalanceRuleDocument, at: string): BalanceRule {
  const compiled = document.conditions.map((condition, index) =>
    compileCondition(condition, `${at}.conditions.${index}`),
  )
  const conditions = deciderLast(compiled)
  const decider = conditions.at(-1)
  if (decider === undefined) throw new FieldError(`${at}.conditions`, 'must not be empty')
  const isPrepaidOnly = document.prepaid === true
  const triggers = triggersOf(decider)
  return {
    document,
    conditions,
    action: compileAction(document, conditions, at),
    totals: isPrepaidOnly ? [] : compiled.flatMap(totalsOf),
    isTriggeredBy: (bucket) => !(isPrepaidOnly && bucket.counter !== '') && triggers(bucket),
  }
}

/**
 * The last condition on a movement decides, without one the last condition on an amount: conditions
 * on other fields only restrict the balances.
 */
function deciderLast(conditions: readonly CompiledCondition[]): CompiledCondition[] {
  const isOfAmounts = ({ paths, allGroups }: CompiledCondition) =>
    allGroups !== null || paths.some(({ value }) => value.kind === 'amount')
  const decider =
    conditions.findLast(({ isMovement }) => isMovement) ??
    conditions.findLast(isOfAmounts) ??
    conditions.at(-1)
  if (decider === undefined) return []
  return [...conditions.filter((condition) => condition !== decider), decider]
}

/**
 * A movement needs a change of the amount itself; a state is tested after each change of the
 * balance.
 */
function triggersOf({
  isMovement,
  allGroups,
  paths,
}: CompiledCondition): (bucket: Bucket) => boolean {
  if (allGroups !== null) return ({ counter }) => groupOf(counter) !== null
  if (!isMovement) return () => true
  const amounts = paths.flatMap(({ value }) => (value.kind === 'amount' ? value : []))
  return (bucket) => amounts.some((path) => path.matches(bucket))
}

function totalsOf({ paths }: CompiledCondition): UsageTotal[] {
  const amounts = paths.flatMap(({ value, total }): (AmountPath | null)[] => [
    value.kind === 'amount' ? value : null,
    total,
  ])
  return amounts.flatMap((path) => path?.total ?? [])
}

/** The rules of one subscriber. */
export class SubscriberRules {
  readonly rules: readonly BalanceRule[]
  /** Drops duplicates. */
  readonly totals: readonly UsageTotal[]
  /** By kind of bucket: few, as buckets of a kind trigger the same rules. */
  readonly #triggered = new Map<string, readonly BalanceRule[]>()

  constructor(rules: readonly BalanceRule[]) {
    this.rules = rules
    const totals = new Map<string, UsageTotal>()
    for (const total of rules.flatMap((rule) => rule.totals)) {
      totals.set(`${total.usaget} ${total.measure}`, total)
    }
    this.totals = [...totals.values()]
  }

  /** Tests the rules on the balances that a request changed. */
  matches(
    before: CounterOwners,
    after: CounterOwners,
    subscriber: UsingSubscriber,
    usagets: readonly string[],
  ): RuleMatch[] {
    const found: RuleMatch[] = []
    const context = { subscriber, usagets }
    this.#addMatches(found, changedBalances(0, before.subscriber, after.subscriber), context)
    this.#addMatches(found, changedBalances(1, before.account, after.account), context)
    return found
  }

  #addMatches(
    found: RuleMatch[],
    balances: readonly ChangedBalance[],
    { subscriber, usagets }: Pick<BalanceChange, 'subscriber' | 'usagets'>,
  ): void {
    for (const balance of balances) {
      const change = { balance, subscriber, usagets }
      for (const rule of this.#rulesOf(balance)) addMatches(found, rule, change)
    }
  }

  #rulesOf({ changed }: ChangedBalance): readonly BalanceRule[] {
    if (changed.length === 1) return this.#triggeredBy(changed[0] as Bucket)
    const rules = new Set(changed.flatMap((bucket) => this.#triggeredBy(bucket)))
    return this.rules.filter((rule) => rules.has(rule))
  }

  #triggeredBy(bucket: Bucket): readonly BalanceRule[] {
    const { counter, kind, usaget } = bucket
    const key = counter === '' ? `${kind} ${usaget}` : counter
    const known = this.#triggered.get(key)
    if (known !== undefined) return known
    const rules = this.rules.filter((rule) => rule.isTriggeredBy(bucket))
    if (this.#triggered.size >= TRIGGERS_MAX) this.#triggered.clear()
    this.#triggered.set(key, rules)
    return rules
  }
}

/** Names of counters contain the ids of services. */
const TRIGGERS_MAX = 1_000

function addMatches(found: RuleMatch[], rule: BalanceRule, change: BalanceChange): void {
  const { conditions } = rule
  const decider = conditions[conditions.length - 1] as CompiledCondition
  const matches = matchesOf(decider, change)
  if (matches.length === 0) return
  for (const condition of conditions) {
    if (condition !== decider && matchesOf(condition, change).length === 0) return
  }
  for (const match of matches) found.push({ rule, balance: change.balance, match })
}

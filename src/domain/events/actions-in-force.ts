/**
 * The actions in force: those of rules whose conditions describe the state of a balance. Nothing is
 * stored about them: they follow from the balances alone.
 */
import type { CounterOwners } from '../counters.ts'
import type { RuleAction } from './actions.ts'
import { type ChangedBalance, currentBalances } from './balance.ts'
import {
  type CompiledCondition,
  type CompiledPath,
  isAmountMet,
  isFieldMet,
  reachesConstants,
} from './conditions.ts'
import type { Constant } from './constant.ts'
import { kindAt, sumAt, type UsingSubscriber } from './paths.ts'
import type { BalanceRule } from './rules.ts'

/** An action in force for a subscriber. */
export interface ActionInForce {
  rule: BalanceRule
  action: RuleAction
  /** Owner of the balance that is in the state; 0 if one of the account is. */
  sid: number
  /** When the first of these balances ends, epoch ms. */
  untilMs: number
}

/**
 * The actions in force at an instant, in the order of the rules, which must have actions.
 * `begunMs`: by when credit must have begun.
 */
export function actionsInForce(
  rules: readonly BalanceRule[],
  { subscriber, account }: CounterOwners,
  using: UsingSubscriber,
  atMs: number,
  begunMs = atMs,
): ActionInForce[] {
  const balances = [
    ...currentBalances(0, subscriber, atMs, begunMs),
    ...currentBalances(1, account, atMs, begunMs),
  ]
  const found: ActionInForce[] = []
  for (const rule of rules) {
    const inForce = rule.action === null ? null : inForceOf(rule, rule.action, balances, using)
    if (inForce !== null) found.push(inForce)
  }
  return found
}

function inForceOf(
  rule: BalanceRule,
  action: RuleAction,
  balances: readonly ChangedBalance[],
  using: UsingSubscriber,
): ActionInForce | null {
  const prepaid = new Found()
  const postpaid = new Found()
  for (const balance of balances) {
    if (rule.document.prepaid === true && !balance.isPrepaid) continue
    const found = balance.isPrepaid ? prepaid : postpaid
    found.add(stateOf(rule, balance, using), balance)
  }
  // Usage can still be paid from credit, or be included in a group, that is in another state.
  if (prepaid.isUnmet) prepaid.sid = null
  if (postpaid.isUnmet && action.isOfGroup) postpaid.sid = null
  const { sid, untilMs } = prepaid.sid === null ? postpaid : prepaid
  return sid === null ? null : { rule, action, sid, untilMs }
}

/** The balances of a kind that are in the state of a rule. */
class Found {
  /** Null if there is none; 0 if one of the account is. */
  sid: number | null = null
  untilMs = Number.POSITIVE_INFINITY
  /** Whether another one is not. */
  isUnmet = false

  add(state: State, { sid, bucket }: ChangedBalance): void {
    if (state === 'unmet') this.isUnmet = true
    if (state !== 'met') return
    this.sid = Math.min(this.sid ?? sid, sid)
    this.untilMs = Math.min(this.untilMs, bucket.toMs)
  }
}

/** `absent`: it is not the balance that is meant, or has no such value. */
type State = 'met' | 'unmet' | 'absent'

function stateOf(
  { conditions }: BalanceRule,
  balance: ChangedBalance,
  using: UsingSubscriber,
): State {
  let state: State = 'met'
  for (const condition of conditions) {
    const one = conditionState(condition, balance, using)
    if (one === 'absent') return one
    if (one === 'unmet') state = one
  }
  return state
}

/** Paths are alternatives. */
function conditionState(
  condition: CompiledCondition,
  balance: ChangedBalance,
  using: UsingSubscriber,
): State {
  let state: State = 'absent'
  for (const path of condition.paths) {
    const one = pathState(condition, path, balance, using)
    if (one === 'met') return one
    if (one === 'unmet') state = one
  }
  return state
}

function pathState(
  condition: CompiledCondition,
  path: CompiledPath,
  balance: ChangedBalance,
  using: UsingSubscriber,
): State {
  const { type, expected } = condition
  const { value } = path
  if (value.kind === 'field') {
    const read = value.read(balance, using)
    return read !== undefined && isFieldMet(type, read, expected) ? 'met' : 'absent'
  }
  const { after } = balance
  const amount = sumAt(value, after)
  const kind = kindAt(value, balance)
  if (amount === undefined || kind === null) return 'absent'
  if (!reachesConstants(type)) {
    return isAmountMet(type, amount, amount, kind, false, expected) ? 'met' : 'unmet'
  }
  const constant = firstReached(condition, value.falls)
  let order = 0
  if (type === 'reached_percentage') {
    const total = path.total === null ? undefined : sumAt(path.total, after)
    if (total === undefined || total <= 0) return 'absent'
    order = constant.compareShare(amount, total)
  } else order = constant.compare(amount, kind)
  return (value.falls ? order <= 0 : order >= 0) ? 'met' : 'unmet'
}

/** The constant that usage reaches first. */
function firstReached({ constants }: CompiledCondition, falls: boolean): Constant {
  return constants.at(falls ? -1 : 0) as Constant
}

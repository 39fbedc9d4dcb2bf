/** The actions of rules on further usage, compiled from the stored configuration. */
import type { ServiceAction } from '../charge-outcome.ts'
import { FieldError, isWebAddress, WEB_ADDRESS_FORM } from '../fields.ts'
import type { CompiledCondition } from './conditions.ts'
import type { ActionType, BalanceRuleDocument, RuleActionDocument } from './rule-documents.ts'

export interface RuleAction {
  type: ActionType
  /** The part of answers to the network element; null for `bar`. */
  serviceAction: ServiceAction | null
  /** Null for all usage types. */
  usagets: ReadonlySet<string> | null
  /** Whether the deciding value is one of a group. */
  isOfGroup: boolean
}

/**
 * The action of a rule; null without one. `conditions`: the last one decides. Throws `FieldError`;
 * `at` is the path of the rule.
 */
export function compileAction(
  { action, conditions: documents }: BalanceRuleDocument,
  conditions: readonly CompiledCondition[],
  at: string,
): RuleAction | null {
  if (action === undefined) return null
  for (const [index, { type, all_groups: all, which, paths = [] }] of documents.entries()) {
    const where = `${at}.conditions.${index}`
    if (type.startsWith('has_changed')) {
      throw new FieldError(`${where}.type`, 'describes no state, which the action of a rule needs')
    }
    if (all === true) throw new FieldError(`${where}.all_groups`, 'cannot be used with an action')
    if (which === 'before' || paths.some((path) => path.which === 'before')) {
      throw new FieldError(`${where}.which`, 'cannot be before in a rule with an action')
    }
  }
  const isOfGroup =
    conditions.at(-1)?.paths.some(({ value }) => value.kind === 'amount' && value.group !== null) ??
    false
  return {
    type: action.type,
    serviceAction: serviceActionOf(action, `${at}.action`),
    usagets: action.usaget === undefined ? null : new Set(action.usaget),
    isOfGroup,
  }
}

function serviceActionOf(
  { type, policy, address }: RuleActionDocument,
  at: string,
): ServiceAction | null {
  const unused = { bar: { policy, address }, redirect: { policy }, throttle: { address } }[type]
  for (const [key, value] of Object.entries(unused)) {
    if (value !== undefined) {
      throw new FieldError(`${at}.${key}`, `does not apply to the action ${type}`)
    }
  }
  if (type === 'bar') return null
  if (type === 'throttle') {
    if (policy === undefined) throw new FieldError(`${at}.policy`, 'is missing', 'missing')
    return { type, policy }
  }
  if (address === undefined) throw new FieldError(`${at}.address`, 'is missing', 'missing')
  if (isWebAddress(address)) return { type, address }
  throw new FieldError(`${at}.address`, `must be ${WEB_ADDRESS_FORM}`)
}

/**
 * Rules as stored in the configuration, after validation of their form (settings category
 * `events`).
 */

export const CONDITION_TYPES = [
  'is',
  'is_not',
  'in',
  'is_less_than',
  'is_less_than_or_equal',
  'is_greater_than',
  'is_greater_than_or_equal',
  'reached_constant',
  'reached_constant_recurring',
  'reached_percentage',
  'has_changed',
  'has_changed_to',
  'has_changed_from',
] as const

export type ConditionType = (typeof CONDITION_TYPES)[number]

/** A list, or a text with commas between its members, where a condition may have several. */
export type ConditionValue = string | number | boolean | readonly (string | number)[]

export interface ConditionPath {
  path: string
  total_path?: string
  entity_type?: string
  which?: 'before' | 'after'
  related_entities?: readonly { type: string; key: string }[]
}

/** Its paths are alternatives. */
export interface BalanceCondition {
  type: ConditionType
  value?: ConditionValue
  unit?: string
  usaget?: string
  property_type?: string
  which?: 'before' | 'after'
  all_groups?: boolean
  path?: string
  paths?: readonly ConditionPath[]
}

/** Which subscribers a rule is for; a list that is absent restricts nothing. */
export interface RuleFilter {
  plan?: readonly string[]
  service?: readonly string[]
  aid?: readonly number[]
}

/** Where the events of a rule are sent, in place of the settings. */
export interface Receiver {
  url?: string
  method?: 'get' | 'post'
  decoder?: 'json' | 'xml'
  notify_by_email?: Readonly<Record<string, unknown>>
}

/** In the order in which they apply: the first one in force counts. */
export const ACTION_TYPES = ['bar', 'redirect', 'throttle'] as const

export type ActionType = (typeof ACTION_TYPES)[number]

/** Applies to further usage while a balance is in the state of the conditions. */
export interface RuleActionDocument {
  type: ActionType
  /** For `throttle`: the name of a policy that the network element knows. */
  policy?: string
  /** A URL, for `redirect`. */
  address?: string
  /** Absent for all usage types. */
  usaget?: readonly string[]
}

/** All its conditions must be met by one balance. */
export interface BalanceRuleDocument extends Receiver {
  active?: boolean
  event_code: string
  event_description?: string
  prepaid?: boolean
  filter?: RuleFilter
  conditions: readonly BalanceCondition[]
  action?: RuleActionDocument
}

/** The common parts of the events of a rule. */
export interface EventRule {
  readonly code: string
  readonly description: string
  readonly receiver: Receiver
}

export function eventRuleOf(
  document: Receiver & { readonly event_code: string; readonly event_description?: string },
): EventRule {
  const { event_code: code, event_description: description = '' } = document
  return { code, description, receiver: receiverOf(document) }
}

export function receiverOf({ url, method, decoder, notify_by_email: email }: Receiver): Receiver {
  return {
    ...(url === undefined ? {} : { url }),
    ...(method === undefined ? {} : { method }),
    ...(decoder === undefined ? {} : { decoder }),
    ...(email === undefined ? {} : { notify_by_email: email }),
  }
}

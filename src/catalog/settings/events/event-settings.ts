/**
 * Category `events` of the stored configuration: rules of balances (`balance`), money (`money`) and
 * usage patterns (`fraud`), which make events; receivers (notification-settings.ts).
 */
import { type TSchema, Type } from '@sinclair/typebox'
import {
  compileFraudRule,
  type FraudRule,
  type FraudRuleDocument,
  LINE_FIELDS,
  SUM_FIELDS,
  THRESHOLD_OPS,
} from '../../../domain/events/fraud.ts'
import {
  MONEY_EVENT_TYPES,
  type MoneyRule,
  type MoneyRuleDocument,
  moneyRuleCompiler,
} from '../../../domain/events/money.ts'
import {
  ACTION_TYPES,
  type BalanceRuleDocument,
  CONDITION_TYPES,
} from '../../../domain/events/rule-documents.ts'
import { type BalanceRule, compileBalanceRule } from '../../../domain/events/rules.ts'
import { FieldError, isObject } from '../../../domain/fields.ts'
import { checkAgainstSchema, flag, object, oneOf, whole } from '../settings-schema.ts'
import {
  checkReceivers,
  emails,
  NotificationSection,
  receiverFields,
} from './notification-settings.ts'

const TEXT_LENGTH_MAX = 1000

const text = (description = 'a text') =>
  Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description })
const list = <T extends TSchema>(of: T, description: string) =>
  Type.Array(of, { maxItems: 100, description })

/** A number, or its text; a list of them is one text separated by commas. */
const number = Type.Union([Type.Number(), Type.String({ pattern: '^-?\\d+(\\.\\d+)?$' })], {
  description: 'a number',
})

/** Common fields of events. */
const named = {
  active: flag,
  event_code: text('a text that is not empty'),
  event_description: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX })),
  ...receiverFields,
  notify_by_email: Type.Optional(
    object('an object', { notify: flag, use_global_addresses: flag, additional_addresses: emails }),
  ),
}

/** A path of a balance, which contains the name of a group. */
const path = text('a path')

const Condition = object('an object', {
  type: oneOf(...CONDITION_TYPES),
  value: Type.Optional(
    Type.Union(
      [
        Type.String({ maxLength: TEXT_LENGTH_MAX }),
        Type.Number(),
        Type.Boolean(),
        list(Type.Union([Type.String({ maxLength: TEXT_LENGTH_MAX }), Type.Number()]), 'a list'),
      ],
      { description: 'a text, a number, true or false, or a list of texts and numbers' },
    ),
  ),
  unit: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'a text' })),
  usaget: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'a text' })),
  property_type: Type.Optional(text()),
  which: Type.Optional(oneOf('before', 'after')),
  all_groups: flag,
  /** Single path, as documented for the API; `paths` is the form stored by existing systems. */
  path: Type.Optional(path),
  paths: Type.Optional(
    list(
      object('an object', {
        path,
        total_path: Type.Optional(path),
        entity_type: Type.Optional(text()),
        which: Type.Optional(oneOf('before', 'after')),
        related_entities: Type.Optional(
          list(object('an object', { type: text(), key: text() }), 'a list'),
        ),
      }),
      'a list of paths',
    ),
  ),
})

const names = Type.Optional(list(text(), 'a list of names'))
const aids = Type.Optional(list(whole(1, 2 ** 53 - 1), 'a list'))

/** The subscribers that a rule is for. */
const Filter = object('an object of plan, service and aid', {
  plan: names,
  service: names,
  aid: aids,
})

/** The action of a rule on further usage. */
const Action = object('an object of type, policy, address and usaget', {
  type: oneOf(...ACTION_TYPES),
  policy: Type.Optional(text('the name of a policy')),
  address: Type.Optional(text('an address')),
  usaget: Type.Optional(
    Type.Array(text('a usage type'), {
      minItems: 1,
      maxItems: 100,
      description: 'a list of usage types, not empty',
    }),
  ),
})

const BalanceEvent = object('an object', {
  ...named,
  prepaid: flag,
  filter: Type.Optional(Filter),
  conditions: Type.Array(Condition, {
    minItems: 1,
    maxItems: 100,
    description: 'a list of conditions, not empty',
  }),
  action: Type.Optional(Action),
})

const MoneyEvent = object('an object', {
  ...named,
  event_type: oneOf(...MONEY_EVENT_TYPES),
  event_code: Type.Optional(text('a text that is not empty')),
  filter: Type.Optional(object('an object of aid', { aid: aids })),
})

const within = (...types: readonly string[]) =>
  object('an object of type and value', { type: oneOf(...types), value: whole(1, 1000) })

const filter = (fields: readonly string[], ops: readonly string[]) =>
  object('an object', {
    field: oneOf(...fields),
    op: oneOf(...ops),
    value: Type.Union(
      [Type.String(), number, list(Type.Union([Type.String(), Type.Number()]), 'a list')],
      { description: 'a text, a number, or a list of them' },
    ),
    unit: Type.Optional(Type.String()),
    usaget: Type.Optional(Type.Union([Type.String(), list(Type.String(), 'a list of texts')])),
  })

const FraudEvent = object('an object', {
  ...named,
  recurrence: within('minutely', 'hourly'),
  date_range: within('minutely', 'hourly', 'daily'),
  lines_overlap: flag,
  conditions: Type.Optional(
    list(list(filter(Object.keys(LINE_FIELDS), ['in', 'nin']), 'a list'), 'a list of lists'),
  ),
  threshold_conditions: Type.Array(list(filter(SUM_FIELDS, THRESHOLD_OPS), 'a list'), {
    minItems: 1,
    maxItems: 100,
    description: 'a list of lists, not empty',
  }),
})

export const EventsSchema = object('an object of balance, fraud, money and settings', {
  balance: Type.Optional(Type.Array(BalanceEvent, { maxItems: 1000, description: 'a list' })),
  fraud: Type.Optional(Type.Array(FraudEvent, { maxItems: 1000, description: 'a list' })),
  money: Type.Optional(Type.Array(MoneyEvent, { maxItems: 1000, description: 'a list' })),
  settings: Type.Optional(NotificationSection),
})

/** Throws `FieldError` for the first invalid value. */
export function checkEventSettings(value: unknown): void {
  checkAgainstSchema(EventsSchema, value, 'events')
  checkReceivers(value)
  const [invalid] = [
    ...compileEach(value, 'balance', compileBalanceRule).invalid,
    ...compileEach(value, 'fraud', compileFraudRule).invalid,
    ...compileEach(value, 'money', moneyRuleCompiler()).invalid,
  ]
  if (invalid !== undefined) throw invalid
}

interface CompiledRules<Rule> {
  rules: Rule[]
  invalid: FieldError[]
}

/** The rules of balances. Invalid ones are left out and listed. Never throws. */
export function balanceRulesIn(value: unknown): CompiledRules<BalanceRule> {
  return compileEach(value, 'balance', (document: BalanceRuleDocument, at) => {
    checkAgainstSchema(BalanceEvent, document, at)
    return compileBalanceRule(document, at)
  })
}

/** The active rules of money, as above. */
export function moneyRulesIn(value: unknown): CompiledRules<MoneyRule> {
  const compile = moneyRuleCompiler()
  return compileEach(value, 'money', (document: MoneyRuleDocument, at) => {
    checkAgainstSchema(MoneyEvent, document, at)
    return compile(document, at)
  })
}

/** The active rules of usage patterns, as above. */
export function fraudRulesIn(value: unknown): CompiledRules<FraudRule> {
  return compileEach(value, 'fraud', (document: FraudRuleDocument, at) => {
    checkAgainstSchema(FraudEvent, document, at)
    return compileFraudRule(document, at)
  })
}

/** `compile` returns null for a rule that is not active. */
function compileEach<Document, Rule>(
  value: unknown,
  name: 'balance' | 'fraud' | 'money',
  compile: (document: Document, at: string) => Rule | null,
): CompiledRules<Rule> {
  const rules: Rule[] = []
  const invalid: FieldError[] = []
  const list: unknown = isObject(value) ? value[name] : undefined
  for (const [index, document] of (Array.isArray(list) ? list : []).entries()) {
    try {
      const rule = compile(document as Document, `events.${name}.${index}`)
      if (rule !== null) rules.push(rule)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      invalid.push(error)
    }
  }
  return { rules, invalid }
}

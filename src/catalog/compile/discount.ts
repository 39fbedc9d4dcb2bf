/** Discounts and conditional charges. Pure; throws `FieldError` with the path of the field. */
import type { Decimal } from 'decimal.js'
import type { Condition } from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  amountAt,
  arrayAt,
  choiceAt,
  entriesAt,
  FieldError,
  type Fields,
  isEmpty,
  isObject,
  isUnset,
  objectAt,
  oneOfAt,
  textAt,
  textsAt,
  wholeAt,
} from '../../domain/fields.ts'
import { FOREVER_MS, NO_BEGIN_MS, parseInstant } from '../../domain/time.ts'
import { Exact } from '../../rating/line-tax.ts'
import { patternAt } from './pattern.ts'
import { roundingAt } from './rounding.ts'
import { taxHintsAt } from './tax.ts'

/** `is`: whether a list of periods contains the day. */
export interface FieldCondition {
  readonly field: string
  readonly op: Condition['op'] | 'is'
  /** A `Pattern` if `op` is `regex`. */
  readonly value: unknown
}

const OPERATORS = [
  'eq',
  'ne',
  'in',
  'nin',
  'lt',
  'lte',
  'gt',
  'gte',
  'regex',
  'is',
  'exists',
] as const

/** A list of `{ field, op, value }`; operators may have a leading `$`. */
export function conditionsAt(value: unknown, path: string): readonly FieldCondition[] {
  if (isEmpty(value)) return []
  return readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const condition = objectAt(entry, at)
    const { field, compared } = readAll({
      field: () => textAt(condition['field'], `${at}.field`),
      compared: () => {
        const name = textAt(condition['op'], `${at}.op`).replace(/^\$/, '')
        const op = oneOfAt(name, `${at}.op`, OPERATORS)
        return { op, value: comparedAt(op, condition['value'], `${at}.value`) }
      },
    })
    return { field, ...compared }
  })
}

function comparedAt(op: FieldCondition['op'], value: unknown, path: string): unknown {
  if (value === undefined && op !== 'exists') throw new FieldError(path, 'is missing', 'missing')
  if (op === 'is') return oneOfAt(value, path, STATES)
  return op === 'regex' ? patternAt(textAt(value, path), path) : value
}

const STATES = ['active', 'notActive'] as const

export type AdjustmentKind = 'discount' | 'conditional_charge'

/** The amount for a subject. */
export interface SubjectValue {
  /** Money, or a fraction. */
  readonly value: Decimal
  /** A percentage of the amount that earlier discounts have left. */
  readonly isSequential: boolean
  /** Numbers of units for which the value is granted each time (`recurring_by_quantity`). */
  readonly quantities: readonly Decimal[]
}

type Values = ReadonlyMap<string, SubjectValue>

export interface Subjects {
  readonly plans: Values
  readonly services: Values
  /** Services of the account. */
  readonly customerServices: Values
  readonly matchedPlans: SubjectValue | null
  readonly matchedServices: SubjectValue | null
  readonly monthlyFees: SubjectValue | null
  /** The amount of a charge that applies to no single line. */
  readonly general: SubjectValue | null
}

export interface SubscriberCondition {
  readonly fields: readonly FieldCondition[]
  /** For each of them, a service must meet its conditions. */
  readonly services: readonly (readonly FieldCondition[])[]
  /** Whether it is about the plan, which is then the matched one. */
  readonly isOnPlan: boolean
}

/** Must be met as a whole. */
export interface Alternative {
  readonly account: readonly FieldCondition[]
  readonly accountServices: readonly (readonly FieldCondition[])[]
  /** One of them must be met; empty: every subscriber. */
  readonly subscribers: readonly SubscriberCondition[]
}

export interface AdjustmentTerms {
  readonly kind: AdjustmentKind
  readonly key: string
  readonly description: string
  readonly fromMs: number
  readonly toMs: number
  readonly type: 'percentage' | 'monetary'
  readonly alternatives: readonly Alternative[]
  readonly minSubscribers: number | null
  readonly maxSubscribers: number | null
  /** Months since the activation; null: no end. */
  readonly cycles: number | null
  readonly subjects: Subjects
  readonly proration: 'inherited' | 'yes' | 'no'
  /** With proration `yes`: at which edges. */
  readonly isProratedStart: boolean
  readonly isProratedEnd: boolean
  /** Most per run; null: no limit. */
  readonly limit: Decimal | null
  /** Most lines per run; null: no limit. */
  readonly linesMax: number | null
  readonly excludes: ReadonlySet<string>
  readonly priority: number
  /** Price of which a percentage is taken: of a whole cycle, or the charged one. */
  readonly percentageOn: 'full_price' | 'aprice'
  readonly document: Fields
}

const PRORATIONS = ['inherited', 'yes', 'no'] as const
const DISCOUNT_TYPES = ['percentage', 'monetary'] as const
const CHARGE_TYPES = ['monetary', 'percentage'] as const
const PERCENTAGE_BASES = ['full_price', 'aprice'] as const

/** `zone`: of dates that are texts, as in definitions of a subscriber. */
export function compileTerms(
  kind: AdjustmentKind,
  document: Fields,
  zone: string,
): AdjustmentTerms {
  const params = isObject(document['params']) ? document['params'] : {}
  const isDiscount = kind === 'discount'
  const { key, cycles, ...terms } = readAll({
    key: () => textAt(document['key'], 'key'),
    params: () => isEmpty(document['params']) || objectAt(document['params'], 'params'),
    rounding: () => roundingAt(document['rounding_rules'], 'rounding_rules'),
    tax: () => taxHintsAt(document['tax'], 'tax'),
    type: () => choiceAt(document['type'], 'type', isDiscount ? DISCOUNT_TYPES : CHARGE_TYPES),
    alternatives: () => alternativesAt(params['conditions'], 'params.conditions'),
    minSubscribers: () => countAt(params['min_subscribers'], 'params.min_subscribers', 1),
    maxSubscribers: () => countAt(params['max_subscribers'], 'params.max_subscribers', 1),
    cycles: () =>
      countAt(params['cycles'], 'params.cycles', 1) ?? countAt(document['cycles'], 'cycles', 1),
    subjects: () => subjectsAt(document['subject']),
    proration: () => prorationAt(document['proration']),
    limit: () => (isUnset(document['limit']) ? null : exactAt(document['limit'], 'limit')),
    linesMax: () => linesMaxAt(document['simultaneous_limit']),
    excludes: () => new Set(textsAt(document['excludes'], 'excludes')),
    priority: () => priorityAt(document['priority']),
    percentageOn: () =>
      choiceAt(document['percentage_on_field'], 'percentage_on_field', PERCENTAGE_BASES),
  })
  return {
    kind,
    key,
    description: isUnset(document['description']) ? key : String(document['description']),
    fromMs: dateMsOf(document['from'], zone) ?? NO_BEGIN_MS,
    toMs: dateMsOf(document['to'], zone) ?? FOREVER_MS,
    type: terms.type,
    alternatives: terms.alternatives,
    minSubscribers: terms.minSubscribers,
    maxSubscribers: terms.maxSubscribers,
    cycles,
    subjects: terms.subjects,
    proration: terms.proration,
    isProratedStart: flagOf(document['prorated_start']),
    isProratedEnd: flagOf(document['prorated_end']),
    limit: terms.limit,
    linesMax: terms.linesMax,
    excludes: terms.excludes,
    priority: terms.priority,
    percentageOn: terms.percentageOn,
    document,
  }
}

function countAt(value: unknown, path: string, least: number): number | null {
  return isUnset(value) ? null : wholeAt(value, path, least)
}

/** Absent or -1: no limit. */
function linesMaxAt(value: unknown): number | null {
  const path = 'simultaneous_limit'
  const max = countAt(value, path, -1)
  return max === -1 ? null : max
}

function priorityAt(value: unknown): number {
  if (isUnset(value)) return 0
  const isWhole = typeof value === 'string' ? /^-?\d{1,15}$/.test(value) : Number.isInteger(value)
  if (isWhole) return Number(value)
  throw new FieldError('priority', 'must be an integer')
}

/** Stored documents also have it as a boolean. */
function prorationAt(value: unknown): AdjustmentTerms['proration'] {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return choiceAt(value, 'proration', PRORATIONS)
}

/** True by default. */
function flagOf(value: unknown): boolean {
  return !(value === false || value === 0 || value === 'false' || value === '0' || value === 'no')
}

function exactAt(value: unknown, path: string): Decimal {
  const { digits, scale } = amountAt(value, path)
  return new Exact(`${digits}e-${scale}`)
}

function alternativesAt(value: unknown, path: string): readonly Alternative[] {
  if (isEmpty(value)) return []
  return readEach(Object.values(value as object), (entry: unknown, index) => {
    const at = `${path}.${index}`
    const { account, subscriber } = isEmpty(entry) ? ({} as Fields) : objectAt(entry, at)
    const holder = isEmpty(account) ? {} : objectAt(account, `${at}.account`)
    const subscribers = isObject(subscriber) && 'fields' in subscriber ? [subscriber] : subscriber
    return {
      account: conditionsAt(holder['fields'], `${at}.account.fields`),
      accountServices: servicesAt(holder['service'], `${at}.account.service`),
      subscribers: subscribersAt(subscribers, `${at}.subscriber`),
    }
  })
}

function subscribersAt(value: unknown, path: string): readonly SubscriberCondition[] {
  if (isEmpty(value)) return []
  const all = readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const condition = isEmpty(entry) ? {} : objectAt(entry, at)
    const fields = conditionsAt(condition['fields'], `${at}.fields`)
    return {
      fields,
      services: servicesAt(condition['service'], `${at}.service`),
      isOnPlan: fields.some(({ field }) => PLAN_FIELDS.has(field)),
    }
  })
  // Without any condition every subscriber is meant.
  return all.some(({ fields, services }) => fields.length + services.length === 0) ? [] : all
}

const PLAN_FIELDS: ReadonlySet<string> = new Set(['plan', 'plan_activation', 'plan_deactivation'])

/** `{ any: [{ fields }] }`. */
function servicesAt(value: unknown, path: string): readonly (readonly FieldCondition[])[] {
  if (isEmpty(value)) return []
  const { any } = objectAt(value, path)
  if (isEmpty(any)) return []
  const all = readEach(arrayAt(any, `${path}.any`), (entry, index) => {
    const at = `${path}.any.${index}`
    return conditionsAt(isEmpty(entry) ? [] : objectAt(entry, at)['fields'], `${at}.fields`)
  })
  return all.filter(({ length }) => length > 0)
}

function subjectsAt(value: unknown): Subjects {
  const subject = isEmpty(value) ? {} : objectAt(value, 'subject')
  const one = (name: string) =>
    subject[name] === undefined ? null : subjectValueAt(subject[name], `subject.${name}`)
  const named = (name: string): Values =>
    new Map(
      readEach(entriesAt(subject[name], `subject.${name}`), ([key, entry]) => {
        return [key, subjectValueAt(entry, `subject.${name}.${key}`)] as const
      }),
    )
  return readAll({
    plans: () => named('plan'),
    services: () => named('service'),
    customerServices: () => named('customer_service'),
    matchedPlans: () => one('matched_plans'),
    matchedServices: () => one('matched_services'),
    monthlyFees: () => one('monthly_fees'),
    general: () => one('general'),
  })
}

function subjectValueAt(value: unknown, path: string): SubjectValue {
  const { value: amount, sequential, operations } = objectAt(value, path)
  return {
    value: exactAt(amount, `${path}.value`),
    isSequential: sequential === true || sequential === 'true',
    quantities: isEmpty(operations)
      ? []
      : arrayAt(operations, `${path}.operations`).map((operation, index) =>
          quantityAt(operation, `${path}.operations.${index}`),
        ),
  }
}

/** `{ name: recurring_by_quantity, params: [{ name: quantity, value }] }`, or `{ quantity }`. */
function quantityAt(operation: unknown, path: string): Decimal {
  const { name, params } = objectAt(operation, path)
  if (name !== 'recurring_by_quantity') {
    throw new FieldError(`${path}.name`, 'must be recurring_by_quantity')
  }
  const at = `${path}.params`
  const named = Array.isArray(params)
    ? objectAt(
        params.find((param) => isObject(param) && param['name'] === 'quantity'),
        at,
      )['value']
    : objectAt(params, at)['quantity']
  const quantity = exactAt(named, `${at}.quantity`)
  if (quantity.isZero()) throw new FieldError(`${at}.quantity`, 'must be above 0')
  return quantity
}

/** Epoch ms of a date, or of a date as text; null for other values. */
export function dateMsOf(value: unknown, zone: string): number | null {
  if (value instanceof Date) return value.getTime()
  return typeof value === 'string' ? parseInstant(value, zone) : null
}

/**
 * Revisions of accounts and subscribers as a customer system sends them, brought into the form in
 * which MongoDB keeps them: dates, numbers, `first_name`. Unknown fields are kept. Pure; interface
 * sections 2.2 to 2.7.
 */
import {
  arrayAt,
  type CustomField,
  FieldError,
  type Fields,
  isEmpty,
  isObject,
  isUnset,
  objectAt,
  textAt,
  wholeAt,
} from '../../domain/fields.ts'
import { type Numbering, normalNumber } from '../../domain/numbering.ts'
import { FOREVER_MS, parseInstant } from '../../domain/time.ts'

export type CustomerKind = 'account' | 'subscriber'

export interface RevisionContext {
  /** IANA time zone of dates without an offset. */
  readonly timeZone: string
  readonly customFields: Readonly<Record<CustomerKind, readonly CustomField[]>>
}

/** A revision [`from`, `to`) of an account or subscriber, in the form of stored ones. */
export interface CustomerRevision {
  readonly aid: number
  readonly from: Date
  readonly to: Date
  /** All fields, including those above and `type`, but not the `id` of the query. */
  readonly fields: Fields & { readonly from: Date; readonly to: Date }
}

export interface SubscriberRevision extends CustomerRevision {
  readonly sid: number
}

const DATES = [
  'from',
  'to',
  'creation_time',
  'activation_date',
  'deactivation_date',
  'plan_activation',
  'plan_deactivation',
] as const

/** Datetime fields of `payment_gateway.active`. */
const CARD_DATES = ['card_expiration', 'generate_token_time'] as const

/** Deeper values cannot be stored with an invoice. */
const DEPTH_MAX = 20

/** Throws `FieldError` with the path of the field; `path` is the place of the revision. */
export function readAccountRevision(
  value: unknown,
  path: string,
  context: RevisionContext,
): CustomerRevision {
  return readAt(path, () => {
    const fields = fieldsOf('account', objectAt(value, ''), context)
    checkMandatory('account', fields, context)
    return revisionOf(fields)
  })
}

/** Throws `FieldError` with the path of the field; `path` is the place of the revision. */
export function readSubscriberRevision(
  value: unknown,
  path: string,
  context: RevisionContext,
): SubscriberRevision {
  return readAt(path, () => {
    const fields = fieldsOf('subscriber', objectAt(value, ''), context)
    checkMandatory('subscriber', fields, context)
    return { ...revisionOf(fields), sid: fields['sid'] as number }
  })
}

function revisionOf(fields: CustomerRevision['fields']): CustomerRevision {
  const { from, to } = fields
  return { aid: fields['aid'] as number, from, to, fields }
}

function readAt<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof FieldError) || path === '') throw error
    throw error.under(path)
  }
}

/** The fields with dates, numbers and names as stored revisions have them. Throws `FieldError`. */
export function fieldsOf(
  kind: CustomerKind,
  raw: Fields,
  context: RevisionContext,
): CustomerRevision['fields'] {
  const { id: _, _id: __, ...rest } = raw
  checkNames(rest, '', 0)
  const dated = withDates(rest, '', DATES, context.timeZone)
  const { from, to = new Date(FOREVER_MS), former_plan: formerPlan } = dated
  if (!(from instanceof Date)) throw new FieldError('from', 'is missing', 'missing')
  if (!(to instanceof Date)) throw new FieldError('to', 'must be a date')
  if (to < from) throw new FieldError('to', 'must not be before from')
  const revision: Record<string, unknown> = {
    ...dated,
    ...bothNames(dated, 'firstname', 'first_name'),
    ...bothNames(dated, 'lastname', 'last_name'),
    type: kind,
    aid: wholeAt(raw['aid'], 'aid', 1),
    from,
    to,
  }
  if (kind === 'subscriber') {
    revision['sid'] = wholeAt(raw['sid'], 'sid', 1)
    revision['plan'] = textAt(isUnset(raw['plan']) ? undefined : raw['plan'], 'plan')
    if (!isUnset(formerPlan)) textAt(formerPlan, 'former_plan')
  }
  if (kind === 'subscriber') {
    for (const { name, numbering } of numberFields(context)) {
      if (name in revision) revision[name] = normalNumber(numbering, revision[name])
    }
  }
  replaceIn(revision, 'services', (value, path) => servicesAt(value, path, context.timeZone))
  replaceIn(revision, 'overrides', (value, path) => objectsAt(value, path).map(overrideAt))
  replaceIn(revision, 'discounts', objectsAt)
  replaceIn(revision, 'payment_gateway', (value, path) => gatewayAt(value, path, context.timeZone))
  return withCustomDates(kind, revision as CustomerRevision['fields'], context)
}

/** The fields of subscribers that are numbers in networks. */
export function numberFields({
  customFields,
}: RevisionContext): readonly { readonly name: string; readonly numbering: Numbering }[] {
  const builtIn = { msisdn: 'msisdn', imsi: 'imsi' } as const
  const configured = customFields.subscriber.flatMap(({ name, numbering }) =>
    numbering === undefined ? [] : [[name, numbering] as const],
  )
  const all = Object.entries({ ...builtIn, ...Object.fromEntries(configured) })
  return all.map(([name, numbering]) => ({ name, numbering }))
}

/** Throws `FieldError` with the name of a mandatory custom field that is missing. */
export function checkMandatory(
  kind: CustomerKind,
  fields: Fields,
  { customFields }: RevisionContext,
): void {
  const play = String(fields['play'])
  for (const { name, isMandatory, plays } of customFields[kind]) {
    if (!isMandatory || (plays.length > 0 && !plays.includes(play))) continue
    if (isUnset(valueAt(fields, name)))
      throw new FieldError(name, 'is missing: it is mandatory', 'missing')
  }
}

/** The field, removed if it is empty: PHP clients write empty objects as lists. */
function replaceIn(
  revision: Record<string, unknown>,
  name: string,
  read: (value: unknown, path: string) => unknown,
): void {
  if (!(name in revision)) return
  if (isEmpty(revision[name]) || revision[name] === '') delete revision[name]
  else revision[name] = read(revision[name], name)
}

/** Both names of a name field: stored accounts have the short one, rules the long one. */
function bothNames(dated: Fields, short: string, long: string): Fields {
  const value = dated[short] ?? dated[long]
  return value === undefined ? {} : { [short]: value, [long]: dated[long] ?? value }
}

function servicesAt(value: unknown, path: string, timeZone: string): unknown[] {
  return arrayAt(value, path).map((entry, index) => {
    const at = `${path}.${index}`
    if (typeof entry === 'string') return { name: textAt(entry, at) }
    const service = objectAt(entry, at)
    textAt(service['name'], `${at}.name`)
    const read: Record<string, unknown> = {
      ...withDates(service, at, ['from', 'to', 'creation_time'], timeZone),
    }
    for (const [field, least] of [
      ['service_id', 0],
      ['quantity', 1],
    ] as const) {
      if (isUnset(service[field])) delete read[field]
      else read[field] = wholeAt(service[field], `${at}.${field}`, least)
    }
    return read
  })
}

function objectsAt(value: unknown, path: string): Fields[] {
  return arrayAt(value, path).map((entry, index) => objectAt(entry, `${path}.${index}`))
}

function overrideAt(override: Fields, index: number): Fields {
  const at = `overrides.${index}`
  textAt(override['type'], `${at}.type`)
  textAt(override['key'], `${at}.key`)
  if (!isEmpty(override['value'])) objectAt(override['value'], `${at}.value`)
  return override
}

function gatewayAt(value: unknown, path: string, timeZone: string): Fields {
  const gateway = objectAt(value, path)
  const { active } = gateway
  if (isEmpty(active)) return gateway
  const at = `${path}.active`
  return { ...gateway, active: withDates(objectAt(active, at), at, CARD_DATES, timeZone) }
}

/** A copy with these fields as dates; without those that are empty. */
function withDates(
  fields: Fields,
  path: string,
  names: readonly string[],
  timeZone: string,
): Fields {
  const copy: Record<string, unknown> = { ...fields }
  for (const name of names) {
    if (isUnset(copy[name])) delete copy[name]
    else copy[name] = instantAt(copy[name], path === '' ? name : `${path}.${name}`, timeZone)
  }
  return copy
}

function instantAt(value: unknown, path: string, timeZone: string): Date {
  if (value instanceof Date) return value
  const atMs = typeof value === 'string' ? parseInstant(value, timeZone) : null
  if (atMs !== null) return new Date(atMs)
  const suffix = typeof value === 'string' ? `, is '${value.slice(0, 40)}'` : ''
  throw new FieldError(path, `must be a date such as 2026-01-31 23:59:59${suffix}`)
}

function withCustomDates(
  kind: CustomerKind,
  fields: CustomerRevision['fields'],
  { customFields, timeZone }: RevisionContext,
): CustomerRevision['fields'] {
  let result: Fields = fields
  for (const { name, isDate } of customFields[kind]) {
    if (isDate && typeof valueAt(result, name) === 'string')
      result = replaced(result, name.split('.'), (value) =>
        isUnset(value) ? value : instantAt(value, name, timeZone),
      )
  }
  return result as CustomerRevision['fields']
}

function valueAt(fields: Fields, path: string): unknown {
  let value: unknown = fields
  for (const step of path.split('.')) value = isObject(value) ? value[step] : undefined
  return value
}

function replaced(
  fields: Fields,
  [step = '', ...rest]: readonly string[],
  by: (value: unknown) => unknown,
): Fields {
  const value = fields[step]
  return { ...fields, [step]: rest.length === 0 ? by(value) : replaced(value as Fields, rest, by) }
}

/** Names that cannot be stored, and values that are nested too deeply. */
function checkNames(value: unknown, path: string, depth: number): void {
  if (typeof value !== 'object' || value === null || value instanceof Date) return
  if (depth > DEPTH_MAX) throw new FieldError(path, `is nested more than ${DEPTH_MAX} times`)
  for (const [name, member] of Object.entries(value)) {
    const at = path === '' ? name : `${path}.${name}`
    if (!Array.isArray(value) && /^\$|\.|\0|^__proto__$|^$/.test(name)) {
      throw new FieldError(at, 'has a name that cannot be stored')
    }
    checkNames(member, at, depth + 1)
  }
}

/**
 * Checks answers of a customer system field by field, for those who build one. Pure; interface
 * sections 2.2 to 2.7 and 4.7.
 */
import { FieldError, type Fields, isEmpty, isObject, isUnset } from '../../domain/fields.ts'
import { readNumber } from '../../domain/numbering.ts'
import { parseInstant } from '../../domain/time.ts'
import { type BillableQuery, readBillable } from './billable.ts'
import { CustomerSystemError } from './errors.ts'
import type { CustomerQuery } from './queries.ts'
import {
  type CustomerKind,
  numberFields,
  type RevisionContext,
  readAccountRevision,
  readSubscriberRevision,
} from './revisions.ts'

export interface Finding {
  /** `warning`: the answer can be used. */
  readonly level: 'error' | 'warning'
  /** Place in the answer, such as `data.2.services.0.from`; empty for the answer itself. */
  readonly field: string
  readonly problem: string
}

type FieldType = 'datetime' | 'integer' | 'text' | 'boolean' | 'list' | 'object' | readonly string[]

interface FieldRule {
  readonly type: FieldType
  /** Without it the revision cannot be used. */
  readonly isRequired?: true
  /** It may be missing without a warning. */
  readonly isOptional?: true
}

const REQUIRED_TIME: FieldRule = { type: 'datetime', isRequired: true }
const NUMBER: FieldRule = { type: 'integer', isRequired: true }
const TIME: FieldRule = { type: 'datetime' }
const TEXT: FieldRule = { type: 'text' }
const OPTIONAL = { isOptional: true } as const

const COMMON: Readonly<Record<string, FieldRule>> = {
  aid: NUMBER,
  from: REQUIRED_TIME,
  to: REQUIRED_TIME,
  address: TEXT,
  creation_time: TIME,
}

const SUBSCRIBER: Readonly<Record<string, FieldRule>> = {
  ...COMMON,
  sid: NUMBER,
  plan: { type: 'text', isRequired: true },
  services: { type: 'list' },
  play: TEXT,
  firstname: TEXT,
  lastname: TEXT,
  former_plan: { ...TEXT, ...OPTIONAL },
  discounts: { type: 'list', ...OPTIONAL },
  plan_activation: TIME,
  plan_deactivation: { ...TIME, ...OPTIONAL },
  activation_date: TIME,
  deactivation_date: { ...TIME, ...OPTIONAL },
  overrides: { type: 'list', ...OPTIONAL },
  imsi: { type: 'list', ...OPTIONAL },
}

const ACCOUNT: Readonly<Record<string, FieldRule>> = {
  ...COMMON,
  email: TEXT,
  invoice_shipping_method: { type: ['email', 'mail', 'post', 'website'] },
  invoice_detailed: { type: 'boolean' },
}

const BILLED_ACCOUNT: Readonly<Record<string, FieldRule>> = {
  ...ACCOUNT,
  activation_date: TIME,
  deactivation_date: { ...TIME, ...OPTIONAL },
  services: { type: 'list' },
  overrides: { type: 'list', ...OPTIONAL },
}

const DETAILED_ACCOUNT: Readonly<Record<string, FieldRule>> = {
  ...ACCOUNT,
  tenant_return_url: { ...TEXT, ...OPTIONAL },
  payment_gateway: { type: 'object', ...OPTIONAL },
}

const CARD: Readonly<Record<string, FieldRule>> = {
  name: { type: 'text', isRequired: true },
  card_token: { type: 'text', isRequired: true },
  card_expiration: TIME,
  personal_id: { ...TEXT, ...OPTIONAL },
  transaction_exhausted: { type: 'boolean', ...OPTIONAL },
  generate_token_time: TIME,
  auth_number: { ...TEXT, ...OPTIONAL },
  four_digits: { ...TEXT, ...OPTIONAL },
}

const TEXTS: Readonly<Record<string, string>> = {
  datetime: 'a date such as 2026-01-31 23:59:59 or 2026-01-31T23:59:59',
  integer: 'an integer from 1',
  text: 'a text',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
}

/** Problems of a page of billable accounts. */
export function checkBillable(
  answer: unknown,
  query: BillableQuery,
  context: RevisionContext,
): Finding[] {
  if (!isObject(answer)) return [mistake('', 'must be an object with status and data')]
  const { status, data } = answer
  const found: Finding[] = []
  if (status !== 1 && status !== true) found.push(mistake('status', 'must be 1 for a success'))
  if (!Array.isArray(data)) return [...found, mistake('data', 'must be a list')]
  for (const [index, row] of data.entries()) {
    const at = `data.${index}`
    const kind = isObject(row) ? row['type'] : undefined
    if (kind === 'account') found.push(...checkRevision(row, at, kind, BILLED_ACCOUNT, context))
    else if (kind === 'subscriber') found.push(...checkRevision(row, at, kind, SUBSCRIBER, context))
    else found.push(mistake(`${at}.type`, 'must be account or subscriber'))
  }
  return [...found, ...checkRules(answer, query, context, found)]
}

/** Order of the accounts, and revisions that contradict each other. */
function checkRules(
  answer: Fields,
  query: BillableQuery,
  context: RevisionContext,
  known: readonly Finding[],
): Finding[] {
  try {
    const accounts = readBillable(answer, query, context)
    // Fields have been reported with their place already.
    if (known.some(({ level }) => level === 'error')) return []
    return accounts.flatMap(({ problem }) => (problem === null ? [] : mistake('data', problem)))
  } catch (error) {
    if (!(error instanceof CustomerSystemError)) throw error
    return error.kind === 'refused' ? [] : [mistake('data', error.reason)]
  }
}

/** Problems of an answer to queries of account or subscriber details. */
export function checkDetails(
  kind: CustomerKind,
  answer: unknown,
  queries: readonly CustomerQuery[],
  context: RevisionContext,
): Finding[] {
  if (!Array.isArray(answer)) return [mistake('', 'must be a list of revisions')]
  const rules = kind === 'account' ? DETAILED_ACCOUNT : SUBSCRIBER
  const found = answer.flatMap((row: unknown, index) => {
    const at = String(index)
    if (!isObject(row)) return [mistake(at, 'must be an object')]
    const query = queries.find(({ id }) => id === row['id'])
    const fields = checkRevision(row, at, kind, rules, context)
    if (query !== undefined) return [...fields, ...checkMatch(row, at, query, context.timeZone)]
    return [...fields, mistake(`${at}.id`, 'must be the id of a query of the request')]
  })
  return [...found, ...queries.flatMap((query) => checkCount(answer, query))]
}

/** The revision is one that the query asks for. */
function checkMatch(row: Fields, at: string, query: CustomerQuery, timeZone: string): Finding[] {
  const found: Finding[] = []
  for (const { key, value } of query.params) {
    const requested = (Array.isArray(value) ? value : [value]).map(String)
    const values = [row[key]].flat().map(String)
    if (!values.some((each) => requested.includes(each))) {
      found.push(mistake(`${at}.${key}`, `must be ${requested.join(' or ')}, as in the query`))
    }
  }
  const [atMs, fromMs, toMs] = [query.time, row['from'], row['to']].map((text) =>
    typeof text === 'string' ? parseInstant(text, timeZone) : null,
  )
  if (atMs == null || fromMs == null || toMs == null) return found
  if (atMs < fromMs || atMs >= toMs) {
    found.push(mistake(`${at}.from`, `to ${at}.to must contain the time of the query`))
  }
  return found
}

function checkCount(answer: readonly unknown[], { id, limit, params }: CustomerQuery): Finding[] {
  const count = answer.filter((row) => isObject(row) && row['id'] === id).length
  const parameters = params.map(({ key, value }) => `${key} ${String(value)}`).join(', ')
  if (count === 0) return [mistake('', `has no revision for ${parameters}`)]
  if (limit === undefined || count <= limit) return []
  return [mistake('', `has ${count} revisions for ${parameters}; the limit is ${limit}`)]
}

function checkRevision(
  row: Fields,
  at: string,
  kind: CustomerKind,
  rules: Readonly<Record<string, FieldRule>>,
  context: RevisionContext,
): Finding[] {
  const found = checkFields(row, at, rules, context.timeZone)
  const { payment_gateway: gateway } = row
  const active = isObject(gateway) ? gateway['active'] : undefined
  if (kind === 'account' && isObject(active)) {
    found.push(...checkFields(active, `${at}.payment_gateway.active`, CARD, context.timeZone))
  }
  if (found.some(({ level }) => level === 'error')) return found
  try {
    if (kind === 'account') readAccountRevision(row, at, context)
    else found.push(...oddNumbers(readSubscriberRevision(row, at, context).fields, at, context))
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    found.push(mistake(error.path, error.reason))
  }
  return found
}

/** Numbers that are kept as they are sent: charging does not find their subscriber by them. */
function oddNumbers(fields: Fields, at: string, context: RevisionContext): Finding[] {
  return numberFields(context).flatMap(({ name, numbering }) =>
    [fields[name]].flat().flatMap((value): Finding[] => {
      if (isUnset(value) || value === '') return []
      const read = readNumber(numbering, String(value))
      if ('value' in read) return []
      return [{ level: 'warning', field: `${at}.${name}`, problem: read.reason }]
    }),
  )
}

function checkFields(
  fields: Fields,
  at: string,
  rules: Readonly<Record<string, FieldRule>>,
  timeZone: string,
): Finding[] {
  return Object.entries(rules).flatMap(([name, rule]) => {
    const value = fields[name]
    const field = `${at}.${name}`
    if (isUnset(value)) return missing(field, rule, value === '')
    if (isOf(rule.type, value, timeZone)) return []
    const expected = typeof rule.type === 'string' ? TEXTS[rule.type] : rule.type.join(', ')
    return [mistake(field, `must be ${expected}`)]
  })
}

function missing(field: string, { isRequired, isOptional }: FieldRule, isEmptyText: boolean) {
  if (isRequired) return [mistake(field, 'is missing')]
  if (isOptional || isEmptyText) return []
  return [{ level: 'warning', field, problem: 'is missing' } as const]
}

function isOf(type: FieldType, value: unknown, timeZone: string): boolean {
  switch (type) {
    case 'datetime':
      return typeof value === 'string' && parseInstant(value, timeZone) !== null
    case 'integer':
      return Number.isSafeInteger(value) && Number(value) >= 1
    case 'list':
      return Array.isArray(value) || isEmpty(value)
    case 'object':
      return isObject(value) || isEmpty(value)
    case 'text':
      return typeof value === 'string'
    case 'boolean':
      return typeof value === 'boolean'
    default:
      return typeof value === 'string' && type.includes(value)
  }
}

function mistake(field: string, problem: string): Finding {
  return { level: 'error', field, problem }
}

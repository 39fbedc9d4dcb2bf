/** The entities that reports may show, their fields and joins. */
import { refName, type Schema } from '../catalog/entities/json-schema.ts'
import type { Fields } from '../domain/fields.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import { type CollectionDefinition, isRecord } from '../entities/definitions/definition.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'
import { EntityRuleError, fieldRule } from '../requests/errors.ts'

/** `any`: a part of a compound field, or a field without a declared type. */
export type FieldKind = 'text' | 'number' | 'boolean' | 'date' | 'id' | 'cycle' | 'any'

export interface Join {
  /** Field of the entity, and the equal one of the joined entity. */
  readonly local: string
  readonly foreign: string
}

export interface ReportEntity {
  readonly name: string
  /** Collection of the entity API: who may read it may report on it. */
  readonly definition: CollectionDefinition
  /** Whether its documents are revisions; a report shows those that are active now. */
  readonly hasRevisions: boolean
  /** Kinds of its fields, by name. */
  readonly fields: ReadonlyMap<string, FieldKind>
  readonly joins: Readonly<Record<string, Join>>
}

const BY_SUBSCRIBER: Join = { local: 'sid', foreign: 'sid' }
const BY_ACCOUNT: Join = { local: 'aid', foreign: 'aid' }

/** Decimal texts, of which reports compute as of numbers. */
const LINE_FIELDS: Readonly<Record<string, FieldKind>> = { charge_amount: 'number' }

function entity(
  name: string,
  collection: string,
  more: Readonly<Record<string, FieldKind>>,
  joins: Readonly<Record<string, Join>>,
): ReportEntity {
  const definition = DEFINITIONS.get(collection)
  if (definition === undefined) throw new RangeError(`there is no collection ${collection}`)
  const { docs, hidden, record = {} } = definition
  const declared = Object.entries(docs).flatMap(([field, { request, stored }]) =>
    stored === null ? [] : [[field, kindOf(field, stored ?? request)] as const],
  )
  const recorded = Object.entries(record).map(
    ([field, schema]) => [field, kindOf(field, schema)] as const,
  )
  const fields = new Map<string, FieldKind>([
    ...recorded,
    ...declared,
    ...Object.entries(more),
    ['_id', 'id'],
  ])
  for (const field of hidden) fields.delete(field)
  const hasRevisions = !isRecord(definition)
  return { name, definition, hasRevisions, fields, joins }
}

const CYCLES = ['billrun', 'billrun_key', 'charged_billrun']

function kindOf(name: string, schema: Schema): FieldKind {
  if (CYCLES.includes(name)) return 'cycle'
  const component = refName(schema)
  if (component === 'dateGiven') return 'date'
  if (component === 'amount') return 'number'
  switch (schema['type']) {
    case 'string':
      return 'text'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'any'
  }
}

const REVISION_FIELDS: Readonly<Record<string, FieldKind>> = {
  from: 'date',
  to: 'date',
  creation_time: 'date',
}
const USAGE_JOINS = { subscription: BY_SUBSCRIBER, customer: BY_ACCOUNT }

const ENTITIES: readonly ReportEntity[] = [
  entity('usage', 'lines', LINE_FIELDS, USAGE_JOINS),
  // Old lines stay in the same collection until retention removes them.
  entity('usage_archive', 'lines', LINE_FIELDS, USAGE_JOINS),
  entity('subscription', 'subscribers', REVISION_FIELDS, {
    usage: BY_SUBSCRIBER,
    customer: BY_ACCOUNT,
  }),
  entity('customer', 'accounts', REVISION_FIELDS, {}),
  entity('bills', 'bills', {}, { customer: BY_ACCOUNT }),
  entity(
    'event',
    'events',
    {},
    {
      subscription: { local: 'extra_params.sid', foreign: 'sid' },
      customer: { local: 'extra_params.aid', foreign: 'aid' },
    },
  ),
]

const BY_NAME = new Map(ENTITIES.map((each) => [each.name, each]))

/** Names of the existing system whose records this one does not have. */
const WITHOUT_RECORDS: readonly string[] = [
  'queue',
  'logFile',
  'paymentsTransactionsRequest',
  'paymentsTransactionsResponse',
  'paymentDenials',
  'paymentsFiles',
  'rebalance_queue',
]

export const REPORT_ENTITIES: readonly string[] = ENTITIES.map(({ name }) => name)

/** Throws `EntityRuleError`. */
export function entityNamed(name: unknown): ReportEntity {
  if (name === undefined || name === null || name === '') {
    throw new EntityRuleError('Report entity is empty', { path: 'entity', code: 'missing' })
  }
  const found = typeof name === 'string' ? BY_NAME.get(name) : undefined
  if (found !== undefined) return found
  if (WITHOUT_RECORDS.some((each) => each === name)) {
    throw new EntityRuleError(`Invalid entity type: there are no records of ${name} here`, {
      path: 'entity',
    })
  }
  throw new EntityRuleError(
    `Invalid entity type: it must be one of ${REPORT_ENTITIES.join(', ')}`,
    { path: 'entity' },
  )
}

/** Throws `EntityRuleError` if the entities cannot be joined. */
export function joinOf(base: ReportEntity, names: readonly string[]): void {
  const refused = names.filter((name) => !Object.hasOwn(base.joins, name))
  if (refused.length === 0) return
  throw new EntityRuleError(
    `No support to join ${base.name} with those entities: ${refused.join(', ')}`,
    { path: 'entities' },
  )
}

const PATH = /^[A-Za-z_][\w-]{0,63}(?:\.[A-Za-z0-9_-]{1,64}){0,4}$/
const REFUSED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

export interface ReportField {
  readonly path: string
  readonly kind: FieldKind
}

/**
 * The field of an entity with this path: a declared or configured field, or a part of one. Without
 * `configured`, the configured fields are not known yet, and any name may be one of them. Throws
 * `EntityRuleError`.
 */
export function fieldAt(
  { name, definition, fields }: ReportEntity,
  path: unknown,
  where: string,
  configured: readonly FieldDefinition[] | null,
): ReportField {
  const text = typeof path === 'string' ? path : ''
  const [top = '', ...inner] = text.split('.')
  if (!PATH.test(text) || [top, ...inner].some((step) => REFUSED.has(step))) {
    throw fieldRule(where, 'must be the name of a field')
  }
  const isHidden = definition.hidden.some((each) => text === each || text.startsWith(`${each}.`))
  const own = configured?.find(({ field_name: field }) => field === text || field === top)
  const mayBeConfigured = configured === null && definition.configuredFieldsPath !== null
  const declared = fields.get(text) ?? (inner.length > 0 && fields.has(top) ? 'any' : undefined)
  const kind = declared ?? (own !== undefined || mayBeConfigured ? configuredKind(own, text) : null)
  if (isHidden || kind === null || own?.exportable === false) {
    throw fieldRule(`${where}:`, `${text} is not a field of ${name}`)
  }
  return { path: text, kind }
}

const CONFIGURED_KINDS: Readonly<Record<string, FieldKind>> = {
  boolean: 'boolean',
  date: 'date',
  datetime: 'date',
  integer: 'number',
  number: 'number',
  decimal: 'number',
  percentage: 'number',
  text: 'text',
  string: 'text',
}

function configuredKind(field: FieldDefinition | undefined, path: string): FieldKind {
  if (field === undefined || field.field_name !== path || field.multiple === true) return 'any'
  return CONFIGURED_KINDS[field.type ?? ''] ?? 'any'
}

/** Selects the documents of an entity: not deleted, and of revisions those that are active now. */
export function documentsFilter(
  { definition, hasRevisions }: ReportEntity,
  nowMs: number,
  hasOwnDates: boolean,
): Fields {
  if (!hasRevisions) return definition.fixed
  const now = new Date(nowMs)
  return {
    ...definition.fixed,
    deleted: { $ne: true },
    ...(!hasOwnDates && { from: { $lte: now }, to: { $gt: now } }),
  }
}

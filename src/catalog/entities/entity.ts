/** Common parts of all entities: schema, revisions and write number. */
import { type TObject, type TSchema, Type, TypeGuard } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { IndexDescription, ObjectId } from 'mongodb'
import { type FieldIssue, throwIssues } from '../../domain/field-errors.ts'
import { type ActionName, apiOf, type CollectionApi, field, KEY_API, READS } from './api.ts'

/** Fields that the store adds to an entity document. */
export interface StoredFields {
  _id: ObjectId
  /** Write number in the collection, by which feeds find changes (revisions.ts). */
  rev: number
}

export interface EntityDefinition {
  /** Schema of stored documents; its annotations (`field`) define the fields of the entity API. */
  readonly schema: TObject
  readonly indexes: readonly IndexDescription[]
  /** Fields that identify the entity of a revision; a write never changes them. */
  readonly identity: readonly string[]
  /** Paths of dates that may be written as text; `*` means every member of an array. */
  readonly dates: readonly string[]
  /**
   * Checks that the schema cannot express, for a document that matches it and has no compiled form.
   * Throws `FieldError`.
   */
  readonly check?: (document: Readonly<Record<string, unknown>>) => void
  readonly api: CollectionApi
}

/** An entity; `dates` has only those that are not fields of the schema. */
export function defineEntity<T extends Omit<EntityDefinition, 'dates'>>(
  definition: T & { readonly dates?: readonly string[] },
) {
  const { schema, dates = [] } = definition
  const fields = Object.entries(schema.properties)
  const own = fields.filter(([, each]) => each['type'] === 'Date' && apiOf(each) !== undefined)
  return { ...definition, dates: [...own.map(([name]) => name), ...dates] }
}

/** Feeds and change queries read each collection by this index. */
export const REV_INDEX: IndexDescription = { key: { rev: 1 } }

export const REVISION_DATES = ['from', 'to', 'creation_time'] as const

// `expected` completes the message of a refused value: "must be …".
export const date = () => Type.Date({ expected: 'a date' })
export const text = () => Type.String({ minLength: 1, expected: 'a text that is not empty' })
export const positiveInteger = () =>
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    expected: 'an integer from 1 to 2^53',
  })
export function choice<const T extends string>(...options: readonly T[]) {
  const quoted = options.map((option) => `'${option}'`)
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
  return Type.Union(
    options.map((option) => Type.Literal(option)),
    { expected },
  )
}

export const KEY_PATTERN = '^[A-Z0-9_]+$'

/** Keys of rates and names of plans, as accepted by the entity API. */
export const entityKey = () =>
  Type.String({ pattern: KEY_PATTERN, expected: 'a text of capital letters, digits and _' })

export const flag = () => Type.Optional(Type.Boolean({ expected: 'true or false' }))
export const anyText = () => Type.Optional(Type.String({ expected: 'a text' }))
/** A field that is not validated here: `../compile` checks it, or nothing depends on it. */
export const unchecked = () => Type.Optional(Type.Unknown())

const FORM = 'capital letters, digits and `_`; never changes.'

/** The key by which requests address revisions. `query`: actions that can filter by it. */
export const keyField = (query: readonly ActionName[] = READS) =>
  field(entityKey(), `Key: ${FORM}`, { ...KEY_API, query })

/** The name by which requests address revisions. */
export const nameField = () => field(entityKey(), `Name: ${FORM}`, { ...KEY_API, query: READS })

/** A description, which nothing depends on. `query`: actions that can filter by it. */
export const descriptionField = (query: readonly ActionName[] = READS) =>
  field(unchecked(), 'Description.', { type: 'string', query })

/** Validity [from, to) of a revision, and common optional fields. */
export const revisionFields = {
  from: field(date(), 'Start of the revision; on create, now by default.', { update: [] }),
  to: field(date(), 'End of the revision; on create, no end by default.', { update: [] }),
  creation_time: field(Type.Optional(date()), 'When the entity was created.', { derived: true }),
  /** Deleted revisions are kept as documents, so that feeds notice the deletion. */
  deleted: flag(),
  /** Time of the deletion. Part of unique indexes, so that the same dates can be used again. */
  deleted_at: Type.Optional(date()),
}

/** Throws `FieldError` for the fields that do not match the schema. */
export function checkSchema(schema: TObject, document: unknown): void {
  const checked = checkedPart(schema)
  if (Value.Check(checked, document)) return
  const issues = new Map<string, FieldIssue>()
  for (const { path: pointer, value, schema: part, message } of Value.Errors(checked, document)) {
    const path = pointer.slice(1).replaceAll('/', '.')
    const expected: unknown = part['expected']
    const refused = expected === undefined ? message : `must be ${expected}`
    const isMissing = value === undefined
    const issue = isMissing
      ? ({ reason: 'is missing', code: 'missing' } as const)
      : { reason: refused }
    // The first of several errors of a field is the most general one.
    if (!issues.has(path)) issues.set(path, { path, ...issue })
  }
  throwIssues([...issues.values()])
}

const checkedParts = new WeakMap<TObject, TObject>()

/** The schema without its unchecked fields, which would take time in each check. */
function checkedPart(schema: TObject): TObject {
  let part = checkedParts.get(schema)
  if (part === undefined) {
    const fields = Object.entries(schema.properties).filter(([, each]) => !isUnchecked(each))
    part = Type.Object(Object.fromEntries(fields))
    checkedParts.set(schema, part)
  }
  return part
}

function isUnchecked(schema: TSchema): boolean {
  return TypeGuard.IsUnknown(schema) && TypeGuard.IsOptional(schema)
}

/** Common parts of all entities: schema, revisions and write number. */
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { IndexDescription, ObjectId } from 'mongodb'
import { FieldError } from '../../domain/fields.ts'

/** Fields that the store adds to an entity document. */
export interface StoredFields {
  _id: ObjectId
  /** Write number in the collection, by which feeds find changes (revisions.ts). */
  rev: number
}

export interface EntityDefinition {
  readonly schema: TSchema
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
}

/** Feeds and change queries read each collection by this index. */
export const REV_INDEX: IndexDescription = { key: { rev: 1 } }

export const REVISION_DATES = ['from', 'to', 'creation_time'] as const

export const date = () => Type.Date({ description: 'a date' })
export const text = () => Type.String({ minLength: 1, description: 'a text that is not empty' })
export const positiveInteger = () =>
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'an integer from 1 to 2^53',
  })

/** Keys of rates and names of plans, as accepted by the entity API. */
export const entityKey = () =>
  Type.String({
    pattern: '^[A-Z0-9_]+$',
    description: 'a text of capital letters, digits and _',
  })

export const flag = () => Type.Optional(Type.Boolean({ description: 'true or false' }))

/** Validity [from, to) of a revision, and common optional fields. */
export const revisionFields = {
  from: date(),
  to: date(),
  creation_time: Type.Optional(date()),
  /** Deleted revisions are kept as documents, so that feeds notice the deletion. */
  deleted: Type.Optional(Type.Boolean({ description: 'true or false' })),
  /** Time of the deletion. Part of unique indexes, so that the same dates can be used again. */
  deleted_at: Type.Optional(date()),
}

/** Throws `FieldError` with the path of the first field that does not match the schema. */
export function checkSchema(schema: TSchema, document: unknown): void {
  if (Value.Check(schema, document)) return
  const error = Value.Errors(schema, document).First()
  const path = (error?.path ?? '').slice(1).replaceAll('/', '.')
  if (error?.value === undefined) throw new FieldError(path, 'is missing')
  const expected = error.schema.description
  throw new FieldError(path, expected === undefined ? error.message : `must be ${expected}`)
}

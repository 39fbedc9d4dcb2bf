/** What all entities have in common: a schema, revisions in time, and a place in the feed. */

import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { IndexDescription, ObjectId } from 'mongodb'
import { FieldError } from '../../domain/fields.ts'

/** What the store adds to the document of an entity. */
export interface StoredFields {
  _id: ObjectId
  /** Number of the write in its collection; the feed finds changes by it (revisions.ts). */
  rev: number
}

export interface EntityDefinition {
  readonly schema: TSchema
  readonly indexes: readonly IndexDescription[]
  /** Fields that tell which entity a revision belongs to; never changed by a write. */
  readonly identity: readonly string[]
  /** Paths of the dates that may be written as text; `*` stands for the members of an array. */
  readonly dates: readonly string[]
  /**
   * What a schema cannot say, of a document that fits it and has no compiled form. Throws
   * `FieldError`.
   */
  readonly check?: (document: Readonly<Record<string, unknown>>) => void
}

/** Feeds and change look-ups read each collection by this. */
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

/** Keys of rates and names of plans, as the entity API takes them (spec/entity-api.md 3.0). */
export const entityKey = () =>
  Type.String({
    pattern: '^[A-Z0-9_]+$',
    description: 'a text of capital letters, digits and _',
  })

export const flag = () => Type.Optional(Type.Boolean({ description: 'true or false' }))

/** Validity [from, to) of a revision and what every entity may carry. */
export const revisionFields = {
  from: date(),
  to: date(),
  creation_time: Type.Optional(date()),
  /** A deleted revision stays as a document, because only so the feed can tell of it. */
  deleted: Type.Optional(Type.Boolean({ description: 'true or false' })),
  /** When it was deleted. Part of unique indexes: the same dates may be used again. */
  deleted_at: Type.Optional(date()),
}

/** Throws `FieldError` with the path of the first field that does not fit the schema. */
export function checkSchema(schema: TSchema, document: unknown): void {
  if (Value.Check(schema, document)) return
  const error = Value.Errors(schema, document).First()
  const path = (error?.path ?? '').slice(1).replaceAll('/', '.')
  if (error?.value === undefined) throw new FieldError(path, 'is missing')
  const expected = error.schema.description
  throw new FieldError(path, expected === undefined ? error.message : `must be ${expected}`)
}

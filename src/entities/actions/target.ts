/** Finds the revision that a write addresses. */
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, EntityRuleError, TargetError } from '../../requests/errors.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { type IfMatch, versionOf } from '../requests/versions.ts'
import { findDocuments, findRevision, NOT_DELETED } from '../revisions.ts'
import { dateText } from '../timeline/dates.ts'
import { fromOf, toOf } from '../timeline/draft.ts'

export interface Target {
  /** Value of the key field. */
  key: unknown
  /**
   * Returns the addressed revision from those of the entity; throws `TargetError` if it does not
   * exist.
   */
  in(revisions: readonly RawDocument[]): RawDocument
}

/** The revision is not of a version that the caller has demanded. */
export class StaleVersionError extends Error {
  override name = 'StaleVersionError'
  /** Null if it does not exist any more. */
  readonly present: RawDocument | null

  constructor(present: RawDocument | null) {
    super('the revision has another version')
    this.present = present
  }
}

/** A target whose revision must have a version. It throws `StaleVersionError`. */
function withVersion(target: Target, ifMatch: ReadonlySet<string>): Target {
  return {
    key: target.key,
    in(revisions) {
      let revision: RawDocument
      try {
        revision = target.in(revisions)
      } catch (error) {
        throw staleIfGone(error)
      }
      if (!ifMatch.has(versionOf(revision) ?? '')) throw new StaleVersionError(revision)
      return revision
    },
  }
}

function staleIfGone(error: unknown): unknown {
  return error instanceof TargetError ? new StaleVersionError(null) : error
}

export interface TargetOptions {
  definition: CollectionDefinition
  isById: boolean
  ifMatch?: IfMatch | null | undefined
  fields: readonly FieldDefinition[]
  /** IANA zone of dates in error texts. */
  zone: string
}

/**
 * Throws `EntityRuleError` if the query addresses nothing, or `TargetError` if nothing matches it;
 * with a demanded version `StaleVersionError` instead of the latter.
 */
export async function findTarget(
  catalog: Catalog,
  query: Fields,
  options: TargetOptions,
): Promise<Target> {
  const { ifMatch } = options
  if (!(ifMatch instanceof Set)) return targetOf(catalog, query, options)
  try {
    return withVersion(await targetOf(catalog, query, options), ifMatch)
  } catch (error) {
    throw staleIfGone(error)
  }
}

async function targetOf(catalog: Catalog, query: Fields, options: TargetOptions): Promise<Target> {
  const { definition, isById, zone } = options
  const { _id: id, effective_date: effective } = query
  if (id instanceof ObjectId) return byId(catalog, definition, id)
  if (isById) {
    const isEmpty = Object.keys(query).length === 0
    throw new EntityRuleError(
      'query: _id is missing',
      { path: 'query._id', code: 'missing' },
      isEmpty ? DISPLAY.refused : DISPLAY.request,
    )
  }
  const key = await keyIn(catalog, query, options)
  if (!(effective instanceof Date)) {
    throw new EntityRuleError(
      'query: effective_date is missing: it selects the revision of the key',
      { path: 'query.effective_date', code: 'missing' },
      DISPLAY.request,
    )
  }
  const atMs = effective.getTime()
  return { key, in: (revisions) => revisionValidAt(revisions, definition, key, atMs, zone) }
}

async function byId(
  catalog: Catalog,
  definition: CollectionDefinition,
  id: ObjectId,
): Promise<Target> {
  const found = await findRevision(catalog, definition, id)
  if (found === null) throw gone(definition, id)
  return {
    key: found[definition.keyField],
    in(revisions) {
      const revision = revisions.find((one) => one._id.equals(id))
      if (revision === undefined) throw gone(definition, id)
      return revision
    },
  }
}

function gone({ name }: CollectionDefinition, id: ObjectId): TargetError {
  return new TargetError(`${name}: there is no revision with _id ${id.toHexString()}`)
}

function revisionValidAt(
  revisions: readonly RawDocument[],
  { name, keyField }: CollectionDefinition,
  key: unknown,
  atMs: number,
  zone: string,
): RawDocument {
  const matching = revisions.filter((one) => fromOf(one) <= atMs && atMs < toOf(one))
  const [revision] = matching
  if (revision !== undefined && matching.length === 1) return revision
  const what = matching.length === 0 ? 'no revision' : 'more than one revision'
  throw new TargetError(
    `${name}: ${what} of ${keyField} ${key} is valid at ${dateText(atMs, zone)}`,
  )
}

/** Reads the key from the key field or from a unique configured field. */
async function keyIn(
  catalog: Catalog,
  query: Fields,
  { definition, fields }: TargetOptions,
): Promise<unknown> {
  const { keyField, duplicate, name, fixed } = definition
  if (query[keyField] !== undefined) return query[keyField]
  const unique = fields.filter((field) => field.unique === true && field.system !== true)
  const identifying = [
    ...(duplicate.by === 'any' ? duplicate.fields : []),
    ...unique.map((field) => field.field_name),
  ]
  const used = identifying.filter((field) => query[field] !== undefined)
  if (used.length === 0) {
    const others = identifying.map((field) => `, ${field}`).join('')
    throw new EntityRuleError(
      `query does not identify a revision of ${name}: give _id, or ${keyField}${others} ` +
        'with effective_date',
      { path: 'query._id', code: 'missing' },
      DISPLAY.refused,
    )
  }
  const conditions = Object.fromEntries(used.map((field) => [field, query[field]]))
  const found = await findDocuments(
    catalog,
    definition,
    { ...fixed, ...conditions, ...NOT_DELETED },
    2,
  )
  const keys = new Set(found.map((one) => one[keyField]))
  if (keys.size === 1) return found[0]?.[keyField]
  const what = keys.size === 0 ? 'none' : 'more than one'
  throw new TargetError(`${name}: ${what} has this ${used.join(' and ')}`)
}

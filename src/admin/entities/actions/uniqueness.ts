/** Whether somebody else has what must be one's own (R9, R22). */

import type { Catalog } from '../../../catalog/connection.ts'
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { EntityRuleError } from '../errors.ts'
import { fieldValue, type UniqueValue, uniqueValues } from '../fields/check.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import { overlap, type Span, spanOf, uncovered } from '../timeline/spans.ts'
import { referenceLockNames } from './reference-locks.ts'
import { documentsOf, findDocuments, NOT_DELETED } from './revisions.ts'

/** Names of the locks under which the values stay free until they are written. */
export function valueLockNames(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
): string[] {
  const { name, duplicate, keyField } = definition
  const others = duplicate.fields.filter((field) => field !== keyField && field !== 'type')
  const also = others.map((field): FieldDefinition => ({ field_name: field, unique: true }))
  const values = uniqueValues([...also, ...ownFields(definition, fields)], document)
  const chains = values.map(({ field, value }) => `${name}.${field}/${valueName(value)}`)
  return [...new Set(chains), ...sharedLockNames(name, document)]
}

/** A document as it will be stored, and as it was; null: it is new. */
interface Changed {
  document: Fields
  stored: Fields | null
}

/** Names of the locks that must be held for what changes, by what is stored in the end. */
export function requiredLockNames(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  changed: readonly Changed[],
): string[] {
  const needed = changed.flatMap(({ document, stored }) => {
    const chains = documentLockNames(definition, fields, document)
    const isLonger = (name: string) => Number(stored?.[name]) !== Number(document[name])
    if (stored === null || isLonger('from') || isLonger('to')) return chains
    const known = new Set(documentLockNames(definition, fields, stored))
    return chains.filter((chain) => !known.has(chain))
  })
  return [...new Set(needed)]
}

/** All locks that a document is under beside that of its own entity. */
export function documentLockNames(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
): string[] {
  return [
    ...valueLockNames(definition, fields, document),
    ...referenceLockNames(definition, document),
  ]
}

/** What rules look for in other entities must not change until theirs is written. */
function sharedLockNames(name: string, { allowances }: Fields): string[] {
  // Somebody has to stay who may do everything.
  if (name === 'users') return ['users.roles/admin']
  if (name !== 'accounts' || !Array.isArray(allowances)) return []
  return allowances.map((one: Fields | null) => `accounts.allowances/${String(one?.['sid'])}`)
}

/** R9: whatever the dates, and also if it has ended. */
export async function checkDuplicate(
  catalog: Catalog,
  definition: CollectionDefinition,
  document: Fields,
): Promise<void> {
  const { name, duplicate, fixed, actions } = definition
  const { fields, by } = duplicate
  const given = fields.filter((field) => document[field] !== undefined)
  if (given.length === 0) return
  const same = given.map((field) => ({ [field]: document[field] }))
  const filter = { ...fixed, ...(by === 'all' ? { $and: same } : { $or: same }), ...NOT_DELETED }
  const [found] = await findDocuments(catalog, definition, filter, 1)
  if (found === undefined) return
  const values = given
    .filter((field) => found[field] === document[field] && field !== 'type')
    .map((field) => `${field} ${String(document[field])}`)
  const advice =
    actions.reopen === undefined ? 'choose another one' : 'reopen it, or choose another one'
  throw new EntityRuleError(`create: ${name} has ${values.join(' and ')} already: ${advice}`)
}

/**
 * R22: two may have the same value at different times. `before`: the entity as it was; where it had
 * the value then, nothing new is asked, so that what is stored twice can still be changed.
 */
export async function checkUniqueFields(
  catalog: Catalog,
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
  before: readonly Fields[],
): Promise<void> {
  const { keyField, fixed, name } = definition
  const claims = newlyClaimedValues(ownFields(definition, fields), document, before)
  if (claims.length === 0) return
  const filter = {
    ...fixed,
    $or: claims.map(({ field, value }) => ({ [field]: { $in: formsOf(value) } })),
    [keyField]: { $ne: document[keyField] },
    from: { $lt: new Date(toOf(document)) },
    to: { $gt: new Date(fromOf(document)) },
    ...NOT_DELETED,
  }
  const found = (await catalog.read(`read ${name}`, (limits) =>
    documentsOf(catalog, definition)
      .find(filter as object, { ...limits, limit: HOLDERS_MAX })
      .toArray(),
  )) as Fields[]
  for (const { field, value, spans } of claims) {
    const taken = found.find((other) => {
      const isSame = valuesAt(other, field).some((one) => isOneValue(one, value))
      return isSame && spans.some((span) => overlap(span, spanOf(other)))
    })
    if (taken === undefined) continue
    const whose = `${keyField} ${String(taken[keyField])}`
    throw new EntityRuleError(`${field} must be unique: ${String(value)} belongs to ${whose}`)
  }
}

/** Revisions with the values of one document: where there are so many the first tell enough. */
const HOLDERS_MAX = 1000

interface ClaimedValue extends UniqueValue {
  /** When the entity has the value and had it not before. */
  spans: readonly Span[]
}

function newlyClaimedValues(
  fields: readonly FieldDefinition[],
  document: Fields,
  before: readonly Fields[],
): ClaimedValue[] {
  return uniqueValues(fields, document).flatMap(({ field, value }) => {
    const had = before.filter((one) => valuesAt(one, field).some((each) => isOneValue(each, value)))
    const spans = uncovered(spanOf(document), had.map(spanOf))
    return spans.length === 0 ? [] : [{ field, value, spans }]
  })
}

/** The key has a check of its own. */
function ownFields(
  { keyField }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly FieldDefinition[] {
  return fields.filter(({ field_name: name }) => name !== keyField)
}

/** As a value may be stored: requests find a number by its text, too. */
export function formsOf(value: unknown): unknown[] {
  if (typeof value === 'number') return [value, String(value)]
  const number = typeof value === 'string' ? Number(value) : Number.NaN
  return Number.isSafeInteger(number) && String(number) === value ? [value, number] : [value]
}

/** A name of the value in which all its forms are one. */
export function valueName(value: unknown): string {
  return String(value)
}

function isOneValue(one: unknown, other: unknown): boolean {
  return valueName(one) === valueName(other)
}

function valuesAt(document: Fields, field: string): unknown[] {
  return [fieldValue(document, field)].flat()
}

/** Uniqueness checks against other entities. */
import type { Catalog } from '../../catalog/connection.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError, throwRules } from '../../requests/errors.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { fieldValue, type UniqueValue, uniqueValues } from '../fields/check.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { findDocuments, NOT_DELETED, readsOf } from '../revisions.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import { overlap, type RevisionSpan, spanOf, uncovered } from '../timeline/spans.ts'

/** Duplicates are refused even if their validity does not overlap or has ended. */
export async function checkDuplicate(
  catalog: Catalog,
  definition: CollectionDefinition,
  document: Fields,
): Promise<void> {
  const { name, duplicate, fixed, actions } = definition
  const { fields, by } = duplicate
  const present = fields.filter((field) => document[field] !== undefined)
  if (present.length === 0) return
  const same = present.map((field) => ({ [field]: document[field] }))
  const filter = { ...fixed, ...(by === 'all' ? { $and: same } : { $or: same }), ...NOT_DELETED }
  const [found] = await findDocuments(catalog, definition, filter, 1)
  if (found === undefined) return
  const values = present
    .filter((field) => found[field] === document[field] && field !== 'type')
    .map((field) => `${field} ${String(document[field])}`)
  const advice =
    actions.reopen === undefined ? 'choose another one' : 'reopen it, or choose another one'
  const path = present.find((field) => found[field] === document[field] && field !== 'type') ?? ''
  const text = `create: ${name} has ${values.join(' and ')} already: ${advice}`
  throw new EntityRuleError(text, path === '' ? 'refused' : { path })
}

/**
 * Two entities may have the same value at different times. `before`: the previous revisions;
 * periods in which the entity already had the value are not checked, so that stored duplicates can
 * still be changed.
 */
export async function checkUniqueFields(
  catalog: Catalog,
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
  before: readonly Fields[],
): Promise<void> {
  const { keyField, fixed } = definition
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
  const found = (await readsOf(catalog, definition)
    .find(filter as object, { limit: HOLDERS_MAX })
    .toArray()) as Fields[]
  const conflicts: FieldIssue[] = []
  for (const { field, value, spans } of claims) {
    const conflict = found.find((other) => {
      const isSame = valuesAt(other, field).some((one) => isOneValue(one, value))
      return isSame && spans.some((span) => overlap(span, spanOf(other)))
    })
    if (conflict === undefined) continue
    const whose = `${keyField} ${String(conflict[keyField])}`
    const reason = `must be unique: ${String(value)} belongs to ${whose}`
    conflicts.push({ path: field, reason })
  }
  throwRules(conflicts)
}

/** Maximum number of revisions read; with more conflicts the first ones are sufficient. */
const HOLDERS_MAX = 1000

interface ClaimedValue extends UniqueValue {
  /** Periods in which the entity has the value but did not have it before. */
  spans: readonly RevisionSpan[]
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

/** The key field has its own check (`checkDuplicate`). */
function ownFields(
  { keyField }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly FieldDefinition[] {
  return fields.filter(({ field_name: name }) => name !== keyField)
}

/** All stored forms of a value: numbers are also found by their text. */
export function formsOf(value: unknown): unknown[] {
  if (typeof value === 'number') return [value, String(value)]
  const number = typeof value === 'string' ? Number(value) : Number.NaN
  return Number.isSafeInteger(number) && String(number) === value ? [value, number] : [value]
}

/** Name of a value that is the same for all its stored forms. */
export function valueName(value: unknown): string {
  return String(value)
}

function isOneValue(one: unknown, other: unknown): boolean {
  return valueName(one) === valueName(other)
}

function valuesAt(document: Fields, field: string): unknown[] {
  return [fieldValue(document, field)].flat()
}

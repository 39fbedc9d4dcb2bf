/** Whether somebody else has what must be one's own (R9, R22). */
import type { Catalog } from '../../../catalog/connection.ts'
import type { CollectionDefinition } from '../definition.ts'
import { RuleError } from '../errors.ts'
import type { FieldDefinition } from '../field-definition.ts'
import { type Fields, fromOf, toOf } from '../timeline/draft.ts'
import { valueAt } from '../timeline/set-fields.ts'
import { documentsOf, findDocuments, NOT_DELETED } from './revisions.ts'
import { useChains } from './uses.ts'

/** Names of the locks under which the values stay free until they are written. */
export function valueChains(
  { name, duplicate, keyField }: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
): string[] {
  const names = new Set([
    ...duplicate.fields.filter((field) => field !== keyField && field !== 'type'),
    ...uniqueFields(fields, keyField),
  ])
  const values = [...names].flatMap((field) =>
    valuesAt(document, field).map((value) => `${name}.${field}/${String(value)}`),
  )
  return [...values, ...sharedChains(name, document)]
}

/** A document as it will be stored, and as it was; null: it is new. */
interface Changed {
  document: Fields
  stored: Fields | null
}

/** Names of the locks that must be held for what changes, by what is stored in the end. */
export function neededChains(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  changed: readonly Changed[],
): string[] {
  const needed = changed.flatMap(({ document, stored }) => {
    const chains = documentChains(definition, fields, document)
    const isLonger = (name: string) => Number(stored?.[name]) !== Number(document[name])
    if (stored === null || isLonger('from') || isLonger('to')) return chains
    const known = new Set(documentChains(definition, fields, stored))
    return chains.filter((chain) => !known.has(chain))
  })
  return [...new Set(needed)]
}

/** All locks that a document is under beside that of its own entity. */
export function documentChains(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
): string[] {
  return [...valueChains(definition, fields, document), ...useChains(definition, document)]
}

/** What rules look for in other entities must not change until theirs is written. */
function sharedChains(name: string, { allowances }: Fields): string[] {
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
  throw new RuleError(`create: ${name} has ${values.join(' and ')} already: ${advice}`)
}

/** R22: two may have the same value at different times. `key`: of the entity itself. */
export async function checkUniqueFields(
  catalog: Catalog,
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  document: Fields,
): Promise<void> {
  const { keyField, fixed, name } = definition
  for (const field of uniqueFields(fields, keyField)) {
    const values = valuesAt(document, field)
    if (values.length === 0) continue
    const filter = {
      ...fixed,
      [field]: { $in: values },
      [keyField]: { $ne: document[keyField] },
      from: { $lt: new Date(toOf(document)) },
      to: { $gt: new Date(fromOf(document)) },
      ...NOT_DELETED,
    }
    const found = await catalog.run(`read ${name}`, () =>
      documentsOf(catalog, definition).findOne(filter as object),
    )
    if (found === null) continue
    const taken = values.find((value) => valuesAt(found, field).includes(value))
    const whose = `${keyField} ${String((found as Fields)[keyField])}`
    throw new RuleError(`${field} must be unique: ${String(taken)} belongs to ${whose}`)
  }
}

function uniqueFields(fields: readonly FieldDefinition[], keyField: string): string[] {
  return fields
    .filter((field) => field.unique === true && field.field_name !== keyField)
    .map((field) => field.field_name)
}

function valuesAt(document: Fields, field: string): unknown[] {
  const value = valueAt(document, field.split('.'))
  const values = Array.isArray(value) ? value : [value]
  return values.filter((one) => one !== undefined && one !== null && one !== '')
}

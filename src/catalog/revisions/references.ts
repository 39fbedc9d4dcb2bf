/**
 * Checks references to rates and services, and usage types of those rates, in documents being
 * written: they must exist in some revision. In stored documents, references that no longer exist
 * have no effect.
 */

import { type FieldIssue, throwIssues } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import type { Collection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { EntityCollection } from '../entities/entity-table.ts'

interface Reference {
  collection: 'rates' | 'services'
  name: string
  /** Path of the field with the reference. */
  path: string
}

/** A usage type that at least one of these rates must have. */
interface UsageReference {
  rates: readonly string[]
  usaget: string
  path: string
}

const KEY_FIELD = { rates: 'key', services: 'name' } as const

/** Existing entities by key or name, with the usage types they have a price for. */
export interface ExistingReferences {
  rates: ReadonlyMap<string, ReadonlySet<string>>
  services: ReadonlyMap<string, ReadonlySet<string>>
}

/**
 * Rejects with `FieldError` for the references that do not exist. Reads each referenced collection
 * once.
 */
export async function checkReferences(
  catalog: Catalog,
  collection: EntityCollection,
  document: RawDocument,
): Promise<void> {
  checkLoadedReferences(collection, document, await readReferences(catalog, collection, [document]))
}

/** The existing ones of all references in these documents, with one read per collection. */
export async function readReferences(
  catalog: Catalog,
  collection: EntityCollection,
  documents: readonly Fields[],
): Promise<ExistingReferences> {
  const references = documents.flatMap((document) => referencesIn(collection, document))
  const [rates, services] = await Promise.all([
    findExisting(catalog, 'rates', references),
    findExisting(catalog, 'services', references),
  ])
  return { rates, services }
}

/** As `checkReferences`, with references that are already read. Throws `FieldError`. */
export function checkLoadedReferences(
  collection: EntityCollection,
  document: RawDocument,
  existing: ExistingReferences,
): void {
  const unpriced = offersIn(collection, document)
    .flatMap(usagetsOf)
    .filter(({ rates: keys, usaget }) => {
      const known = keys.flatMap((key) => existing.rates.get(key) ?? [])
      return known.length > 0 && !known.some((usagets) => usagets.has(usaget))
    })
  // A rate that does not exist is a missing name.
  throwIssues([
    ...missingNames(referencesIn(collection, document), existing),
    ...unpriced.map(({ rates: keys, path }) => {
      return { path, reason: `is a usage type that ${keys.join(', ')} has no price for` }
    }),
  ])
}

/** Existing entities by key or name. */
export interface ReferencedNames {
  rates: { has(key: string): boolean }
  services: { has(name: string): boolean }
}

/** Throws `FieldError` for the rates and services that do not exist. */
export function checkReferencedNames(
  collection: EntityCollection,
  document: Fields,
  existing: ReferencedNames,
): void {
  throwIssues(missingNames(referencesIn(collection, document), existing))
}

function missingNames(
  references: readonly Reference[],
  existing: ReferencedNames,
): readonly FieldIssue[] {
  return references
    .filter(({ collection, name }) => !existing[collection].has(name))
    .map(({ collection, name, path }) => {
      const kind = collection === 'rates' ? 'rate' : 'service'
      return { path, reason: `names a ${kind} that does not exist: ${name}` }
    })
}

function referencesIn(collection: EntityCollection, document: Fields): Reference[] {
  const subscribed =
    collection === 'subscribers' ? serviceReferences(document['services'], 'services') : []
  const offers = offersIn(collection, document)
  return [...subscribed, ...offers.flatMap(({ offer, prefix }) => offerReferences(offer, prefix))]
}

async function findExisting(
  catalog: Catalog,
  collection: Reference['collection'],
  references: readonly Reference[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = references.flatMap((one) => (one.collection === collection ? [one.name] : []))
  if (names.length === 0) return new Map()
  const field = KEY_FIELD[collection]
  const documents = catalog[collection] as unknown as Collection<Fields>
  const filter = { [field]: { $in: [...new Set(names)] }, deleted: { $ne: true } }
  const found = await documents
    .find(filter, { projection: { _id: 0, [field]: 1, rates: 1 } })
    .toArray()
  return existingIn(collection, found)
}

/** The entities among these documents, with the usage types they have a price for. */
export function existingIn(
  collection: Reference['collection'],
  documents: readonly Fields[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const usagets = new Map<string, Set<string>>()
  for (const document of documents) {
    const name = String(document[KEY_FIELD[collection]])
    const existing = usagets.get(name) ?? new Set()
    for (const [usaget] of membersOf(document['rates'])) existing.add(usaget)
    usagets.set(name, existing)
  }
  return usagets
}

/** A plan, a service, or the override of one, with its path. */
interface OfferAtPath {
  offer: Fields
  prefix: string
}

function offersIn(collection: EntityCollection, document: Fields): OfferAtPath[] {
  if (collection === 'plans' || collection === 'services') return [{ offer: document, prefix: '' }]
  if (collection !== 'subscribers') return []
  return membersOf(document['overrides']).map(([index, override]) => {
    const offer = fieldsOf(fieldsOf(override)['value'])
    return { offer, prefix: `overrides.${index}.value.` }
  })
}

/**
 * Usage types of prices, and of groups with a list of rates: a usage type without a price would
 * never be used.
 */
function usagetsOf({ offer, prefix }: OfferAtPath): UsageReference[] {
  const prices = membersOf(offer['rates']).flatMap(([name, usagets]) =>
    membersOf(usagets).map(([usaget]) => {
      return { rates: [name], usaget, path: `${prefix}rates.${name}.${usaget}` }
    }),
  )
  const groups = membersOf(fieldsOf(offer['include'])['groups']).flatMap(([name, group]) => {
    const { rates, usage_types: usagets } = fieldsOf(group)
    if (!Array.isArray(rates) || rates.length === 0 || rates.includes('ALL_RATES')) return []
    const path = `${prefix}include.groups.${name}.usage_types`
    const keys = rates.map(String)
    return namesOf(usagets).map((usaget) => {
      return { rates: keys, usaget, path: `${path}.${usaget}` }
    })
  })
  return [...prices, ...groups]
}

/** References of a plan, a service, or the override of one. */
function offerReferences(offer: Fields, prefix: string): Reference[] {
  const prices = membersOf(offer['rates']).map(([name]): Reference => {
    return { collection: 'rates', name, path: `${prefix}rates.${name}` }
  })
  const include = fieldsOf(offer['include'])
  const groups = membersOf(include['groups']).flatMap(([name, group]) => {
    const { rates } = fieldsOf(group)
    // A string is not a list of keys: it means all rates, or an expression.
    return Array.isArray(rates)
      ? rateReferences(rates, `${prefix}include.groups.${name}.rates`)
      : []
  })
  return [
    ...prices,
    ...groups,
    ...serviceReferences(include['services'], `${prefix}include.services`),
  ]
}

function rateReferences(rates: readonly unknown[], path: string): Reference[] {
  return rates.flatMap((name, index) => {
    if (name === 'ALL_RATES') return []
    return [{ collection: 'rates', name: String(name), path: `${path}.${index}` } as const]
  })
}

function serviceReferences(services: unknown, path: string): Reference[] {
  return membersOf(services).map(([index, service]) => {
    const isName = typeof service === 'string'
    const name = isName ? service : String(fieldsOf(service)['name'])
    return { collection: 'services', name, path: `${path}.${index}${isName ? '' : '.name'}` }
  })
}

/** Members of a list, or keys of an object. */
function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : Object.keys(fieldsOf(value))
}

function membersOf(value: unknown): [string, unknown][] {
  return Object.entries(fieldsOf(value))
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

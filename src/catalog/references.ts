/**
 * Names of rates and services in documents that are being written, and usage types of those rates:
 * they must exist, in any revision. Stored documents may name what is gone: there it only applies
 * to nothing.
 */
import type { Collection } from 'mongodb'
import type { EntityCollection } from './collections.ts'
import type { RawDocument } from './compile/document.ts'
import type { Catalog } from './connection.ts'
import { CompileError } from './errors.ts'
import type { Fields } from './field.ts'

interface Reference {
  collection: 'rates' | 'services'
  name: string
  /** Of the field that names it. */
  path: string
}

/** A usage type that one of these rates must have. */
interface UsageReference {
  rates: readonly string[]
  usaget: string
  path: string
}

const KEY_FIELD = { rates: 'key', services: 'name' } as const

/**
 * Rejects with `CompileError` for the first name that does not exist. To be called with a document
 * that compiles; costs one read of each collection that it names.
 */
export async function checkReferences(
  catalog: Catalog,
  collection: EntityCollection,
  document: RawDocument,
): Promise<void> {
  const offers = offersIn(collection, document)
  const references = [
    ...(collection === 'subscribers' ? ofServices(document['services'], 'services') : []),
    ...offers.flatMap(({ offer, prefix }) => ofOffer(offer, prefix)),
  ]
  const [rates, services] = await Promise.all([
    existing(catalog, 'rates', references),
    existing(catalog, 'services', references),
  ])
  const known = { rates, services }
  for (const reference of references) {
    if (known[reference.collection].has(reference.name)) continue
    const kind = reference.collection === 'rates' ? 'rate' : 'service'
    throw new CompileError(reference.path, `names a ${kind} that does not exist: ${reference.name}`)
  }
  for (const { rates: keys, usaget, path } of offers.flatMap(usagetsOf)) {
    if (keys.some((key) => rates.get(key)?.has(usaget))) continue
    throw new CompileError(path, `is a usage type that ${keys.join(', ')} has no price for`)
  }
}

async function existing(
  catalog: Catalog,
  collection: Reference['collection'],
  references: readonly Reference[],
): Promise<ReadonlyMap<unknown, ReadonlySet<string>>> {
  const names = references.flatMap((one) => (one.collection === collection ? [one.name] : []))
  if (names.length === 0) return new Map()
  const field = KEY_FIELD[collection]
  const documents = catalog[collection] as unknown as Collection<Fields>
  const filter = { [field]: { $in: [...new Set(names)] }, deleted: { $ne: true } }
  const found = await catalog.run(`look for ${collection}`, () =>
    documents.find(filter, { projection: { _id: 0, [field]: 1, rates: 1 } }).toArray(),
  )
  const usagets = new Map<unknown, Set<string>>()
  for (const document of found) {
    const known = usagets.get(document[field]) ?? new Set()
    for (const [usaget] of membersOf(document['rates'])) known.add(usaget)
    usagets.set(document[field], known)
  }
  return usagets
}

/** A plan, a service, or what replaces parts of one, and where it stands. */
interface PlacedOffer {
  offer: Fields
  prefix: string
}

function offersIn(collection: EntityCollection, document: RawDocument): PlacedOffer[] {
  if (collection === 'plans' || collection === 'services') return [{ offer: document, prefix: '' }]
  if (collection !== 'subscribers') return []
  return membersOf(document['overrides']).map(([index, override]) => {
    const offer = fieldsOf(fieldsOf(override)['value'])
    return { offer, prefix: `overrides.${index}.value.` }
  })
}

/** Of prices, and of groups that list their rates: what none of these has would never be used. */
function usagetsOf({ offer, prefix }: PlacedOffer): UsageReference[] {
  const prices = membersOf(offer['rates']).flatMap(([name, usagets]) =>
    membersOf(usagets).map(([usaget]) => {
      return { rates: [name], usaget, path: `${prefix}rates.${name}.${usaget}` }
    }),
  )
  const groups = membersOf(fieldsOf(offer['include'])['groups']).flatMap(([name, group]) => {
    const { rates, usage_types: usagets } = fieldsOf(group)
    if (!Array.isArray(rates) || rates.length === 0) return []
    const path = `${prefix}include.groups.${name}.usage_types`
    const keys = rates.map(String)
    return namesOf(usagets).map((usaget) => {
      return { rates: keys, usaget, path: `${path}.${usaget}` }
    })
  })
  return [...prices, ...groups]
}

/** Of a plan, a service, or what replaces parts of one. */
function ofOffer(offer: Fields, prefix: string): Reference[] {
  const prices = membersOf(offer['rates']).map(([name]): Reference => {
    return { collection: 'rates', name, path: `${prefix}rates.${name}` }
  })
  const include = fieldsOf(offer['include'])
  const groups = membersOf(include['groups']).flatMap(([name, group]) => {
    const { rates } = fieldsOf(group)
    // A text is no list of keys: all rates, or an expression.
    return Array.isArray(rates) ? ofRates(rates, `${prefix}include.groups.${name}.rates`) : []
  })
  return [...prices, ...groups, ...ofServices(include['services'], `${prefix}include.services`)]
}

function ofRates(rates: readonly unknown[], path: string): Reference[] {
  return rates.map((name, index) => {
    return { collection: 'rates', name: String(name), path: `${path}.${index}` }
  })
}

function ofServices(services: unknown, path: string): Reference[] {
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

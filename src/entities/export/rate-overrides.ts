/** Prices of rates in plans and services, read for one page of rates at a time. */
import type { Collection } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Fields } from '../../domain/fields.ts'
import { stateAt } from '../actions/current-revision.ts'
import { NOT_DELETED } from '../revisions.ts'
import { toOf } from '../timeline/draft.ts'
import { type RateOverride, SERVICE } from './rate-rows.ts'

export type OverridesOf = (rate: Fields) => readonly RateOverride[]

/** Maximum number of keys in one query. */
const KEYS_MAX = 100

const OFFERS = [
  ['plans', ''],
  ['services', SERVICE],
] as const

/** Reads the prices in the current revisions of plans and services. */
export async function overridesIn(
  catalog: Catalog,
  rates: readonly Fields[],
  nowMs: number,
): Promise<OverridesOf> {
  const byKey = new Map<string, RateOverride[]>()
  const keys = rates.map(({ key }) => String(key))
  for (let from = 0; from < keys.length; from += KEYS_MAX) {
    const some = keys.slice(from, from + KEYS_MAX)
    for (const [kind, prefix] of OFFERS) {
      for (const offer of await offersWith(catalog, kind, some, nowMs)) {
        collect(byKey, offer, prefix)
      }
    }
  }
  return ({ key }) => byKey.get(String(key)) ?? []
}

async function offersWith(
  catalog: Catalog,
  kind: 'plans' | 'services',
  keys: readonly string[],
  nowMs: number,
): Promise<Fields[]> {
  const prices = keys.map((key) => `rates.${key}`)
  const filter = {
    $or: prices.map((path) => ({ [path]: { $exists: true } })),
    to: { $gt: new Date(nowMs) },
    ...NOT_DELETED,
  }
  const priceFields = Object.fromEntries(prices.map((path) => [path, 1]))
  const projection = { name: 1, from: 1, to: 1, ...priceFields }
  const documents = catalog[kind] as unknown as Collection<Fields>
  const found = await documents.find(filter, { projection }).sort({ name: 1 }).toArray()
  return currentOffers(found, nowMs)
}

function currentOffers(found: readonly Fields[], nowMs: number): Fields[] {
  const best = new Map<unknown, Fields>()
  for (const offer of found) {
    const other = best.get(offer['name'])
    const difference = other === undefined ? -1 : stateAt(offer, nowMs) - stateAt(other, nowMs)
    const isLater = other === undefined || toOf(offer) > toOf(other)
    if (difference < 0 || (difference === 0 && isLater)) best.set(offer['name'], offer)
  }
  return [...best.values()]
}

function collect(byKey: Map<string, RateOverride[]>, offer: Fields, prefix: string): void {
  for (const [key, usagets] of membersOf(offer['rates'])) {
    const overrides = membersOf(usagets).map(([usaget, price]) => {
      return { plan: `${prefix}${String(offer['name'])}`, usaget, price }
    })
    byKey.set(key, [...(byKey.get(key) ?? []), ...overrides])
  }
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

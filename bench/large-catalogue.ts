/** A large catalogue and changes to it, written directly into MongoDB. */

import { ObjectId } from 'mongodb'
import type { Catalog } from '../src/catalog/connection.ts'
import type { EntityCollection } from '../src/catalog/entities/entity-table.ts'
import { writeRevisions } from '../src/catalog/revisions/store-revisions.ts'
import { FOREVER_MS } from '../src/domain/time.ts'

const BATCH = 1000
const SINCE = new Date(Date.UTC(2020, 0, 1))

const stored = (fields: object) => {
  return { _id: new ObjectId(), rev: 0, from: SINCE, to: new Date(FOREVER_MS), ...fields }
}

const tiers = (price: number) => [
  { from: 0, to: 60, interval: 60, price },
  { from: 60, to: 'UNLIMITED', interval: 1, price: price / 60 < 1e-6 ? 1e-6 : 0.001 },
]

export function rateDocument(index: number) {
  const prefix = [`${1_000_000 + index}`, `${9_000_000 + index}`]
  return stored({
    key: `CALL_${index}`,
    description: `Calls to destination ${index}`,
    tariff_category: 'retail',
    pricing_method: 'tiered',
    add_to_retail: true,
    params: { prefix, zone: `Z${index % 200}` },
    tax: [{ type: 'vat', taxation: 'global' }],
    rounding_rules: { rounding_type: 'None' },
    rates: {
      call: {
        BASE: { access: 0.1, rate: tiers((index % 97) / 100) },
        GOLD: { rate: tiers((index % 89) / 200) },
      },
    },
  })
}

export function planDocument(index: number) {
  const rates = Array.from({ length: 20 }, (_, n) => `CALL_${(index * 20 + n) % 100_000}`)
  return stored({
    name: `PLAN_${index}`,
    description: `Plan ${index}`,
    connection_type: 'postpaid',
    price: [{ from: 0, to: 'UNLIMITED', price: 10 }],
    recurrence: { frequency: 1, start: 1 },
    disallowed_rates: [],
    rates: Object.fromEntries(rates.map((key) => [key, { call: { percentage: 0.9 } }])),
    include: { groups: { MINUTES: { value: 6000, usage_types: { call: {} }, rates } } },
  })
}

export async function fill(
  catalog: Catalog,
  collection: EntityCollection,
  count: number,
  documentOf: (index: number) => object,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const length = Math.min(BATCH, count - from)
    const documents = Array.from({ length }, (_, offset) => documentOf(from + offset))
    await catalog[collection as 'plans'].insertMany(documents as never[], { ordered: false })
  }
}

/** Replaces a price list of `fill`, as the entity API would. */
export async function change(catalog: Catalog, count: number): Promise<void> {
  const documents = await catalog.rates
    .find({ key: /^CALL_/ })
    .limit(count)
    .toArray()
  await catalog.transaction('change rates', async (session) => {
    const steps = documents.map((document) => {
      return { mode: 'replace', document: { ...document, play: 'NEW' } } as const
    })
    await writeRevisions(catalog, session, 'rates', steps)
  })
}

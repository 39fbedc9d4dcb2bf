/** The demo catalogue for new users: small, with one entity of each kind. */
import type { ClientSession } from 'mongodb'
import { type Fields, isObject } from '../domain/fields.ts'
import { MICROS_PER_UNIT } from '../domain/money.ts'
import { FOREVER_MS } from '../domain/time.ts'
import type { Actor } from './actor.ts'
import { appendAudit } from './audit/audit.ts'
import type { Catalog } from './connection.ts'
import { CHARGING_COLLECTIONS, type EntityCollection } from './entities/entity-table.ts'
import { checkedEntityWith } from './revisions/check.ts'
import { existingIn } from './revisions/references.ts'
import { type RevisionWrite, writeRevisions } from './revisions/store-revisions.ts'
import { readCategory, writeStoredConfig } from './settings/stored-config.ts'

const MIB = 1024 * 1024
const GIB = 1024 * MIB

const DEMO_ACCOUNT = 1
const ADDRESS = '1 Demo Street'
const DEMO_TAX = 'VAT'
/** A date before any demo event. */
const SINCE = new Date(Date.UTC(2020, 0, 1))
const FOREVER = new Date(FOREVER_MS)
/** Dates of accounts and subscribers that the entity API derives from their revisions. */
const EXISTENCE = { activation_date: SINCE, deactivation_date: FOREVER } as const

export interface DemoEntity {
  readonly collection: EntityCollection
  readonly document: Readonly<Record<string, unknown>>
}

/** Initial credit of a bucket; `sid` 0 for shared buckets of the account. */
export interface InitialCredit {
  aid: number
  sid: number
  prepaidIncludeId: number
  /** Units, or micros of money; credit is positive. */
  amount: number
  /** Makes the top-up idempotent. */
  operationId: string
}

const subscriber = (sid: number, more: Record<string, unknown> = {}): DemoEntity => ({
  collection: 'subscribers',
  document: {
    type: 'subscriber',
    sid,
    aid: DEMO_ACCOUNT,
    from: SINCE,
    plan: 'DEMO_PREPAID',
    ...EXISTENCE,
    plan_activation: SINCE,
    plan_deactivation: FOREVER,
    services: [],
    firstname: 'Demo',
    lastname: `Subscriber ${sid}`,
    address: ADDRESS,
    // Numbers that are never assigned: the UK range for drama, and the test network 001-01.
    msisdn: `447700900${String(sid % 1000).padStart(3, '0')}`,
    imsi: [`00101000000${sid}`],
    ...more,
  },
})

const rate = (key: string, usaget: string, price: object): DemoEntity => ({
  collection: 'rates',
  document: {
    key,
    description: `Demo ${usaget}`,
    from: SINCE,
    tariff_category: 'retail',
    add_to_retail: true,
    pricing_method: 'tiered',
    rates: { [usaget]: { BASE: price } },
  },
})

const flat = (interval: number, price: number) => [{ from: 0, to: 'UNLIMITED', interval, price }]

const prepaidInclude = (external_id: number, name: string, more: object): DemoEntity => ({
  collection: 'prepaidincludes',
  document: { external_id, name, from: SINCE, shared: false, unlimited: false, ...more },
})

/** Stored in the same form as by the entity API, so that the API can change them. */
export const DEMO_ENTITIES: readonly DemoEntity[] = [
  prepaidInclude(1, 'MONEY', {
    charging_by: 'total_cost',
    charging_by_usaget: 'total_cost',
    priority: 10,
  }),
  prepaidInclude(2, 'DATA_PACK', {
    charging_by: 'usagev',
    charging_by_usaget: 'data',
    priority: 50,
  }),
  prepaidInclude(3, 'SHARED_DATA', {
    charging_by: 'usagev',
    charging_by_usaget: 'data',
    priority: 30,
    shared: true,
  }),
  {
    collection: 'taxes',
    document: { key: DEMO_TAX, description: 'VAT', from: SINCE, rate: 0.2, embed_tax: false },
  },
  rate('DATA', 'data', { rate: flat(MIB, 0.01) }),
  rate('DATA_10', 'data', { rate: flat(MIB, 0.002) }),
  rate('CALL', 'call', { access: 0.05, rate: flat(60, 0.1) }),
  rate('SMS', 'sms', { rate: flat(1, 0.04) }),
  {
    collection: 'plans',
    document: {
      name: 'DEMO_PREPAID',
      description: 'Demo prepaid',
      from: SINCE,
      connection_type: 'prepaid',
      price: [{ from: 0, to: 'UNLIMITED', price: 0 }],
      recurrence: { frequency: 1, start: 1 },
      upfront: false,
      disallowed_rates: [],
    },
  },
  {
    collection: 'subscribers',
    document: {
      type: 'account',
      aid: DEMO_ACCOUNT,
      from: SINCE,
      ...EXISTENCE,
      firstname: 'Demo',
      lastname: 'Account',
      email: 'demo@example.org',
      country: 'GB',
      address: ADDRESS,
      zip_code: 'AB1 2CD',
      invoice_shipping_method: 'email',
      invoice_language: 'en_GB',
    },
  },
  subscriber(1001),
  subscriber(1002),
  subscriber(1003),
  subscriber(1004, { barred: true }),
]

/** Address and port of the example of a receiver in examples/receiver. */
export const DEMO_RECEIVER = '127.0.0.1:8183'

/** Each 10 MiB of a data pack make an event, which is sent to the example of a receiver. */
export const DEMO_EVENTS = {
  balance: [
    {
      event_code: 'DATA_10_MIB',
      event_description: 'a further 10 MiB of the data pack are used',
      filter: { aid: [DEMO_ACCOUNT] },
      conditions: [
        { type: 'is', value: 2, paths: [{ path: 'pp_includes_external_id' }] },
        {
          type: 'reached_constant_recurring',
          value: 10 * MIB,
          unit: 'bytes',
          usaget: 'data',
          paths: [{ path: 'spent' }],
        },
      ],
      url: `http://${DEMO_RECEIVER}/`,
      method: 'get',
    },
  ],
} as const

/** Nobody's names and numbers: invoices of the demo have a sender, and are valid e-invoices. */
export const DEMO_INVOICES = {
  seller: {
    name: 'Demo Mobile Ltd',
    street: '2 Demo Street',
    zip_code: 'AB1 2CD',
    city: 'Demo Town',
    country: 'GB',
    vat_id: 'GB000000000',
    email: 'billing@example.org',
  },
  hide_zero: true,
} as const

const DEMO_STORED = [
  ['events', DEMO_EVENTS],
  ['taxation', { default: DEMO_TAX }],
  ['invoices', DEMO_INVOICES],
] as const

const credit = (sid: number, prepaidIncludeId: number, amount: number): InitialCredit => ({
  aid: DEMO_ACCOUNT,
  sid,
  prepaidIncludeId,
  amount,
  operationId: `seed-demo-${sid}-${prepaidIncludeId}`,
})

const DEMO_CREDITS: readonly InitialCredit[] = [
  credit(1001, 1, 10 * MICROS_PER_UNIT),
  credit(1001, 2, GIB),
  credit(1002, 1, 5 * MICROS_PER_UNIT),
  credit(1003, 1, 20 * MICROS_PER_UNIT),
  credit(1004, 1, 10 * MICROS_PER_UNIT),
  credit(0, 3, 5 * GIB),
]

/** The demo refers to itself only. */
const REFERENCES = {
  rates: existingIn('rates', documentsIn('rates')),
  services: existingIn('services', documentsIn('services')),
}

function documentsIn(name: EntityCollection): Fields[] {
  const found = DEMO_ENTITIES.filter(({ collection }) => collection === name)
  return found.map(({ document }) => document)
}

/** State of the credits in the collection of counters; absent before the seed. */
const MARK = 'seed:demo'
const BEGUN = 1
const FINISHED = 2

export interface DemoSeed {
  /** The created entities, as `collection name`. */
  created: string[]
  /** Credits to top up; empty if the store was in use or already seeded. */
  credits: readonly InitialCredit[]
}

/**
 * Creates the demo catalogue if the store contains no entities. Its credits are requested again
 * until `finishDemoSeed` is called.
 */
export function seedDemoCatalogue(
  catalog: Catalog,
  { actor, nowMs }: { actor: Actor; nowMs: number },
): Promise<DemoSeed> {
  return catalog.transaction('seed the demo', async (session) => {
    const mark = await catalog.counters.findOne({ _id: MARK })
    if (mark?.seq === BEGUN) return { created: [], credits: DEMO_CREDITS }
    if (mark !== null || !(await isEmpty(catalog))) return { created: [], credits: [] }
    for (const name of new Set(DEMO_ENTITIES.map(({ collection }) => collection))) {
      await writeRevisions(catalog, session, name, stepsOf(name))
    }
    await setMark(catalog, BEGUN, session)
    const seed = { created: DEMO_ENTITIES.map(labelOf), credits: DEMO_CREDITS }
    const entry = { collection: 'installation', type: 'seed', key: 'demo', new: seed }
    appendAudit(session, actor, nowMs, entry)
    return seed
  })
}

/** Stores rules for events, the default tax and the seller, each if nothing is stored for it. */
export async function seedDemoSettings(
  catalog: Catalog,
  { actor, nowMs }: { actor: Actor; nowMs: number },
): Promise<void> {
  for (const [key, ofDemo] of DEMO_STORED) {
    if ((await readCategory(catalog, key)).rev > 0) continue
    const change = (stored: unknown) => (isEmptyObject(stored) ? ofDemo : stored)
    const entry = (old: unknown, value: unknown) => {
      return { collection: 'settings', type: 'set', key, old, new: value }
    }
    await writeStoredConfig(catalog, key, change, { nowMs, by: actor.by, audit: { actor, entry } })
  }
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

/** Whether the store has been seeded with the demo. */
export async function hasDemo(catalog: Catalog): Promise<boolean> {
  const mark = await catalog.counters.findOne({ _id: MARK })
  return mark !== null
}

/** Call it when the credits of the seed are topped up. */
export function finishDemoSeed(catalog: Catalog): Promise<void> {
  return setMark(catalog, FINISHED)
}

function stepsOf(name: EntityCollection): RevisionWrite[] {
  return documentsIn(name).map((document) => {
    const dated = { creation_time: SINCE, ...document }
    const options = { mode: 'insert', timeZone: 'UTC' } as const
    return { mode: 'insert', document: checkedEntityWith(name, dated, options, REFERENCES) }
  })
}

function labelOf({ collection, document }: DemoEntity): string {
  const { key, name, sid, aid } = document
  return `${collection} ${key ?? name ?? sid ?? aid}`
}

async function isEmpty(catalog: Catalog): Promise<boolean> {
  for (const collection of CHARGING_COLLECTIONS) {
    const any = await (catalog[collection] as Catalog['plans']).findOne({})
    if (any !== null) return false
  }
  return true
}

async function setMark(catalog: Catalog, seq: number, session?: ClientSession): Promise<void> {
  const options = { upsert: true, ...(session && { session }) }
  await catalog.counters.updateOne({ _id: MARK }, { $set: { seq } }, options)
}

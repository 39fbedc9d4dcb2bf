/** A catalogue with one of each kind of price, and its subscribers, for rating.test.ts. */
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { writeEntity } from '../../../src/catalog/revisions/check.ts'

export const SINCE = '2020-01-01 00:00:00'

/** Accounts and their subscribers; the third subscriber of the team is added later. */
export const FAMILY = { aid: 9_001, first: 90_011, second: 90_012 }
export const TEAM = { aid: 9_003, first: 90_031, second: 90_032, third: 90_033 }
export const SINGLE = { aid: 9_002, sid: 90_021, msisdn: '4915900002' }

/** Settings of this catalogue. */
export const RULES = {
  TOLLGATE_RATING_DEFAULT_TAX: 'DEFAULT_VAT',
  TOLLGATE_RATING_RATE_CALCULATORS: JSON.stringify({
    retail: {
      call: {
        priorities: [
          {
            filters: [
              { type: 'longestPrefix', rate_key: 'params.prefix', line_key: 'called_number' },
            ],
          },
        ],
      },
    },
  }),
  TOLLGATE_RATING_CUSTOMER_IDENTIFICATION: JSON.stringify({
    call: [{ src_key: 'calling_number', target_key: 'msisdn' }],
  }),
  TOLLGATE_RATING_COUNTRY_PREFIX: '49',
}

const flat = (interval: number, price: number) => [{ from: 0, to: 'UNLIMITED', interval, price }]

const calls = (key: string, prefix: string[], price: object) => ({
  key,
  params: { prefix },
  rates: { call: { BASE: price } },
})

export const subscriber = (sid: number, aid: number, plan: string, more: object = {}) => ({
  type: 'subscriber',
  sid,
  aid,
  plan,
  ...more,
})

const ENTITIES: readonly (readonly [EntityCollection, Record<string, unknown>])[] = [
  ['taxes', { key: 'DEFAULT_VAT', description: 'VAT', rate: 0.17 }],
  [
    'rates',
    calls('NATIONAL', ['49'], {
      rate: flat(60, 0.1),
      bands: [{ name: 'evening', from: '18:00', to: '08:00', rate: flat(60, 0.04) }],
    }),
  ],
  ['rates', calls('MOBILE', ['4915', '4916'], { access: 0.05, rate: flat(60, 0.2) })],
  [
    'services',
    {
      name: 'MESSAGES',
      quantitative: true,
      include: { groups: { MESSAGES: { value: 3, usage_types: { sms: {} } } } },
    },
  ],
  [
    'plans',
    {
      name: 'FAMILY',
      connection_type: 'postpaid',
      include: {
        groups: {
          MINUTES: {
            value: 300,
            usage_types: { call: {} },
            rates: ['NATIONAL'],
            account_shared: true,
          },
        },
      },
    },
  ],
  ['rates', { key: 'TRAFFIC', rates: { traffic: { BASE: { rate: flat(1, 0.001) } } } }],
  [
    'plans',
    {
      name: 'TEAM',
      connection_type: 'postpaid',
      include: { groups: { TRAFFIC: { traffic: 1_000, account_pool: true } } },
    },
  ],
  ['subscribers', subscriber(TEAM.first, TEAM.aid, 'TEAM')],
  ['subscribers', subscriber(TEAM.second, TEAM.aid, 'TEAM')],
  ['plans', { name: 'SINGLE', connection_type: 'postpaid' }],
  ['subscribers', { type: 'account', aid: FAMILY.aid, credit_limit: 1 }],
  [
    'subscribers',
    subscriber(FAMILY.first, FAMILY.aid, 'FAMILY', {
      credit_limit: 0.5,
      services: [{ name: 'MESSAGES', from: SINCE, quantity: 2, service_id: 4 }],
    }),
  ],
  [
    'subscribers',
    subscriber(FAMILY.second, FAMILY.aid, 'FAMILY', {
      overrides: [
        {
          type: 'plan',
          key: 'FAMILY',
          value: { rates: { MOBILE: { call: { percentage: 0.5 } } } },
        },
      ],
    }),
  ],
  ['subscribers', subscriber(SINGLE.sid, SINGLE.aid, 'SINGLE', { msisdn: SINGLE.msisdn })],
]

/** A rate stored without any checks: it cannot be used. */
const BROKEN = {
  key: 'BROKEN',
  rev: 0,
  from: new Date(0),
  to: new Date(Date.UTC(2170, 0, 1)),
  rates: { call: { BASE: { rate: flat(0, 0.1) } } },
}

export async function writeTariffs(catalog: Catalog): Promise<void> {
  await catalog.rates.insertOne(BROKEN as never)
  for (const [collection, document] of ENTITIES) {
    const options = { mode: 'insert', timeZone: 'UTC' } as const
    await writeEntity(catalog, collection, { from: SINCE, ...document }, options)
  }
}

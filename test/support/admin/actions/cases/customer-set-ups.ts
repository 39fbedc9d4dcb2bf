/** Set-ups of prepaid customers, their sessions and quotes. */
import { expect } from 'vitest'
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { call, prepaid, quoteCaseOf } from '../../../billing/quote/case-builder.ts'
import { insertEntity } from '../../../catalog/store.ts'
import { emptyLedger } from '../../../ledger.ts'
import { openSession, topUp } from '../../../recorder/accounts.ts'
import { type Fields, NOW_MS, useActionServer } from '../action-server.ts'
import { emptied, type SetUp } from './set-up.ts'
import type { World } from './steps.ts'

const INCLUDE = [{ pp_includes_external_id: 1, value: -20, operation: 'default' }]
const CARD_STATES = ['Idle', 'Shipped', 'Active', 'Used', 'Expired', 'Stolen', 'Cancelled'] as const

/** Prepaid cards for two charging plans. */
export function cards(): SetUp {
  const env = { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' }
  const server = useActionServer(ACTIONS, env)
  const card = { batch_number: 7, charging_plan_name: 'TOPUP20', service_provider: 'ACME' }
  /** Cards 1, 2… */
  const batch = (size: number) => {
    const list = Array.from({ length: size }, (_, index) => ({
      ...{ ...card, to: '2027-01-31', additional_information: 'spring' },
      ...{ serial_number: index + 1, secret: String(index + 1).padStart(12, '0') },
    }))
    return server.ask('cards', { method: 'create', cards: list })
  }
  return {
    server,
    async prepare() {
      for (const name of ['TOPUP20', 'TOPUP50']) {
        const group = { name, description: name, operation: 'inc', from: '2026-01-01' }
        await insertEntity(server.catalog(), 'prepaidgroups', { ...group, include: INCLUDE })
      }
    },
    reset: emptied(server, 'cards', 'audit'),
    verbs: {
      batch: (_world: World, size: number) => batch(size),
      /** Cards in some states, and in no others, can be changed to a state. */
      async changes(_world: World, status: string, allowed: readonly string[]) {
        for (const before of CARD_STATES) {
          await server.catalog().cards.deleteMany({})
          await batch(1)
          await server.catalog().cards.updateOne({}, { $set: { status: before } })
          const query = { batch_number: 7, serial_number: 1 }
          const answer = await server.ask('cards', { method: 'update', query, update: { status } })
          expect([before, answer['status']]).toEqual([before, allowed.includes(before) ? 1 : 0])
          if (answer['status'] === 1) continue
          expect(answer['desc']).toMatch(/cannot become .*; only .* can/)
        }
      },
    },
  }
}

export function autorenew(): SetUp {
  const server = useActionServer(ACTIONS)
  return {
    server,
    async prepare() {
      const catalog = server.catalog()
      await insertEntity(catalog, 'plans')
      await insertEntity(catalog, 'subscribers', { sid: 7, aid: 3 })
      for (const group of [
        { name: 'TOPUP20', external_id: 44 },
        { name: 'TOPUP50' },
        { name: 'DATA' },
      ]) {
        const more = { description: 'x', operation: 'inc', include: INCLUDE, from: '2026-01-01' }
        await insertEntity(catalog, 'prepaidgroups', { ...more, ...group })
      }
    },
    reset: emptied(server, 'autorenew', 'audit'),
  }
}

/** Sessions `one`, `two` and `three` of three subscribers. */
export function sessions(): SetUp {
  const server = useActionServer(ACTIONS, {}, { hasLedger: true })
  const expiresMs = Date.UTC(2100, 0, 1)
  const open = (aid: number, sid: number, sessionId: string, origin: string, atMs = expiresMs) =>
    openSession(server.ledger(), { aid, sid, sessionId, origin }, 100, atMs)
  return {
    server,
    prepare: () => insertEntity(server.catalog(), 'subscribers', { aid: 7, sid: 70 }),
    async reset() {
      server.at(NOW_MS)
      await emptyLedger(server.ledger())
      for (const sid of [70, 71, 80]) {
        await topUp(server.ledger(), Math.floor(sid / 10), sid, 1_000, `${sid}`)
      }
      await open(7, 70, 'one', 'diameter:net/gy')
      await open(7, 71, 'two', 'http')
      await open(8, 80, 'three', 'http', expiresMs + 1)
    },
    verbs: {
      async many(_world: World, count: number) {
        await topUp(server.ledger(), 9, 90, 1_000_000, 'many')
        for (let index = 0; index < count; index += 1) await open(9, 90, `s${index}`, 'http')
      },
      /** All pages have each session once. */
      async pages(_world: World, filter: Fields, total: number, size = 1) {
        const seen: unknown[] = []
        let after: unknown
        do {
          const params = { ...filter, size, ...(after !== undefined && { after }) }
          const answer = await server.ask('sessions', params, { method: 'GET', as: 'query' })
          seen.push(...(answer['details'] as Fields[]).map((each) => each['session_id']))
          after = answer['next']
        } while (after !== null)
        expect([seen.length, new Set(seen).size]).toEqual([total, total])
      },
    },
  }
}

/** Subscribers 70 with postpaid usage and 71 with 3,000 units. */
export function quote(): SetUp {
  const server = useActionServer(ACTIONS, {}, { hasLedger: true })
  return {
    server,
    async prepare() {
      const catalog = server.catalog()
      await insertEntity(catalog, 'rates')
      await insertEntity(catalog, 'plans')
      await insertEntity(catalog, 'plans', { name: 'POSTPAID', connection_type: 'postpaid' })
      await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, plan: 'POSTPAID' })
      await insertEntity(catalog, 'subscribers', { aid: 7, sid: 71 })
      await topUp(server.ledger(), 7, 71, 3_000, 'units')
    },
    variablesOf: quoteCases,
  }
}

/** Lines of the plan SURF. */
export function quoteComparison(): SetUp {
  const server = useActionServer(ACTIONS)
  const line = (stamp: string, minute: number, more: Fields = {}) => ({
    ...{ stamp, type: 'realtime', plan: 'SURF', aid: 7, sid: 70, called_number: '' },
    ...{ urt: new Date(Date.UTC(2026, 4, 1, 12, minute)), usaget: 'data', arate_key: 'DATA' },
    ...{ usagev: 2_048, priced_usagev: 2_048, aprice: 0.02, final_charge: 0.02 },
    ...more,
  })
  return {
    server,
    async prepare() {
      const catalog = server.catalog()
      await insertEntity(catalog, 'rates')
      const rate = [{ from: 0, to: 'UNLIMITED', interval: 1, price: 0.5 }]
      await insertEntity(catalog, 'rates', { key: 'CALL', rates: { call: { BASE: { rate } } } })
      const groups = { DATA: { value: 100_000, usage_types: { data: {} } } }
      await insertEntity(catalog, 'plans', { name: 'SURF', include: { groups } })
      await insertEntity(catalog, 'subscribers', { aid: 7, sid: 70, plan: 'SURF' })
      await catalog.lines.insertMany([
        line('all-priced', 1),
        line('partly-included', 2, { usagev: 4_096, priced_usagev: 1_024, aprice: 0.01 }),
        line('included', 3, { priced_usagev: 0, aprice: 0, final_charge: 0 }),
        line('a-call', 4, { usaget: 'call', usagev: 2, priced_usagev: 2, arate_key: 'CALL' }),
        line('without-subscriber', 5, { sid: 71 }),
        line('unused', 6, { usagev: 0, priced_usagev: 0 }),
        line('top-up', 7, { type: 'balance' }),
        line('other-plan', 8, { plan: 'OTHER' }),
      ] as never)
    },
    variablesOf: quoteCases,
  }
}

const quoteCases = () => ({
  story: quoteCaseOf(),
  silent: prepaid(1, { name: 'silent' }),
  call: call(1),
})

/** Customers to find, and plans and subscribers that refer to others. */
export function search(): SetUp {
  const server = useActionServer(ACTIONS, { TOLLGATE_AUDIT_READS: 'subscribers,accounts' })
  const ordinary = { rev: 1, from: new Date(0), to: new Date('2170-01-01') }
  const past = { to: new Date(NOW_MS - 1) }
  const ada = { aid: 17, sid: 171, firstname: 'Ada', lastname: 'McByron', plan: 'ADA' }
  const numbered = (first: number, count: number, fields: object) =>
    Array.from({ length: count }, (_, index) => ({ sid: first + index, ...fields }))
  const customers = [
    { ...ada, msisdn: '447700900123', imsi: ['234150000000001'] },
    { aid: 18, sid: 17, msisdn: '+4915112345', firstname: 'Élodie', lastname: 'ada' },
    { aid: 19, sid: 191, firstname: 'Adam', ...past },
    { aid: 19, sid: 192, firstname: 'Adamski', deleted: true },
    { type: 'account', aid: 17, email: 'Ada@Example.org' },
    ...numbered(1_000, 30, { aid: 20, lastname: 'Zimmer' }),
    { aid: 1, sid: 11, plan: 'GOLD', services: [{ name: 'TV' }] },
    { aid: 1, sid: 12, plan: 'GOLD', ...past },
    { aid: 1, sid: 13, plan: 'GOLD', deleted: true },
    { aid: 1, sid: 14, plan: 'GOLD', from: new Date(NOW_MS + 60_000) },
    { type: 'account', aid: 1, services: [{ name: 'TV' }] },
    ...numbered(2_000, 101, { aid: 2, plan: 'CROWDED' }),
  ]
  const calls = { rates: { CALL: { call: {} } } }
  const plans = [
    { name: 'GOLD', include: { services: ['TV'] }, ...calls },
    { name: 'GOLD', from: new Date(1), tax: [{ custom_tax: 'REDUCED' }] },
    { name: 'OLD', ...calls, ...past },
    { name: 'SMALL', pp_threshold: { 7: 100 } },
  ]
  return {
    server,
    async prepare() {
      const all = customers.map((each) => ({ type: 'subscriber', ...ordinary, ...each }))
      await server.catalog().subscribers.insertMany(all as never[])
      await server
        .catalog()
        .plans.insertMany(plans.map((each) => ({ ...ordinary, ...each })) as never)
    },
  }
}

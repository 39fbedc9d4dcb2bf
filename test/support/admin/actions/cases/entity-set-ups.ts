/** Set-ups of the entity API: an action is `collection/action`. */
import { expect } from 'vitest'
import { DEFINITIONS } from '../../../../../src/entities/definitions/collections.ts'
import { eventWith, storeEvents } from '../../../catalog/events.ts'
import {
  type ApiServer,
  idOf,
  isRefusedBy,
  periods,
  stored,
  useApiServer,
} from '../../../entities/api/api-server.ts'
import { makeAny, ORDINARY } from '../../../entities/api/creators.ts'
import type { Fields } from '../action-server.ts'
import type { SetUp } from './set-up.ts'
import { type CaseServer, shown, type World } from './steps.ts'
import { requireMatch } from './tags.ts'

/** The address of a revision: an id, or a query. */
type Address = string | Fields
type Refusal = readonly [code: number, ...parts: unknown[]]
const queryOf = (address: Address) => (typeof address === 'string' ? { _id: address } : address)

/** Entities, and the revisions `$r0`, `$r1`… of the plan `$plan`. */
export function entities(): SetUp {
  const world = useApiServer()
  const ask: CaseServer['ask'] = async (name, params, { as = 'form' } = {}) => {
    const { http, text, body } = await world.call(...pathOf(name), params, as)
    return { ...(body as unknown as Fields), http, text, headers: new Headers() }
  }
  const server: CaseServer = {
    ask,
    catalog: () => world.stores().catalog,
    ledger: () => world.stores().ledger,
    mongo: () => world.stores().mongo,
    now: world.now,
    at: (ms) => world.setNow(new Date(ms).toISOString()),
  }
  async function make({ variables }: World, name: string, collection: string, fields: Fields) {
    const body = await makeAny(world, collection, fields)
    const key = DEFINITIONS.get(collection)?.keyField ?? ''
    variables.set(name, idOf(body)).set(`${name}_key`, body.entity[key])
    return body
  }
  const mandatory = Array.from({ length: 30 }, (_, index) => `f${index}`)
  return {
    server,
    variablesOf: () => ({
      thirtyFields: mandatory.map((name) => ({ field_name: name, type: 'text', mandatory: true })),
      thirtyMandatory: mandatory.map((name) => `${name} is mandatory`).join('; '),
    }),
    verbs: {
      ...revisionVerbs(world),
      ...refusalVerbs(world),
      /** A complete entity with these fields; its id in a variable, and its key in `$name_key`. */
      make,
      configure: (_world: World, ...change: Parameters<typeof world.configure>) =>
        world.configure(...change),
      /** Values are different, and like the first one. */
      distinct(_world: World, form: unknown, ...values: readonly unknown[]) {
        expect(values.map(String)).toEqual(values.map(() => form))
        expect(new Set(values).size).toBe(values.length)
      },
      /** A write that succeeds. */
      async ok(_world: World, name: string, address: Address, update: Fields, expected = {}) {
        const params = { query: queryOf(address), update }
        requireMatch(shown(await world.ok(...pathOf(name), params)), expected, name)
      },
      /** A subscriber `$sid` of the account `$aid` since 2025, and its invoices. */
      async customer(all: World, ...invoices: readonly Fields[]) {
        const from = '2025-02-01'
        const account = await make(all, 'account', 'accounts', { from })
        await make(all, 'gold', 'plans', { from })
        const aid = Number(account.entity['aid'])
        const own = { aid, plan: all.variables.get('gold_key'), from }
        const { entity } = await make(all, 'first', 'subscribers', own)
        all.variables.set('aid', aid).set('sid', entity['sid'])
        const documents = invoices.map((invoice) => ({ aid, ...invoice }))
        if (documents.length > 0) {
          await world.stores().catalog.billrun.insertMany(documents as never)
        }
      },
    },
  }
}

type Verbs = NonNullable<SetUp['verbs']>

function revisionVerbs(world: ApiServer): Verbs {
  const plan = ({ variables }: World) => ({ name: variables.get('plan') })
  return {
    event: (_world: World, stamp: string, fields: Fields) =>
      storeEvents(world.stores().catalog, eventWith(stamp, fields)),
    events(_world: World, count: number, fields: Fields) {
      const all = Array.from({ length: count }, (_, index) => eventWith(`m${index}`, fields))
      return storeEvents(world.stores().catalog, ...all)
    },
    /** Periods of a plan, `begin` or `begin end`; after a gap the first revision is reopened. */
    async revisions({ variables }: World, ...spans: readonly string[]) {
      const [first = '', ...rest] = spans
      const [from, to] = first.split(' ')
      const body = await makeAny(world, 'plans', { from, ...(to && { to }), description: 'r0' })
      variables.set('plan', body.entity['name']).set('r0', idOf(body))
      for (const [index, span] of rest.entries()) {
        const [begin, end] = span.split(' ')
        const action = spans[index]?.includes(' ') ? 'reopen' : 'closeandnew'
        const query = { _id: variables.get(`r${index}`) }
        const update = { from: begin, description: `r${index + 1}` }
        const next = idOf(await world.ok('plans', action, { query, update }))
        variables.set(`r${index + 1}`, next)
        if (!end) continue
        await world.ok('plans', 'close', { query: { _id: next }, update: { to: end } })
      }
    },
    /** The revisions of the plan have these periods; an open end is `-`. */
    periods: async (all: World, ...expected: readonly unknown[]) =>
      expect(await periods(world, 'plans', plan(all))).toEqual(expected),
    async described(all: World, ...expected: readonly unknown[]) {
      const found = await stored(world, 'plans', plan(all))
      expect(found.map(({ description }) => description)).toEqual(expected)
    },
  }
}

function refusalVerbs(world: ApiServer): Verbs {
  return {
    /** An error of shape A, with its display code and parts of its text. */
    refused: (_world: World, name: string, params: Fields, refusal: Refusal) =>
      isRefusedBy(world, pathOf(name), params, refusal),
    /** The same for a write. */
    no: (_world: World, name: string, address: Address, update: Fields, refusal: Refusal) =>
      isRefusedBy(world, pathOf(name), { query: queryOf(address), update }, refusal),
    /** A refusal of any shape. */
    anyError: async (_world: World, name: string, params: Fields, expected = {}) =>
      requireMatch(await world.refused(...pathOf(name), params), expected, name),
    /** A body as it is. */
    async post(_world: World, name: string, body: string, expected: Fields) {
      const headers = { 'Content-Type': 'application/json' }
      const answer = await world.send(`/billapi/${name}`, { method: 'POST', headers, body })
      expect(answer.http).toBe(200)
      requireMatch(answer.body, expected, name)
    },
    /** An error about an entity that is not found or needed, with parts of its text. */
    async fails(_world: World, name: string, params: Fields, ...parts: string[]) {
      const body = await world.refused(...pathOf(name), params)
      expect(Object.keys(body)).toEqual(['status', 'code', 'data', 'errors'])
      expect(body.code).toBe(500)
      for (const part of parts) expect(body.data.message).toContain(part)
    },
    /** A complete `create` with these fields is refused. */
    notMade: (_world: World, collection: string, fields: Fields, refusal: Refusal) => {
      const update = { from: '2026-01-01', ...ORDINARY[collection]?.(), ...fields }
      return isRefusedBy(world, [collection, 'create'], { update }, refusal)
    },
  }
}

/** With confirmed cycles until March 2026. */
export function confirmedCycles(): SetUp {
  const setUp = entities()
  const cycles = [{ billed: 1 }, { billed: 1 }, { billed: 2 }, {}]
  const documents = cycles.map((each, index) => ({
    ...{ aid: 1_000_000, billrun_key: `20260${index + 2}`, ...each },
  }))
  const prepare = () => setUp.server.catalog().billrun.insertMany(documents as never)
  return { ...setUp, prepare }
}

function pathOf(name: string): [collection: string, action: string] {
  const [collection = '', action = ''] = name.split('/')
  return [collection, action]
}

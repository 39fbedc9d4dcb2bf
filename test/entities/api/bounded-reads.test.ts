/**
 * How many documents of the store reads examine: a count does not depend on the speed of the
 * machine.
 */
import { request } from 'node:http'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fields, NOW, useApiServer } from '../../support/entities/api/api-server.ts'

const ACCOUNTS = 12_000
/** Accounts with a subscriber each; every hundredth one begins later. */
const SUBSCRIBERS = 3_000
const DAY_MS = 86_400_000

const world = useApiServer()
let client: MongoClient

beforeAll(async () => {
  const { catalog, mongo } = world.stores()
  client = await new MongoClient(mongo.url).connect()
  const at = (days: number) => new Date(Date.parse(NOW) + days * DAY_MS)
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => ({
    type: 'account',
    aid: index + 1,
    rev: index + 1,
    from: at(isLater(index) ? 10 : -10),
    to: at(10_000),
    lastname: `L${(index * 7919) % ACCOUNTS}`,
  }))
  const subscribers = Array.from({ length: SUBSCRIBERS }, (_, index) => ({
    type: 'subscriber',
    sid: ACCOUNTS + index + 1,
    aid: index + 1,
    plan: 'P',
    from: at(isLater(index) ? 10 : -10),
    to: at(10_000),
    rev: ACCOUNTS + index + 1,
  }))
  const documents = [...accounts, ...subscribers] as never[]
  for (let from = 0; from < documents.length; from += 5000) {
    await catalog.subscribers.insertMany(documents.slice(from, from + 5000))
  }
})

afterAll(() => client.close())

function isLater(index: number): boolean {
  return index % 100 === 99
}

async function examined(): Promise<number> {
  const { metrics } = await client.db(world.stores().mongo.database).command({ serverStatus: 1 })
  return metrics.queryExecutor.scannedObjects
}

async function read(collection: string, params: Fields, action = 'uniqueget') {
  const before = await examined()
  const body = await world.ok(collection, action, { project: { aid: 1, sid: 1 }, ...params })
  const rows = body.details as { aid: number; sid: number }[]
  return { rows, more: body.next_page, examined: (await examined()) - before }
}

describe('uniqueget', () => {
  it('finds the few entities of a state with one scan of all', async () => {
    const found = await read('accounts', { states: [1], size: 50 })
    const expected = Array.from({ length: 50 }, (_, index) => (index + 1) * 100)
    expect(found.rows.map(({ aid }) => aid)).toEqual(expected)
    expect(found.more).toBe(true)
    expect(found.examined).toBeLessThan(3 * ACCOUNTS)
  })

  it.each([[[0]], [[0, 1]], [[0, 1, 2]]])(
    'with states %j examines about a page',
    async (states) => {
      const found = await read('accounts', { states, size: 50 })
      expect(found.rows).toHaveLength(50)
      expect(found.examined).toBeLessThan(200)
    },
  )

  it.each([1, -1])('in the order of the key, %i, examines about a page', async (aid) => {
    const found = await read('accounts', { sort: { aid }, states: [0, 1], size: 5 })
    const from = aid === 1 ? [1, 2, 3, 4, 5] : [0, 1, 2, 3, 4].map((less) => ACCOUNTS - less)
    expect(found.rows.map((row) => row.aid)).toEqual(from)
    expect(found.examined).toBeLessThan(100)
  })

  it('scans once if no entity is in the state', async () => {
    const found = await read('accounts', { states: [2], size: 50 })
    expect(found.rows).toEqual([])
    expect(found.examined).toBeLessThan(3 * ACCOUNTS)
  })

  it.each([[[1]], [[2]], [[0, 1]], [[0, 1, 2]]])(
    'with states %j sorts by a field without index',
    async (states) => {
      const sort = { lastname: 1 }
      const found = await read('accounts', { states, sort, size: 50 })
      expect(found.examined).toBeLessThan(4 * (ACCOUNTS + SUBSCRIBERS))
      const next = await read('accounts', { states, sort, size: 50, page: 1 })
      const shown = new Set([...found.rows, ...next.rows].map(({ aid }) => aid))
      expect(shown.size).toBe(found.rows.length + next.rows.length)
    },
  )

  it('returns complete, disjoint pages in the order of the key', async () => {
    const seen: number[] = []
    for (let page = 0; ; page += 1) {
      const found = await read('accounts', { states: [1], size: 37, page })
      seen.push(...found.rows.map(({ aid }) => aid))
      if (!found.more) break
    }
    expect(seen).toEqual(Array.from({ length: ACCOUNTS / 100 }, (_, index) => (index + 1) * 100))
  })
})

describe('reads of subscribers', () => {
  it.each(['get', 'uniqueget'])('%s by number does not scan the accounts', async (action) => {
    const found = await read('subscribers', { sort: { sid: 1 }, size: 50 }, action)
    expect(found.rows[0]?.sid).toBe(ACCOUNTS + 1)
    expect(found.examined).toBeLessThan(200)
  })

  it('uniqueget by account and by number examines only these', async () => {
    expect((await read('subscribers', { query: { aid: 7 } })).examined).toBeLessThan(5)
    const one = await read('subscribers', { query: { sid: ACCOUNTS + 7 }, states: [0, 1, 2] })
    expect(one.examined).toBeLessThan(5)
  })
})

describe('a client that disconnects', () => {
  const nobody = encodeURIComponent(JSON.stringify({ lastname: { $regex: 'nobody' } }))
  const sort = encodeURIComponent(JSON.stringify({ country: 1 }))

  it.each(['get', 'uniqueget'])('stops the query of %s in the store', async (action) => {
    const path = `/billapi/accounts/${action}?query=${nobody}&sort=${sort}`
    const before = await examined()
    const asked = request(`${world.urls[0]}${path}`).end()
    const disconnected = new Promise((resolve) => asked.once('error', resolve))
    while ((await examined()) === before);
    asked.destroy()
    await disconnected
    let last = await examined()
    for (;;) {
      const now = await examined()
      if (now === last) break
      last = now
    }
    expect(last - before).toBeLessThan(ACCOUNTS)
    // The connection stays usable for others.
    expect((await read('accounts', { query: { aid: 1 } })).rows).toHaveLength(1)
  })
})

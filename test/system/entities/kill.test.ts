/** `kill -9` of the admin process while clients write over the entity API. */
// covers: src/entities/ packages/embedded-mongo/src/
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { PATIENT } from '../../support/product/patience.ts'
import { populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { seedOf } from '../../support/system/audited.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  createAccount,
  createSubscriber,
  entityClient,
  nowOf,
  pricePer,
} from '../../support/system/entities/client.ts'
import {
  FOREVER_FROM_MS,
  type OwnRate,
  repeatTopUp,
  shownMs,
  type Truth,
  writeUntilCut,
} from '../../support/system/entities/writers.ts'
import { type Fields, withCatalog } from '../../support/system/exchange.ts'
import { Random } from '../../support/system/random.ts'
import { withRecentLogs } from '../../support/system/recent-logs.ts'
import { waitUntil } from '../../support/wait.ts'

const seed = seedOf()
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const CLIENTS = 8
const SHARED = ['SHARED_A', 'SHARED_B']
const UNIT = 1_000_000

let product: Product
let truth: Truth

beforeAll(async () => {
  product = await startProduct({ appendfsync: 'always', environment: PATIENT })
  await populate({ ...product, subscribers: 0, subscribersPerAccount: 1, credits: [] })
  await product.start('admin')
  truth = await createAll()
})
afterAll(() => product?.stop())

async function createAll(): Promise<Truth> {
  const client = entityClient(product.adminUrl)
  const createRate = (key: string) => {
    const rates = { data: pricePer(1, 0.001) }
    const terms = { from: '2020-01-01', tariff_category: 'retail', pricing_method: 'tiered' }
    return client.done('rates/create', { update: { ...terms, key, rates } })
  }
  const own: OwnRate[] = []
  for (let index = 0; index < CLIENTS; index += 1) {
    const key = `OWN_${index}`
    const { entity } = await createRate(key)
    own.push({ key, last: null, nextMs: shownMs(entity['from']), closes: new Map() })
  }
  for (const key of SHARED) await createRate(key)
  const accounts = [0, 0, 0]
  for (const index of accounts.keys()) accounts[index] = await createAccount(client)
  const sids: number[] = []
  // Only two, so that moves and top-ups of the same subscriber overlap.
  for (let index = 0; index < 2; index += 1) {
    const fields = { plan: 'DEMO_PREPAID', msisdn: `4470${index}` }
    sids.push((await createSubscriber(client, accounts[index] as number, fields)).sid)
  }
  return {
    own,
    accounts,
    sids,
    topUps: [],
    unanswered: 0,
    written: 0,
    shared: new Map(SHARED.map((key) => [key, []])),
    credited: new Map(),
    created: new Map(),
  }
}

interface Revision {
  id: string
  fromMs: number
  toMs: number
  description: unknown
}

/** Revisions ordered by begin. */
async function revisionsOf(
  catalog: Catalog,
  collection: 'rates' | 'subscribers',
  filter: Fields,
): Promise<Revision[]> {
  const documents = catalog[collection] as unknown as Catalog['rates']
  const found = await documents.find({ ...filter, deleted: { $ne: true } } as object).toArray()
  return found
    .map(({ _id, from, to, ...rest }) => ({
      id: _id.toHexString(),
      fromMs: from.getTime(),
      toMs: to.getTime(),
      description: (rest as Fields)['description'],
    }))
    .sort((a, b) => a.fromMs - b.fromMs)
}

/** Errors in a sequence of revisions; a gap is permitted where one was closed. */
function revisionErrors(
  revisions: readonly Revision[],
  mayEnd: (atMs: number) => boolean,
): string[] {
  return revisions.flatMap(({ fromMs, toMs }, index) => {
    const next = revisions[index + 1]
    const isLast = next === undefined
    if (toMs <= fromMs) return [`${fromMs} is empty`]
    if (isLast) return toMs > FOREVER_FROM_MS || mayEnd(toMs) ? [] : [`ends at ${toMs}`]
    if (toMs > next.fromMs) return [`${fromMs} overlaps ${next.fromMs}`]
    return toMs === next.fromMs || mayEnd(toMs) ? [] : [`gap from ${toMs} to ${next.fromMs}`]
  })
}

async function checkOwn(catalog: Catalog, own: OwnRate): Promise<void> {
  const revisions = await revisionsOf(catalog, 'rates', { key: own.key })
  expect(revisionErrors(revisions, (atMs) => own.closes.has(atMs))).toEqual([])
  const { last, closes } = own
  // The last write is completely known if it was answered.
  if (last !== null) expect(revisions.at(-1)).toMatchObject(last)
  for (const [atMs, isAcknowledged] of closes) {
    if (!isAcknowledged) continue
    expect(revisions.some(({ toMs }) => toMs === atMs)).toBe(true)
    expect(revisions.some(({ fromMs }) => fromMs === atMs)).toBe(false)
  }
  const { id = '', fromMs = 0, toMs = 0 } = revisions.at(-1) ?? {}
  own.last = { id, fromMs, toMs }
}

async function checkEntities(catalog: Catalog): Promise<void> {
  for (const own of truth.own) await checkOwn(catalog, own)
  for (const [key, marks] of truth.shared) {
    const revisions = await revisionsOf(catalog, 'rates', { key })
    expect(revisionErrors(revisions, () => false)).toEqual([])
    const descriptions = new Set(revisions.map(({ description }) => description))
    expect(marks.filter((mark) => !descriptions.has(mark))).toEqual([])
  }
  for (const sid of truth.sids) {
    const revisions = await revisionsOf(catalog, 'subscribers', { type: 'subscriber', sid })
    expect(revisionErrors(revisions, () => false)).toEqual([])
  }
  for (const [msisdn, sid] of truth.created) {
    const found = await catalog.subscribers.find({ msisdn } as object).toArray()
    const expected = sid === null ? found.slice(0, 1) : [expect.objectContaining({ sid })]
    expect(found).toEqual(expected)
  }
}

/** Each subscriber has its acknowledged credit, in its current account. */
async function checkCredit(): Promise<void> {
  const client = entityClient(product.adminUrl)
  const { topUps, sids, accounts } = truth
  // Writes of unknown outcome are repeated in case they were not begun.
  for (const [index, sid] of sids.entries()) {
    const aid = accounts[(index + truth.written) % accounts.length]
    await client.done('subscribers/closeandnew', { query: nowOf({ sid }), update: { aid } })
  }
  for (const one of topUps) {
    await waitUntil(`top-up ${one.key}`, () => repeatTopUp(client, truth, one))
  }
  for (const sid of sids) {
    const { details } = await client.done('subscribers/uniqueget', { query: { sid } })
    const [subscriber = {}] = details as Fields[]
    const balances = await client.rows('balances', { sid })
    const free = (truth.credited.get(sid) ?? 0) * UNIT
    const aids = new Set(balances.map(({ aid }) => aid))
    expect(aids).toEqual(new Set(free === 0 ? [] : [subscriber['aid']]))
    expect(balances.reduce((sum, one) => sum + Number(one['free']), 0)).toBe(free)
  }
}

async function checkAll(): Promise<void> {
  await withCatalog(product, checkEntities)
  await waitUntil('no outbox entry', () =>
    withCatalog(product, async ({ outbox }) => (await outbox.countDocuments()) === 0),
  )
  await checkCredit()
  expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
}

describe(`kill -9 of admin while clients write, seed ${seed}`, () => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    it(`round ${round}: begun writes are complete, acknowledged writes are stored`, async () => {
      const random = new Random(seed + round)
      Object.assign(truth, { unanswered: 0, written: 0 })
      const client = entityClient(product.adminUrl)
      const writers = Array.from({ length: CLIENTS }, (_, index) =>
        writeUntilCut(client, truth, new Random(random.below(2 ** 31)), index),
      )
      const kill = (async () => {
        await waitUntil('some writes', () => truth.written > 5 * CLIENTS)
        await pause(random.between(50, 1_500))
        await product.kill9('admin')
      })()
      await withRecentLogs(product, Promise.all([...writers, kill]))
      expect(truth.unanswered).toBe(CLIENTS)
      await product.start('admin')
      await checkAll()
    })
  }
})

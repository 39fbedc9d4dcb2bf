/** Intents of a dead process are recovered before the control plane is ready. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { LATE_WRITES_MAX } from '../../../src/catalog/revisions/revisions.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { entityClient, pricePer } from '../../support/system/entities/client.ts'
import { type Fields, withCatalog } from '../../support/system/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

const MIDDLE = new Date(Date.UTC(2025, 5, 1))

let product: Product

beforeAll(async () => {
  product = await startProduct({ environment: { TOLLGATE_MONGO_TIMEOUT_MS: '500' } })
  await populate({ ...product, subscribers: 0, subscribersPerAccount: 1, credits: [] })
  await product.start('admin')
})
afterAll(() => product?.stop())

/** A process of another machine whose lease has expired. */
const GONE = { holder: { host: 'elsewhere', pid: 1, instance: 'gone' }, expires: new Date(0) }

function lockOf(chain: string, change: Fields): Fields {
  return { _id: chain, group: chain, first: chain, token: 't', ...GONE, change }
}

/** Leaves a closeandnew of a rate with `done` of its two writes done. */
async function leaveHalf(catalog: Catalog, key: string, done: number): Promise<void> {
  const old = await catalog.rates.findOne({ key })
  if (old === null) throw new Error('not created')
  const { rev } = old
  const next = { ...old, _id: new ObjectId(), rev: 0, from: MIDDLE }
  const cut = { ...old, to: MIDDLE }
  if (done > 0) await catalog.rates.insertOne({ ...next, rev: rev + LATE_WRITES_MAX })
  if (done > 1) await catalog.rates.replaceOne({ _id: old._id }, { ...cut, rev: rev + 1 })
  const steps = [
    { mode: 'insert', document: next },
    { mode: 'replace', document: cut, expectedRev: rev },
  ]
  const change = { collection: 'rates', steps, owners: [], sequel: null }
  await catalog.entitylocks.insertOne(lockOf(`rates/${key}`, change) as never)
}

async function createRate(key: string): Promise<void> {
  const terms = { from: '2020-01-01', tariff_category: 'retail', pricing_method: 'tiered' }
  const update = { ...terms, key, rates: { data: pricePer(1, 0.001) } }
  await entityClient(product.adminUrl).done('rates/create', { update })
}

const periodsOf = (key: string) =>
  withCatalog(product, async (catalog) => {
    const found = await catalog.rates.find({ key }).sort({ from: 1 }).toArray()
    return found.map(({ from, to }) => [from, to])
  })

const WHOLE = [
  [new Date(Date.UTC(2020, 0, 1)), MIDDLE],
  [MIDDLE, new Date(FOREVER_MS)],
]

describe('an interrupted change', () => {
  it('is complete when the process is ready, beside one that cannot be finished', async () => {
    const keys = ['HALF_0', 'HALF_1', 'HALF_2']
    for (const key of keys) await createRate(key)
    await product.kill9('admin')
    await withCatalog(product, async (catalog) => {
      const sequel = { sid: 1, fromAid: 1, toAid: 2, operationId: 'damaged' }
      const damaged = { collection: 'rates', steps: [], owners: [], sequel }
      await catalog.entitylocks.insertOne(lockOf('rates/A_FIRST_ONE', damaged) as never)
      for (const [done, key] of keys.entries()) await leaveHalf(catalog, key, done)
    })
    await product.start('admin')
    for (const key of keys) expect(await periodsOf(key)).toEqual(WHOLE)
    const left = await withCatalog(product, ({ entitylocks }) => entitylocks.find().toArray())
    // Its follow-up operation is kept, and the entity is unlocked.
    expect(left.map(({ _id }) => _id)).toEqual([expect.stringMatching(/^unfinished\//)])
    await withCatalog(product, ({ entitylocks }) => entitylocks.deleteMany({}))
  })

  it.skipIf(process.env['TEST_MONGO_URL'])('is recovered once MongoDB is back', async () => {
    await createRate('LATER')
    await product.kill9('admin')
    await withCatalog(product, (catalog) => leaveHalf(catalog, 'LATER', 1))
    await product.kill9('mongo')
    const ready = product.start('admin')
    const health = async (path: string) => {
      const answer = await fetch(`${product.adminUrl}/health/${path}`).catch(() => null)
      return answer === null ? '' : answer.text()
    }
    await waitUntil('it is running', async () => (await health('live')).includes('live'))
    expect(JSON.parse(await health('ready'))).toMatchObject({
      status: 'unavailable',
      mongo: 'unavailable',
      changes: 'unfinished',
    })
    await product.start('mongo')
    await ready
    expect(await periodsOf('LATER')).toEqual(WHOLE)
  })
})

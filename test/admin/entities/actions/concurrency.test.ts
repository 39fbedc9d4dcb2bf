import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recoverAbandoned } from '../../../../src/catalog/revisions/entity-changes.ts'
import { LATE_WRITES_MAX } from '../../../../src/catalog/revisions/revisions.ts'
import { FOREVER_MS } from '../../../../src/domain/time.ts'
import {
  act,
  at,
  periodsOf,
  RATE,
  storesOf,
  YEAR_MS,
} from '../../../support/admin/entities/actions/entity-fixture.ts'
import { startTestStores, type TestStores } from '../../../support/recorder/accounts.ts'

let open: TestStores
beforeAll(async () => {
  open = await startTestStores()
})
afterAll(() => open.close())

const DAY_MS = 86_400_000

describe('concurrent actions on one entity', () => {
  it('never leave a gap or overlapping revisions: 25 closeandnew', async () => {
    const stores = storesOf(open)
    await act(stores, 'rates', 'create', { set: { key: 'MANY', ...RATE }, from: at('2026-01-01') })
    const days = Array.from({ length: 25 }, (_, day) => day + 1).sort(() => Math.random() - 0.5)
    const results = await Promise.allSettled(
      days.map((day) =>
        act(stores, 'rates', 'closeandnew', {
          target: { key: 'MANY', effective_date: new Date(YEAR_MS + day * DAY_MS) },
          from: new Date(YEAR_MS + day * DAY_MS),
          set: { description: `day ${day}` },
        }),
      ),
    )
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
    const periods = await periodsOf(stores, 'MANY')
    expect(periods).toHaveLength(26)
    for (const [index, [from, to]] of periods.entries()) {
      expect(from.getTime()).toBe(YEAR_MS + index * DAY_MS)
      expect(to.getTime()).toBe(index === 25 ? FOREVER_MS : YEAR_MS + (index + 1) * DAY_MS)
    }
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
  })

  it('create a key once in 20 attempts', async () => {
    const stores = storesOf(open)
    const create = () => act(stores, 'plans', 'create', { set: PLAN, from: at('2026-01-01') })
    const results = await Promise.allSettled(Array.from({ length: 20 }, create))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await open.catalog.plans.countDocuments({ name: 'ONCE' })).toBe(1)
  })
})

const PLAN = {
  name: 'ONCE',
  price: [{ from: 0, to: 'UNLIMITED', price: 1 }],
  recurrence: { frequency: 1, start: 1 },
  upfront: false,
  connection_type: 'prepaid',
}

describe('a change that a dead process has left', () => {
  it.each([0, 1, 2])('is completed after %i of its two writes', async (done) => {
    const stores = storesOf(open)
    const key = `LEFT_${done}`
    await act(stores, 'rates', 'create', { set: { key, ...RATE }, from: at('2026-01-01') })
    const [old] = await open.catalog.rates.find({ key }).toArray()
    if (old === undefined) throw new Error('not created')
    const from = at('2026-06-01')
    const { rev, ...fields } = old
    const { ObjectId } = await import('../../../../src/catalog/collections.ts')
    const next = { ...fields, _id: new ObjectId(), rev: 0, from }
    const cut = { ...old, to: from }
    if (done > 0) await open.catalog.rates.insertOne({ ...next, rev: rev + LATE_WRITES_MAX })
    if (done > 1) await open.catalog.rates.replaceOne({ _id: old._id }, { ...cut, rev: rev + 1 })
    const chain = `rates/${key}`
    await open.catalog.entitylocks.insertOne({
      _id: chain,
      group: `g${done}`,
      first: chain,
      token: 't',
      holder: { host: 'elsewhere', pid: 1, instance: 'gone' },
      expires: new Date(YEAR_MS - 1),
      change: {
        collection: 'rates',
        steps: [
          { mode: 'insert', document: next },
          { mode: 'replace', document: cut, expectedRev: rev },
        ],
        owners: [],
        sequel: null,
      },
    })
    expect(await recoverAbandoned(stores)).toBe(1)
    expect(await periodsOf(stores, key)).toEqual([
      [at('2026-01-01'), from],
      [from, new Date(FOREVER_MS)],
    ])
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
    expect(await recoverAbandoned(stores)).toBe(0)
  })
})

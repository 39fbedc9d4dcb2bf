/**
 * Slow lock holders, changes completed by other processes, and entities that refer to each other.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EntityStores } from '../../../../src/admin/entities/requests/entity-request.ts'
import { createRules } from '../../../../src/admin/entities/rules/rules.ts'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { recoverAbandoned } from '../../../../src/catalog/revisions/entity-changes.ts'
import {
  act,
  at,
  idOf,
  periodsOf,
  RATE,
  storesOf,
  YEAR_MS,
} from '../../../support/admin/entities/actions/entity-fixture.ts'
import { insertEntity } from '../../../support/catalog/store.ts'
import { startTestStores, type TestStores } from '../../../support/recorder/accounts.ts'

let open: TestStores
beforeAll(async () => {
  open = await startTestStores()
})
afterAll(() => open.close())

const PLAN = {
  price: [{ from: 0, to: 'UNLIMITED', price: 1 }],
  recurrence: { frequency: 1, start: 1 },
  upfront: false,
  connection_type: 'prepaid',
}

/** Stores on which something happens, once, before an operation of this name. */
function interrupted(
  stores: EntityStores,
  name: string,
  happens: () => Promise<unknown>,
): EntityStores {
  let isDone = false
  const run: Catalog['run'] = async (what, operation) => {
    if (!isDone && what.startsWith(name)) {
      isDone = true
      await happens()
    }
    return stores.catalog.run(what, operation)
  }
  return { ...stores, catalog: { ...stores.catalog, run } }
}

describe('a lock holder that was overtaken', () => {
  it('does not create what another process has created meanwhile', async () => {
    const stores = storesOf(open)
    const set = { name: 'SLOW', ...PLAN }
    const slow = interrupted(stores, 'store an intent', async () => {
      await open.catalog.entitylocks.deleteMany({})
      // Written as by another process, which does not share the queue of this one.
      await insertEntity(open.catalog, 'plans', { ...set, from: at('2026-01-01') })
    })
    const created = act(slow, 'plans', 'create', { set, from: at('2026-01-01') })
    await expect(created).rejects.toThrow(/plans has name SLOW already/)
    expect(await open.catalog.plans.countDocuments({ name: 'SLOW' })).toBe(1)
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
  })

  it('is completed, although its insert arrives during the recovery', async () => {
    const stores = storesOf(open)
    const first = await act(stores, 'rates', 'create', {
      set: { key: 'LATE', ...RATE },
      from: at('2026-01-01'),
    })
    const old = await open.catalog.rates.findOne({ _id: idOf(first) })
    if (old === null) throw new Error('not created')
    const from = at('2026-06-01')
    const next = { ...old, _id: new ObjectId(), rev: 0, from }
    await open.catalog.entitylocks.insertOne({
      _id: 'rates/LATE',
      group: 'g',
      first: 'rates/LATE',
      token: 't',
      holder: { host: 'elsewhere', pid: 1, instance: 'slow' },
      expires: new Date(YEAR_MS - 1),
      change: {
        collection: 'rates',
        owners: [],
        sequel: null,
        steps: [
          { mode: 'insert', document: next },
          { mode: 'replace', document: { ...old, to: from }, expectedRev: old.rev },
        ],
      },
    })
    const repairing = interrupted(stores, 'write into', () =>
      open.catalog.rates.insertOne({ ...next, rev: old.rev + 1 }),
    )
    expect(await recoverAbandoned(repairing)).toBe(1)
    expect(await periodsOf(stores, 'LATE')).toEqual([
      [at('2026-01-01'), from],
      [from, old.to],
    ])
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
  })
})

async function subscriberOf(aid: number, sid: number): Promise<ObjectId> {
  const fields = { sid, aid, from: at('2025-01-01') }
  return (await insertEntity(open.catalog, 'subscribers', fields))._id
}

describe('a follow-up operation of a change', () => {
  it('that fails blocks no other change, and is done later', async () => {
    const stores = storesOf(open)
    const _id = await subscriberOf(70, 71)
    const failing = {
      ...stores,
      runFollowUp: async () => {
        throw new Error('a balance is damaged')
      },
    }
    const moved = await act(failing, 'subscribers', 'update', { target: { _id }, set: { aid: 72 } })
    expect(moved.entity).toMatchObject({ aid: 72 })
    const more = await act(stores, 'subscribers', 'update', { target: { _id }, set: { play: 'P' } })
    expect(more.entity).toMatchObject({ aid: 72, play: 'P' })
    const [kept, ...others] = await open.catalog.entitylocks.find().toArray()
    expect(others).toEqual([])
    expect(kept?.change).toMatchObject({ steps: [], sequel: { sid: 71, fromAid: 70, toAid: 72 } })
    const followed: unknown[] = []
    const later = storesOf(open, YEAR_MS + 60_000)
    const follow = async (sequel: unknown) => {
      followed.push(sequel)
    }
    expect(await recoverAbandoned({ ...later, runFollowUp: follow })).toBe(1)
    expect(followed).toEqual([kept?.change?.sequel])
    expect(await open.catalog.entitylocks.countDocuments()).toBe(0)
  })
})

describe('a subscriber that has been in two accounts', () => {
  async function movedTwice(sid: number) {
    const moves: unknown[] = []
    const stores: EntityStores = {
      ...storesOf(open),
      runFollowUp: async (move) => {
        moves.push(move)
      },
    }
    const target = { _id: await subscriberOf(80, sid) }
    const next = await act(stores, 'subscribers', 'closeandnew', { target, set: { aid: 81 } })
    return { stores, moves, first: target, second: { _id: idOf(next) } }
  }

  it('does not return to the first one at a later date', async () => {
    const { stores, first, second, moves } = await movedTwice(801)
    const back = { target: second, set: { aid: 80 }, from: at('2026-08-01') }
    await expect(act(stores, 'subscribers', 'closeandnew', back)).rejects.toThrow(
      /aid can only change with immediate effect/,
    )
    const edge = { target: first, to: at('2026-07-01') }
    await expect(act(stores, 'subscribers', 'move', edge)).rejects.toThrow(
      /aid can only change with immediate effect/,
    )
    expect(moves).toEqual([expect.objectContaining({ sid: 801, fromAid: 80, toAid: 81 })])
  })

  it('takes its balances along when it is reopened in the first one', async () => {
    const { stores, first, second, moves } = await movedTwice(802)
    await act(stores, 'subscribers', 'close', { target: second, to: new Date(YEAR_MS + 1) })
    const reopened = { target: first, from: at('2026-03-01') }
    const later = { ...stores, clock: { nowMs: () => YEAR_MS + 1000 } }
    await act(later, 'subscribers', 'reopen', reopened)
    expect(moves).toEqual([
      expect.objectContaining({ fromAid: 80, toAid: 81 }),
      expect.objectContaining({ fromAid: 81, toAid: 80 }),
    ])
  })
})

describe('deleting an entity that is about to be used', () => {
  it('never leaves a subscriber on a deleted plan', async () => {
    const rules = createRules({ defaultTax: 'DEFAULT_VAT' })
    const stores = { ...storesOf(open), rules }
    const account = { set: { lastname: 'A' }, from: at('2025-01-01') }
    const { entity } = await act(stores, 'accounts', 'create', account)
    const aid = (entity as Record<string, unknown>)['aid']
    for (let round = 0; round < 8; round += 1) {
      const name = `GOING_${round}`
      const set = { name, ...PLAN }
      const plan = await act(stores, 'plans', 'create', { set, from: at('2025-01-01') })
      const subscriber = { set: { aid, plan: name }, from: at('2026-01-01') }
      const [used, deleted] = await Promise.allSettled([
        act(stores, 'subscribers', 'create', subscriber),
        act(stores, 'plans', 'delete', { target: { _id: idOf(plan) } }),
      ])
      expect([used.status, deleted.status].sort()).toEqual(['fulfilled', 'rejected'])
    }
  })
})

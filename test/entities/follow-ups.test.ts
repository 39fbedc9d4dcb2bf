/** Outbox entries of changes, and entities that refer to each other. */
import { describe, expect, it } from 'vitest'
import type { ObjectId } from '../../src/catalog/collections.ts'
import type { OutboxDocument } from '../../src/catalog/records/outbox-document.ts'
import { createSealer } from '../../src/catalog/sealing/sealing.ts'
import { enqueueOutbox } from '../../src/catalog/transactions/outbox.ts'
import type { EntityStores } from '../../src/entities/requests/entity-request.ts'
import { createRules } from '../../src/entities/rules/rules.ts'
import { insertEntity } from '../support/catalog/store.ts'
import {
  act,
  at,
  expectNoEntries,
  idOf,
  storesOf,
  YEAR_MS,
} from '../support/entities/actions/entity-fixture.ts'
import { useOpened } from '../support/opened.ts'
import { silent, startTestStores } from '../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

const PLAN = {
  price: [{ from: 0, to: 'UNLIMITED', price: 1 }],
  recurrence: { frequency: 1, start: 1 },
  upfront: false,
  connection_type: 'prepaid',
}

async function subscriberOf(aid: number, sid: number): Promise<ObjectId> {
  const fields = { sid, aid, from: at('2025-01-01') }
  return (await insertEntity(open().catalog, 'subscribers', fields))._id
}

/** Stores whose transfers are handled by `transfer`. */
function storesWith(transfer: (move: never) => Promise<void>): EntityStores {
  const stores = storesOf(open())
  stores.catalog.dispatcher.register({ transfer }, silent)
  return stores
}

/** Stores an entry that this process holds. */
function holdMove(sid: number, toAid: number): Promise<OutboxDocument> {
  return open().catalog.transaction('move', async (session) => {
    const payload = { sid, fromAid: 70, toAid, operationId: 'x', buckets: null }
    const entry = { kind: 'transfer', payload, subject: `balances/${sid}`, isHeld: true }
    return enqueueOutbox(session, entry)
  })
}

describe('what follows from a change', () => {
  it('blocks no other change if it fails, and is done later', async () => {
    const _id = await subscriberOf(70, 71)
    const stores = storesWith(async () => {
      throw new Error('a balance is damaged')
    })
    const moved = await act(stores, 'subscribers', 'update', { target: { _id }, set: { aid: 72 } })
    expect(moved.entity).toMatchObject({ aid: 72 })
    const more = await act(stores, 'subscribers', 'update', { target: { _id }, set: { play: 'P' } })
    expect(more.entity).toMatchObject({ aid: 72, play: 'P' })
    const kept = await open().catalog.outbox.findOne({ kind: 'transfer' })
    const payload = { sid: 71, fromAid: 70, toAid: 72 }
    const error = 'transfer: a balance is damaged'
    expect(kept).toMatchObject({ holder: null, failures: 1, error, payload })
    const followed: unknown[] = []
    storesWith(async (move) => {
      followed.push(move)
    })
    await expect.poll(() => open().catalog.dispatcher.recover()).toBe(1)
    expect(followed).toEqual([kept?.payload])
    await expectNoEntries(open().catalog)
  })

  it('waits for an earlier one that a process still does, which is no failure', async () => {
    const done: unknown[] = []
    const { catalog } = open()
    storesWith(async ({ toAid }: { toAid: number }) => {
      done.push(toAid)
    })
    const held = await holdMove(77, 1)
    for (const toAid of [2, 3]) await catalog.dispatcher.release([await holdMove(77, toAid)])
    expect(await catalog.dispatcher.recover()).toBe(0)
    const waiting = { subject: 'balances/77', holder: null, failures: 0 }
    expect(await catalog.outbox.countDocuments(waiting)).toBe(2)
    await catalog.dispatcher.release([held])
    await catalog.dispatcher.recover()
    expect(done).toEqual([1, 2, 3])
    await expectNoEntries(catalog)
  })

  it('is done after the caller has given up waiting for earlier ones', async () => {
    const done: unknown[] = []
    const { catalog } = open()
    storesWith(async ({ toAid }: { toAid: number }) => {
      done.push(toAid)
    })
    const [held, next] = [await holdMove(78, 1), await holdMove(78, 2)]
    const performed = catalog.dispatcher.perform(next, async () => done.push('caller'))
    await expect(performed).rejects.toThrow('balances/78 is being changed by others')
    expect(await catalog.outbox.findOne({ _id: next._id })).toMatchObject({ failures: 0 })
    await catalog.dispatcher.release([held])
    await catalog.dispatcher.recover()
    expect(done).toEqual([1, 2])
    await expectNoEntries(catalog)
  })

  it('is done in the order of the changes of a subscriber', async () => {
    const _id = await subscriberOf(73, 74)
    const moves: unknown[] = []
    const stores = storesWith(async ({ toAid }: { toAid: number }) => {
      moves.push(toAid)
    })
    // The entry of another process that has ended before it could execute it.
    await open().catalog.transaction('move', async (session) => {
      const payload = { sid: 74, fromAid: 72, toAid: 73, operationId: 'x', buckets: null }
      enqueueOutbox(session, { kind: 'transfer', payload, subject: 'balances/74', isHeld: true })
    })
    const released = { holder: null, expires: new Date(0) }
    await open().catalog.outbox.updateOne({ subject: 'balances/74' }, { $set: released })
    await act(stores, 'subscribers', 'update', { target: { _id }, set: { aid: 75 } })
    expect(moves).toEqual([73, 75])
    await expectNoEntries(open().catalog)
  })
})

describe('a subscriber that has been in two accounts', () => {
  async function movedTwice(sid: number) {
    const moves: unknown[] = []
    const stores = storesWith(async (move) => {
      moves.push(move)
    })
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
    const unchecked = storesOf(open())
    const { config } = unchecked
    const stores = { ...unchecked, rules: createRules({ config, sealer: createSealer('') }) }
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

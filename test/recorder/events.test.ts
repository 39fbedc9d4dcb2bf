import { describe, expect, it } from 'vitest'
import type { BalanceEvent } from '../../src/domain/events/event.ts'
import { openStreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { writing } from '../support/ledger/fixture.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { loadOwner, NOW_MS, startTestStores, topUp } from '../support/recorder/accounts.ts'
import { startTestDrain } from '../support/recorder/test-drain.ts'

const stores = useOpened(startTestStores)

function eventOf(sid: number, stamp: string): BalanceEvent {
  return {
    stamp,
    event_type: 'balance',
    event_code: 'HALF',
    event_description: 'half of the group is used',
    matched_path: 'balance.groups.G.usagev',
    before: 40,
    after: 60,
    based_on: 'usage',
    group_total: 100,
    reached_constant: 50,
    reached_constant_percentage: 50,
    creation_ms: NOW_MS,
    aid: sid,
    sid,
    row: { usagev: 20, urt: NOW_MS / 1000, usaget: 'data', stamp: 'line-1' },
    balance: { sid },
    conditions: [
      { type: 'reached_percentage', value: '50', paths: [{ path: 'balance.groups.G.usagev' }] },
    ],
    receiver: { url: 'https://crm.example.net/told' },
  }
}

/** Commits events with the next version of a subscriber. */
async function commit(sid: number, ...events: BalanceEvent[]): Promise<void> {
  const state = await loadOwner(stores().ledger, sid, sid)
  const next = writing({ ...state, version: state.version + 1 })
  const replies = await stores().ledger.commit([{ ...next, events }], NOW_MS)
  expect(replies).toEqual([{ kind: 'committed' }])
}

const stored = (sid: number) =>
  stores().catalog.events.find({ 'extra_params.sid': sid }).sort({ stamp: 1 }).toArray()

describe('events of commits', () => {
  it('are stored as notifications that are to be sent', async () => {
    await topUp(stores().ledger, 1, 1, 1_000, 'op-1')
    const drain = await startTestDrain(stores())
    await commit(1, eventOf(1, 'a'), eventOf(1, 'b'))
    await expect.poll(() => streamBacklog(stores().ledger)).toBe(0)
    await drain.stop(1_000)
    const [first, second, ...more] = await stored(1)
    expect(more).toEqual([])
    expect(second?.stamp).toBe('b')
    const { _id: _, ...document } = first as NonNullable<typeof first>
    const { aid, sid, row, balance, creation_ms: _ms, ...named } = eventOf(1, 'a')
    expect(document).toEqual({
      ...named,
      creation_time: new Date(NOW_MS),
      extra_params: { aid, sid, row },
      balance_ref: balance,
      delivery: { state: 'pending', due: new Date(NOW_MS), attempts: 0 },
    })
  })

  it('stay as they are if their entries are written once more, by another recorder', async () => {
    await topUp(stores().ledger, 2, 2, 1_000, 'op-2')
    await commit(2, eventOf(2, 'c'))
    const reader = await openStreamReader(await stores().connect(), 'killed')
    const { entries } = await reader.read(READ_BYTES, 10)
    const flush = coalesce([...entries, ...entries])
    expect(await writeFlush(stores().catalog, flush, () => '')).toEqual(new Map())
    const change = { $set: { 'delivery.attempts': 3 } }
    await stores().catalog.events.updateOne({ stamp: 'c' }, change)
    // The first recorder was killed before it acknowledged the entries.
    const drain = await startTestDrain(stores())
    await expect.poll(() => streamBacklog(stores().ledger)).toBe(0)
    await drain.stop(1_000)
    expect((await stored(2)).map(({ delivery }) => delivery.attempts)).toEqual([3])
  })

  it('have one document per stamp, whichever recorder inserts it', async () => {
    const again = { ...(await stored(1))[0] }
    delete (again as { _id?: unknown })._id
    await expect(stores().catalog.events.insertOne(again as never)).rejects.toMatchObject({
      code: 11_000,
    })
  })
})

import { expect } from 'vitest'
import type { Line } from '../../../src/domain/line.ts'
import { type Drain, type DrainOptions, startDrain } from '../../../src/recorder/drain.ts'
import { loadOwner, QUICK_DRAIN, type TestStores } from './accounts.ts'

export interface Counts {
  recorded: number
  unreadable: number
}

/** Claims entries of others only after a while. */
export const SLOW_CLAIMS = { blockMs: 20, claimIdleMs: 1_000, claimEveryMs: 500 }

export async function startTestDrain(
  stores: TestStores,
  more: Partial<DrainOptions> = {},
  counts?: Counts,
): Promise<Drain> {
  const ledger = await stores.connect()
  const drain = startDrain({
    ...QUICK_DRAIN,
    ledger,
    catalog: stores.catalog,
    metrics: {
      entriesRecorded: (count) => {
        if (counts) counts.recorded += count
      },
      entriesUnreadable: (count) => {
        if (counts) counts.unreadable += count
      },
      recordOperations: () => undefined,
    },
    blockMs: 50,
    claimIdleMs: 100,
    claimEveryMs: 50,
    ...more,
  })
  return {
    async stop(drainMs) {
      await drain.stop(drainMs)
      await ledger.redis.close()
    },
  }
}

/** The projection of a subscriber equals the ledger, and its lines add up to it. */
export async function expectRecorded(
  stores: TestStores,
  aid: number,
  sid: number,
  lines: readonly Line[],
): Promise<void> {
  const state = await loadOwner(stores.ledger, aid, sid)
  const projected = await stores.catalog.balances.find({ aid, sid }).toArray()
  expect(projected.map(({ v, free, spent }) => ({ v, free, spent }))).toEqual(
    state.buckets.map(({ free, spent }) => ({ v: state.version, free, spent })),
  )
  const stored = await stores.catalog.lines.find({ aid, sid, type: 'realtime' }).toArray()
  const summaryOf = (stamp: string, v: number, usagev: number) => `${stamp} ${v} ${usagev}`
  expect(stored.map((line) => summaryOf(line.stamp, line.v, line.usagev ?? 0)).sort()).toEqual(
    lines.map((line) => summaryOf(line.stamp, line.version, line.counts.used)).sort(),
  )
}

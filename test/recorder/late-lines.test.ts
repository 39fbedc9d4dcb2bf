/** Lines of cycles that are over, and when a cycle is over. */
import { describe, expect, it } from 'vitest'
import type { RealtimeLineDocument } from '../../src/catalog/records/usage/line-document.ts'
import type { Uninvoiced } from '../../src/catalog/records/usage/uninvoiced.ts'
import { changeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import type { Line } from '../../src/domain/line.ts'
import { streamBacklog } from '../../src/ledger/streams.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { type CycleEnds, createCycleEnds } from '../../src/recorder/cycle-ends.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { withFields } from '../support/domain/lines.ts'
import { useOpened } from '../support/opened.ts'
import { lineOf, NOW_MS, startTestStores, topUp, use } from '../support/recorder/accounts.ts'
import { expectRecorded, startTestDrain } from '../support/recorder/test-drain.ts'

const stores = useOpened(startTestStores)

const OVER: CycleEnds = {
  refresh: async () => undefined,
  isOver: () => true,
  nowMs: () => NOW_MS,
}
const OPEN: CycleEnds = { ...OVER, isOver: () => false }

async function write(cycles: CycleEnds, ...lines: Line[]): Promise<number> {
  let duplicates = 0
  const count = (_: number, found: number) => {
    duplicates += found
  }
  const flush = coalesce([{ lines, operations: [], owners: [] }])
  expect(await writeFlush(stores().catalog, flush, () => '', { cycles, count })).toEqual(new Map())
  return duplicates
}
const stored = async (stamp: string) =>
  (await stores().catalog.lines.findOne({ stamp })) as unknown as RealtimeLineDocument & {
    uninvoiced?: Uninvoiced
  }
const version = (stamp: string, number: number, used = number): Line => {
  const amounts = { used, chargedUnits: used, charged: used * 1_000_000 }
  return withFields(lineOf(7, 71, stamp), { version: number, ...amounts })
}

describe('a line of a cycle that is over', () => {
  it('is marked, with what its last version within the cycle charged', async () => {
    await write(OPEN, version('m', 1))
    expect(await stored('m')).not.toHaveProperty('uninvoiced')
    await write(OVER, version('m', 2), version('n', 1))
    expect(await stored('m')).toMatchObject({
      v: 2,
      aprice: 2,
      uninvoiced: { since: new Date(NOW_MS), former: { usagev: 1, exact: { aprice: '1' } } },
    })
    expect((await stored('n')).uninvoiced).toEqual({ since: new Date(NOW_MS), former: null })
    await write(OVER, version('m', 3))
    expect((await stored('m')).uninvoiced?.former).toMatchObject({ usagev: 1 })
  })

  it('is not replaced by an older version, and not written again', async () => {
    await write(OVER, version('o', 3))
    const before = await stored('o')
    expect(await write(OVER, version('o', 3), version('o', 2))).toBe(0)
    expect(await stored('o')).toEqual(before)
  })

  it('is the newest one when several recorders write it at the same time', async () => {
    await write(OPEN, version('p', 1))
    const versions = Array.from({ length: 20 }, (_, index) => version('p', index + 2))
    await Promise.all(versions.map((line) => write(OVER, line)))
    expect(await stored('p')).toMatchObject({ v: 21, uninvoiced: { former: { usagev: 1 } } })
    await Promise.all(versions.map(({ version: number }) => write(OVER, version('q', number))))
    expect(await stored('q')).toMatchObject({ v: 21, uninvoiced: { former: null } })
  })

  it('is the same when a recorder is killed and another one repeats its entries', async () => {
    await topUp(stores().ledger, 8, 81, 1_000, 'op-8')
    const line = await use(stores().ledger, lineOf(8, 81, 'late-1'), 70)
    await write(OVER, line)
    const drain = await startTestDrain(stores(), { cycles: OVER })
    await expect.poll(() => streamBacklog(stores().ledger)).toBe(0)
    await drain.stop(1_000)
    await expectRecorded(stores(), 8, 81, [line])
    expect((await stored(line.stamp)).uninvoiced).toMatchObject({ former: null })
  })
})

describe('the end of a cycle', () => {
  const at = async (instant: string, cycleDay: number, key: string) => {
    const clock = { nowMs: () => Date.parse(instant) }
    const ends = createCycleEnds(stores().catalog, { timeZone: 'UTC', cycleDay }, clock, () => 0)
    await ends.refresh()
    return ends.isOver(key)
  }
  it.each([
    ['2026-06-30T22:59:59Z', 1, '202607', false],
    // Clocks may differ by an hour.
    ['2026-06-30T23:00:00Z', 1, '202607', true],
    ['2026-07-09T22:00:00Z', 10, '202607', false],
    ['2026-07-09T23:00:00Z', 10, '202607', true],
    ['2030-01-01T00:00:00Z', 1, 'none', false],
  ])('at %s with day %i: %s', async (instant, day, key, isOver) => {
    expect(await at(instant, day, key)).toBe(isOver)
  })

  it('is the first day of its month if accounts have days of their own', async () => {
    const by = { by: 'test', nowMs: NOW_MS }
    await changeStoredConfig(stores().catalog, 'billrun', () => ({ multi_day_cycle: true }), by)
    expect(await at('2026-07-01T00:00:00Z', 10, '202607')).toBe(true)
    expect(await at('2026-06-30T22:00:00Z', 10, '202607')).toBe(false)
  })
})

describe('a line that usage extends after its session has expired', () => {
  it('is exported again', async () => {
    const { exportwaiting } = stores().catalog
    const late = (stamp: string, state: Line['state']) => ({
      ...withFields(lineOf(7, 71, stamp), { version: 2, late: true }),
      state,
    })
    const flush = async (isExporting: boolean, ...lines: Line[]) => {
      const records = coalesce([{ lines, operations: [], owners: [] }])
      await writeFlush(stores().catalog, records, () => '', { isExporting })
    }
    await flush(false, late('not exported', 'expired'))
    // A file that is being written has its earlier version.
    await exportwaiting.insertOne({ _id: 'exported', tag: 'file' })
    const onTime = { ...version('on time', 1), state: 'expired' as const }
    await flush(true, late('exported', 'expired'), late('open', 'open'), onTime)
    expect(await exportwaiting.find().toArray()).toEqual([{ _id: 'exported' }])
  })
})

import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../src/catalog/collections.ts'
import { DrainRate, startGauges, startStreamGauges } from '../../src/recorder/gauges.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores, topUp } from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)

describe('the time to drain a backlog', () => {
  it('is that of the rate of the last half minute', () => {
    const rate = new DrainRate()
    expect(rate.secondsFor(0, 0, 0)).toBe(0)
    expect(rate.secondsFor(100, 0, 1_000)).toBe(86_400)
    expect(rate.secondsFor(100, 20, 2_000)).toBe(10)
    for (let second = 3; second < 60; second += 1) rate.secondsFor(100, 20 * second, second * 1_000)
    // Ten times as fast in the last half minute.
    for (let second = 60; second < 90; second += 1) {
      rate.secondsFor(6_000, 1_200 + 200 * (second - 60), second * 1_000)
    }
    expect(rate.secondsFor(6_000, 7_200, 90_000)).toBe(30)
    expect(rate.secondsFor(1e9, 7_400, 91_000)).toBe(86_400)
  })
})

it('an old entry is logged once, and again when none is old', async () => {
  const { ledger } = stores()
  let ahead = 0
  const logged: [string, unknown][] = []
  const ages: number[] = []
  const gauges = startGauges({
    ledger,
    metrics: {
      streamBacklog: () => undefined,
      streamMemory: () => undefined,
      openSessions: () => undefined,
      streamLag: (ageSeconds) => ages.push(ageSeconds),
    },
    clock: { nowMs: () => Date.now() + ahead },
    log: {
      warn: (values: unknown, text?: string) => logged.push([text ?? '', values]),
      info: (values: unknown, text?: string) => logged.push([text ?? '', values]),
    },
    recorded: () => 0,
    onBacklog: () => undefined,
    lagWarnMs: 60_000,
  })
  try {
    await expect.poll(() => ages.at(-1)).toBe(0)
    await topUp(ledger, 1, 11, 1_000, 'op-1')
    await expect.poll(() => ages.at(-1)).toBeGreaterThan(0)
    expect(logged).toEqual([])
    ahead = 75_000
    await expect.poll(() => logged).toHaveLength(1)
    expect(logged[0]).toEqual([
      'backlog: entries wait longer than recorder.lagWarnMs',
      { entries: 1, ageSeconds: expect.any(Number), drainSeconds: 86_400 },
    ])
    for (const stream of await ledger.redis.client.keys('*:l'))
      await ledger.redis.client.del(stream)
    await expect.poll(() => logged).toHaveLength(2)
    expect(logged[1]?.[0]).toBe('backlog: entries wait no longer than recorder.lagWarnMs')
  } finally {
    gauges.stop()
  }
})

it('lines that wait for Kafka are counted, with the age of the oldest', async () => {
  const { catalog } = stores()
  const nowMs = Date.UTC(2026, 0, 1)
  const shown: [number, number][] = []
  const gauges = () =>
    startStreamGauges({
      catalog,
      metrics: { linesUnsent: (...values) => shown.push(values) },
      clock: { nowMs: () => nowMs },
    })
  const none = gauges()
  await expect.poll(() => shown).toEqual([[0, 0]])
  none.stop()
  for (const [each, seconds] of [120, 60].entries()) {
    const _id = ObjectId.createFromTime(nowMs / 1000 - seconds)
    await catalog.exportstream.insertOne({ _id, stamp: `s${each}`, v: 1 })
  }
  const two = gauges()
  await expect.poll(() => shown.at(-1)).toEqual([2, 120])
  two.stop()
})

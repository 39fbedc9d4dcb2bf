import { afterEach, expect, it } from 'vitest'
import { createSampler, type LiveSampler } from '../../../src/admin/live/sampler.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { silent } from '../../support/recorder/accounts.ts'

const samplers: LiveSampler[] = []
afterEach(() => {
  for (const sampler of samplers.splice(0)) sampler.stop()
})

async function start(keepsHistory: boolean, clock = systemClock) {
  const own = await createMetrics({ node: 'n1', role: 'admin' }).snapshot()
  const state = { reads: 0, isBroken: false }
  const sampler = createSampler({
    clock,
    log: silent,
    limits: { lagWarnMs: 1, backlogWarnPercent: 1 },
    keepsHistory,
    async read() {
      state.reads += 1
      if (state.isBroken) throw new Error('broken')
      const checks = { redis: 'ok', mongo: 'ok', ledger: 'ok', changes: 'ok' } as const
      const health = { status: 'ready', ...checks, catalogue: 'ok' } as const
      return { health, published: [], own, hasRecorder: false }
    },
  })
  samplers.push(sampler)
  sampler.start()
  return { sampler, state }
}

it('one reading serves all viewers, and each second has one sample', async () => {
  const { sampler, state } = await start(false)
  const times = Array.from({ length: 50 }, () => [] as number[])
  for (const seen of times) sampler.watch(({ sample }) => seen.push(sample.time))
  await expect.poll(() => times[49]?.length).toBe(3)
  expect(state.reads).toBe(3)
  const [first = []] = times
  for (const seen of times) expect(seen).toEqual(first)
  expect(new Set(first).size).toBe(3)
  for (const time of first) expect(time % 1000).toBe(0)
})

it('a viewer that comes later gets the newest sample at once', async () => {
  const { sampler, state } = await start(true)
  await expect.poll(() => state.reads).toBeGreaterThan(0)
  const { sample } = await sampler.current()
  const seen: number[] = []
  const unwatch = sampler.watch((made) => seen.push(made.sample.time))
  unwatch()
  expect(seen).toHaveLength(1)
  expect(seen[0]).toBeGreaterThanOrEqual(sample.time)
})

it('without history nothing is read unless somebody looks', async () => {
  let nowMs = systemClock.nowMs()
  const { sampler, state } = await start(false, { nowMs: () => nowMs })
  expect(state.reads).toBe(0)
  const unwatch = sampler.watch(() => undefined)
  await expect.poll(() => state.reads).toBeGreaterThan(1)
  unwatch()
  nowMs += 60_000
  await sampler.current()
  const polled = state.reads
  await expect.poll(() => state.reads).toBeGreaterThan(polled)
  nowMs += 60_000
  const last = state.reads
  // Another one that goes on shows that seconds pass.
  const other = await start(true)
  await expect.poll(() => other.state.reads).toBeGreaterThan(3)
  // The timer that was set has fired once more at most.
  expect(state.reads).toBeLessThanOrEqual(last + 1)
})

it('with history samples are made without viewers', async () => {
  const { sampler, state } = await start(true)
  await expect.poll(() => state.reads).toBeGreaterThan(1)
  expect(sampler.history(0).series['health.ready']).toContain(1)
})

it('overlapping polls share a reading', async () => {
  const { sampler, state } = await start(false)
  const made = await Promise.all(Array.from({ length: 20 }, () => sampler.current()))
  expect(state.reads).toBe(1)
  expect(new Set(made.map(({ json }) => json)).size).toBe(1)
})

it('a failed reading leaves a gap, and the next second is sampled again', async () => {
  const { sampler, state } = await start(true)
  await expect.poll(() => state.reads).toBeGreaterThan(0)
  state.isBroken = true
  const before = state.reads
  await expect.poll(() => state.reads).toBeGreaterThan(before)
  state.isBroken = false
  const hasGap = () => sampler.history(0).series['health.ready']?.includes(null)
  await expect.poll(hasGap).toBe(true)
})

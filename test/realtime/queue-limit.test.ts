import { expect, it } from 'vitest'
import { QueueLimit } from '../../src/realtime/queue-limit.ts'

const TARGET_MS = 20
const LIMIT_MIN = 24
const LIMIT_MAX = 4096

function limitOf() {
  return new QueueLimit({
    targetMs: TARGET_MS,
    limitMin: LIMIT_MIN,
    limitMax: LIMIT_MAX,
  })
}

interface Phase {
  ms: number
  /** Requests that arrive in a millisecond. */
  offered: number
  /** Requests that are answered in a millisecond, one after the other. */
  capacity: number
}

/** A node whose time advances in steps of a tenth of a millisecond. */
function nodeOf(limit: QueueLimit) {
  const waiting: number[] = []
  let nowMs = 0
  let due = 0
  let work = 0
  const run = ({ ms, offered, capacity }: Phase) => {
    const tookMs: number[] = []
    let refused = 0
    const endMs = nowMs + ms
    for (; nowMs < endMs; nowMs += 0.1) {
      due += offered / 10
      for (; due >= 1; due -= 1) {
        if (waiting.length >= limit.limit) {
          limit.refused()
          refused += 1
        } else {
          limit.admitted(waiting.length, nowMs)
          waiting.push(nowMs)
        }
      }
      work += capacity / 10
      for (; work >= 1 && waiting.length > 0; work -= 1) {
        limit.answered(waiting.length, nowMs)
        tookMs.push(nowMs - (waiting.shift() as number))
      }
      if (waiting.length === 0) work = 0
    }
    tookMs.sort((one, other) => one - other)
    const longest = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? 0
    return { answered: tookMs.length, refused, p50: longest(0.5), p99: longest(0.99) }
  }
  return { run }
}

it('refuses nothing while the node keeps up', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  for (const offered of [0.01, 1, 1.8]) {
    expect(run({ ms: 2_000, offered, capacity: 2 }).refused).toBe(0)
  }
  expect(limit.limit).toBe(LIMIT_MAX)
})

it.each([0.5, 2, 40])('keeps latency and goodput at %d/ms beyond saturation', (capacity) => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: capacity / 2, capacity })
  for (const load of [1.5, 3]) {
    const ms = 3_000
    const { answered, p50, p99 } = run({ ms, offered: load * capacity, capacity })
    expect(answered).toBeGreaterThan(0.98 * capacity * ms)
    // The limit still admits enough to keep the workers busy.
    const targetMs = Math.max(TARGET_MS, LIMIT_MIN / capacity)
    expect(p50).toBeLessThan(1.1 * targetMs)
    expect(p99).toBeLessThan(2 * targetMs)
  }
  expect(limit.limit).toBeCloseTo(Math.max(LIMIT_MIN, TARGET_MS * capacity), -1)
  run({ ms: 100, offered: capacity / 2, capacity })
  expect(run({ ms: 900, offered: capacity / 2, capacity }).refused).toBe(0)
})

it('follows the capacity up and down', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: 30, capacity: 20 })
  expect(limit.limit).toBeCloseTo(400, -2)
  expect(run({ ms: 1_000, offered: 30, capacity: 2 }).p50).toBeLessThan(2 * TARGET_MS)
  expect(limit.limit).toBeCloseTo(40, -1)
  const { answered } = run({ ms: 1_000, offered: 30, capacity: 20 })
  expect(answered).toBeGreaterThan(0.95 * 20_000)
})

it('admits nothing more while nothing is answered', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 100, offered: 10, capacity: 20 })
  const { refused } = run({ ms: 500, offered: 10, capacity: 0 })
  // Arrivals of two and a half targets wait; the others are refused.
  expect(refused).toBeGreaterThan(4_400)
  expect(run({ ms: 500, offered: 10, capacity: 20 }).answered).toBeGreaterThan(4_500)
})

it('rises again when the load has ended', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: 6, capacity: 2 })
  expect(limit.limit).toBeLessThan(60)
  run({ ms: 10_000, offered: 0.1, capacity: 2 })
  expect(limit.limit).toBeGreaterThan(1_000)
  expect(limit.delayMs).toBe(0)
})

it('adapts in bursts shorter than a window', () => {
  const limit = limitOf()
  // A stall has lowered the limit.
  for (let nowMs = 0; nowMs <= 3 * TARGET_MS; nowMs += 2) limit.admitted(nowMs / 2, nowMs)
  expect(limit.limit).toBe(LIMIT_MIN)
  for (let index = 30; index > 0; index -= 1) limit.answered(index, 100)
  for (let burst = 0; burst < 5; burst += 1) {
    const fromMs = 200 + burst * 5
    let inFlight = 0
    for (let asked = 0; asked < 200; asked += 1) {
      if (inFlight >= limit.limit) limit.refused()
      else {
        limit.admitted(inFlight, fromMs)
        inFlight += 1
      }
    }
    for (; inFlight > 0; inFlight -= 1) limit.answered(inFlight, fromMs + 2)
  }
  expect(limit.limit).toBeGreaterThan(200)
})

it('admits enough to keep the workers busy on a node with slow batches', () => {
  const limit = limitOf()
  let answered = 0
  for (let nowMs = 0; nowMs < 10_000; nowMs += 2 * TARGET_MS) {
    let inFlight = 0
    while (inFlight < limit.limit) limit.admitted(inFlight++, nowMs)
    limit.refused()
    answered += inFlight
    for (; inFlight > 0; inFlight -= 1) limit.answered(inFlight, nowMs + 2 * TARGET_MS)
  }
  expect(limit.limit).toBe(LIMIT_MIN)
  expect(answered).toBeGreaterThan((LIMIT_MIN * 10_000) / (2 * TARGET_MS))
})

it('adapts after a long initial stall', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 300, offered: 1, capacity: 0 })
  const { p50 } = run({ ms: 20_000, offered: 10, capacity: 5 })
  expect(p50).toBeLessThan(1.1 * TARGET_MS)
})

it('admits requests that gathered while the thread itself was paused', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: 1, capacity: 5 })
  limit.admitted(0, 2_000)
  for (let taken = 1; taken < 50; taken += 1) limit.admitted(taken, 2_000 + taken / 10)
  limit.paused(195)
  for (let taken = 50; taken < 400; taken += 1) limit.admitted(taken, 2_200)
  expect(limit.limit).toBe(LIMIT_MAX)
  // The workers have been stalled since.
  limit.admitted(400, 2_300)
  expect(limit.limit).toBe(400)
})

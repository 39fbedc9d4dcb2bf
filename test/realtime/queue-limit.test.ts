import { expect, it } from 'vitest'
import { QueueLimit } from '../../src/realtime/queue-limit.ts'

const TARGET_MS = 20
const LIMIT_MIN = 24
const LIMIT_MAX = 4096
const TICK_MS = 20
/** Requests of this time are admitted without overload, and during a stall. */
const BURST_MS = 250

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
  let tickMs = 0
  const run = ({ ms, offered, capacity }: Phase) => {
    const tookMs: number[] = []
    let refused = 0
    const endMs = nowMs + ms
    for (; nowMs < endMs; nowMs += 0.1) {
      for (; tickMs <= nowMs; tickMs += TICK_MS) limit.ran(TICK_MS, waiting.length)
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
  expect(limit.limit).toBeGreaterThan(1.8 * BURST_MS)
})

it.each([0.5, 2, 40])('keeps latency and goodput at %d/ms beyond saturation', (capacity) => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: capacity / 2, capacity })
  for (const load of [1.5, 3]) {
    const ms = 3_000
    expect(run({ ms: 500, offered: load * capacity, capacity }).p99).toBeLessThan(1.1 * BURST_MS)
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
  // The arrivals of a burst wait; the others are refused.
  expect(refused).toBeGreaterThan(2_200)
  expect(run({ ms: 500, offered: 10, capacity: 20 }).answered).toBeGreaterThan(4_500)
})

it('rises again when the load has ended', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: 6, capacity: 2 })
  expect(limit.limit).toBeLessThan(60)
  run({ ms: 100, offered: 0.1, capacity: 2 })
  expect(limit.limit).toBeGreaterThan(2 * BURST_MS)
  expect(limit.delayMs).toBe(0)
})

it('adapts in bursts shorter than a window', () => {
  const limit = limitOf()
  const { run } = nodeOf(limit)
  run({ ms: 1_000, offered: 0.5, capacity: 0.1 })
  expect(limit.limit).toBe(LIMIT_MIN)
  for (let index = LIMIT_MIN; index > 0; index -= 1) limit.answered(index, 1_000)
  for (let burst = 0; burst < 5; burst += 1) {
    const fromMs = 1_100 + burst * 5
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

it('takes no pause of its own thread for a stall', () => {
  const limit = limitOf()
  for (let taken = 0; taken < 50; taken += 1) limit.admitted(taken, 0)
  // The ticks of two seconds are one.
  limit.ran(TICK_MS, 50)
  for (let taken = 50; taken < 400; taken += 1) limit.admitted(taken, 2_000)
  expect(limit.limit).toBe(LIMIT_MAX)
  for (let ticks = 0; ticks < BURST_MS / TICK_MS; ticks += 1) limit.ran(TICK_MS, 400)
  expect(limit.limit).toBe(400)
  limit.answered(400, 2_300)
  expect(limit.limit).toBe(LIMIT_MAX)
})

it('learns the rate of a store whose answers are always far apart', () => {
  const limit = limitOf()
  let inFlight = 0
  let refused = 0
  const batch = (arrivals: number, nowMs: number) => {
    for (let arrived = 0; arrived < arrivals; arrived += 1) {
      if (inFlight < limit.limit) limit.admitted(inFlight++, nowMs)
      else {
        limit.refused()
        refused += 1
      }
    }
    for (let answers = 0; answers < 64 && inFlight > 1; answers += 1) {
      limit.answered(inFlight--, nowMs + 40)
    }
  }
  for (let nowMs = 0; nowMs < 4_000; nowMs += 40) batch(60, nowMs)
  expect(refused).toBe(0)
  for (let nowMs = 4_000; nowMs < 8_000; nowMs += 40) batch(128, nowMs)
  expect(refused).toBeGreaterThan(4_000)
  expect(inFlight / (64 / 40)).toBeLessThan(BURST_MS)
})

it('takes the answers of a batch for no higher rate than that of batches', () => {
  const limit = limitOf()
  const [rate, batch, gapMs] = [5, 64, 0.02]
  for (let nowMs = 0; nowMs < 1_000; nowMs += batch / rate) {
    for (let index = 0; index < batch; index += 1) limit.admitted(index, nowMs)
    const answeredMs = nowMs + batch / rate - batch * gapMs
    for (let index = 0; index < batch; index += 1) {
      limit.answered(batch - index, answeredMs + index * gapMs)
    }
  }
  expect(limit.limit).toBeLessThan(1.5 * BURST_MS * rate)
})

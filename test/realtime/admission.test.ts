import { describe, expect, it } from 'vitest'
import {
  type Admission,
  type AdmissionOptions,
  createAdmission,
  REQUEST_BYTES,
  TICK_MS,
} from '../../src/realtime/admission.ts'
import type { LoadClass } from '../../src/realtime/load-class.ts'
import type { AdmissionCandidate } from '../../src/realtime/report-queue.ts'
import { requestOf } from '../support/realtime/requests.ts'

const QUEUE = { targetMs: 20, limitMin: 8, newSessionsPercent: 50 }
const BYTES = 100

const admissionOf = (options: Partial<AdmissionOptions> = {}) =>
  createAdmission({ inFlightMax: 100, reportsBytesMax: 1e6, waitMsMax: 500, ...options })

let sessions = 0
/** A request of its own session unless one is named. */
function candidateOf(load: LoadClass, session?: string): AdmissionCandidate {
  sessions += 1
  return { request: requestOf(session ?? `s${sessions}`), load, bytes: BYTES }
}

const enter = (admission: Admission, load: LoadClass, nowMs = 1_000, session?: string) =>
  admission.acquire(candidateOf(load, session), nowMs)

/** Without a decision, which would end a stall. */
const leave = (admission: Admission, load: LoadClass, nowMs = 1_000, isAside = false) =>
  admission.release(candidateOf(load), nowMs, isAside, false)

const twice = (admission: Admission, load: LoadClass, nowMs = 1_000) => [
  enter(admission, load, nowMs),
  enter(admission, load, nowMs),
]

/** Acquires a slot as `charge` does, and logs the result in `log`. */
function take(admission: Admission, load: LoadClass, nowMs: number, name: string, log: string[]) {
  const candidate = candidateOf(load, name.split(' ')[0])
  const entrance = admission.acquire(candidate, nowMs)
  if (entrance !== 'waits') log.push(`${name} ${entrance}`)
  else {
    admission.wait(
      {
        ...candidate,
        admitted: () => log.push(`${name} admitted`),
        refused: (why) => log.push(`${name} ${why}`),
      },
      nowMs,
    )
  }
}

it('admits as many as there are slots', () => {
  const admission = admissionOf({ inFlightMax: 2 })
  expect(twice(admission, 'asking')).toEqual(['admitted', 'admitted'])
  expect(enter(admission, 'opening')).toBe('refused')
  expect(admission.inFlight).toBe(2)
  expect(admission.statistics).toMatchObject({ limit: 2, refusedInFlight: 1 })
  leave(admission, 'asking')
  expect(enter(admission, 'asking')).toBe('admitted')
})

it('closes after the last release, and admits nothing new until then', async () => {
  const admission = admissionOf({ inFlightMax: 2 })
  const log: string[] = []
  take(admission, 'report', 0, 'a', log)
  take(admission, 'report', 0, 'b', log)
  take(admission, 'report', 0, 'c', log)
  let isClosed = false
  const closed = admission.close().then(() => {
    isClosed = true
  })
  take(admission, 'report', 0, 'd', log)
  leave(admission, 'report')
  leave(admission, 'report')
  await Promise.resolve()
  expect(log).toEqual(['a admitted', 'b admitted', 'd refused', 'c admitted'])
  expect(isClosed).toBe(false)
  leave(admission, 'report')
  await closed
  await admissionOf().close()
})

it('refuses to release a slot twice', () => {
  expect(() => leave(admissionOf(), 'asking')).toThrow('a slot is given back once')
})

/** The workers are stalled with eight requests in flight, so that the limit is eight. */
function atLimit(options: Partial<AdmissionOptions> = {}) {
  const admission = admissionOf({ queue: QUEUE, ...options })
  for (let taken = 0; taken < 8; taken += 1) enter(admission, 'asking', 0)
  for (let nowMs = 0; nowMs < 400; nowMs += TICK_MS) admission.tick(nowMs)
  expect(admission.statistics.limit).toBe(8)
  return admission
}

it('refuses requests that open sessions first, then those that only ask for units', () => {
  const admission = atLimit()
  expect(twice(admission, 'asking')).toEqual(['refused', 'refused'])
  for (let left = 0; left < 2; left += 1) leave(admission, 'asking', 1_001)
  expect(twice(admission, 'opening', 1_001)).toEqual(['refused', 'refused'])
  expect(enter(admission, 'asking', 1_001)).toBe('admitted')
  for (let left = 0; left < 4; left += 1) leave(admission, 'asking', 1_002)
  expect(enter(admission, 'opening', 1_002)).toBe('admitted')
  expect(admission.statistics).toMatchObject({ refusedQueue: 2, refusedNew: 2, refusedInFlight: 0 })
})

describe('reports of usage and terminations', () => {
  it('wait where other requests are refused, reports before terminations', () => {
    const admission = atLimit()
    const log: string[] = []
    for (let each = 0; each < 6; each += 1) take(admission, 'termination', 1_000, `t${each}`, log)
    for (let each = 0; each < 3; each += 1) take(admission, 'report', 1_000, `r${each}`, log)
    // Terminations have slots of their own.
    expect(log).toEqual(['t0', 't1', 't2', 't3'].map((name) => `${name} admitted`))
    expect(admission.statistics.waiting).toBe(5)
    for (let left = 0; left < 5; left += 1) leave(admission, 'asking')
    expect(log.slice(4)).toEqual(['r0 admitted'])
    leave(admission, 'termination')
    leave(admission, 'termination')
    expect(log.slice(5)).toEqual(['r1', 't4', 't5'].map((name) => `${name} admitted`))
    for (let left = 0; left < 2; left += 1) leave(admission, 'asking')
    expect(log.slice(5)).toEqual(['r1', 't4', 't5', 'r2'].map((name) => `${name} admitted`))
    expect(admission.statistics).toMatchObject({ waiting: 0, refusedMemory: 0, refusedLate: 0 })
  })

  it('are not limited by inFlightMax', () => {
    const admission = admissionOf({ inFlightMax: 1, queue: QUEUE })
    enter(admission, 'asking', 0)
    admission.beginLookup(0)
    expect(enter(admission, 'asking')).toBe('refused')
    expect(enter(admission, 'report')).toBe('admitted')
  })

  it('block the admission of other requests while reports wait', () => {
    const admission = atLimit()
    const log: string[] = []
    take(admission, 'report', 1_000, 'r', log)
    admission.beginLookup(1_000)
    expect(log).toEqual(['r admitted'])
    take(admission, 'report', 1_000, 'r2', log)
    expect(twice(admission, 'asking')).toEqual(['refused', 'refused'])
    expect(admission.statistics.waiting).toBe(1)
  })

  it('keep their order within a session, whichever queue they are in', () => {
    const admission = atLimit()
    const log: string[] = []
    take(admission, 'report', 1_000, 'a 1', log)
    // There are free slots for terminations, and later for updates.
    take(admission, 'termination', 1_000, 'a 2', log)
    take(admission, 'termination', 1_000, 'b', log)
    take(admission, 'opening', 1_000, 'a 3', log)
    take(admission, 'report', 1_000, 'a 4', log)
    expect(log).toEqual(['b admitted', 'a 3 refused'])
    for (let left = 0; left < 3; left += 1) leave(admission, 'asking')
    take(admission, 'asking', 1_000, 'a 5', log)
    leave(admission, 'asking')
    expect(log.slice(2)).toEqual(['a 1', 'a 2', 'a 5 refused', 'a 4'].map(entered))
  })

  it('are refused after the maximum wait, with those behind them in their session', () => {
    const admission = atLimit()
    const log: string[] = []
    take(admission, 'report', 1_000, 'a 1', log)
    take(admission, 'report', 1_200, 'b 1', log)
    take(admission, 'report', 1_300, 'a 2', log)
    admission.tick(1_499)
    expect(log).toEqual([])
    admission.tick(1_500)
    const late = 'waited too long (realtime.requestTimeoutMs); nothing was charged'
    expect(log).toEqual([`a 1 ${late}`, `a 2 ${late}`])
    expect(admission.statistics).toMatchObject({ waiting: 1, refusedLate: 2 })
    leave(admission, 'asking', 1_501)
    expect(log.slice(2)).toEqual(['b 1 admitted'])
    take(admission, 'report', 1_501, 'a 1', log)
    expect(admission.statistics.reportsBytes).toBe(2 * (BYTES + REQUEST_BYTES))
  })

  it('are refused by name if there is no memory for them, and admitted once there is', () => {
    const room = 5 * (BYTES + REQUEST_BYTES)
    const admission = atLimit({ reportsBytesMax: room })
    const log: string[] = []
    for (let each = 0; each < 6; each += 1) take(admission, 'termination', 1_000, `t${each}`, log)
    expect(log.at(-1)).toBe('t5 noMemory')
    expect(admission.statistics).toMatchObject({ refusedMemory: 1, reportsBytes: room, waiting: 1 })
    leave(admission, 'termination')
    take(admission, 'termination', 1_000, 't6', log)
    expect(log.slice(5)).toEqual(['t4 admitted'])
    for (let left = 0; left < 5; left += 1) leave(admission, 'termination')
    expect(log.slice(6)).toEqual(['t6 admitted'])
    expect(admission.statistics.reportsBytes).toBe(0)
  })
})

it('admits a report larger than the whole memory if it is the only one', () => {
  const admission = admissionOf({ reportsBytesMax: 1_000 })
  expect(twice(admission, 'report')).toEqual(['admitted', 'noMemory'])
})

const entered = (name: string) => (name.includes('refused') ? name : `${name} admitted`)

describe('a node that is behind', () => {
  it('is marked while half of the memory is used, and notifies when it has caught up', () => {
    const reportsBytesMax = 12 * (BYTES + REQUEST_BYTES)
    const admission = atLimit({ reportsBytesMax, waitMsMax: 1e6 })
    const log: string[] = []
    for (let each = 0; each < 6; each += 1) take(admission, 'termination', 1_000, `t${each}`, log)
    expect(admission.isBehind).toBe(false)
    take(admission, 'termination', 1_000, 't6', log)
    expect(admission.isBehind).toBe(true)
    let resumed = 0
    admission.onCaughtUp(() => {
      resumed += 1
    })
    leave(admission, 'termination')
    leave(admission, 'termination')
    expect([admission.isBehind, resumed]).toEqual([false, 1])
  })

  it('is marked while the queue needs half of the maximum wait at the current rate', () => {
    const admission = atLimit()
    const log: string[] = []
    for (let each = 0; each < 54; each += 1) take(admission, 'termination', 1_000, `t${each}`, log)
    // One leaves the queue every 10 ms, so that 50 need 500 ms.
    for (let nowMs = 1_010; nowMs <= 1_100; nowMs += 10) leave(admission, 'termination', nowMs)
    admission.tick(1_100)
    expect([admission.statistics.waiting, admission.isBehind]).toEqual([40, true])
    for (let nowMs = 1_110; nowMs <= 1_250; nowMs += 10) leave(admission, 'termination', nowMs)
    expect([admission.statistics.waiting, admission.isBehind]).toEqual([25, false])
  })
})

it('excludes lookups in MongoDB from the queue limit, but not from inFlightMax', () => {
  const admission = atLimit()
  for (let aside = 0; aside < 8; aside += 1) admission.beginLookup(1_000)
  expect(twice(admission, 'opening')).toEqual(['admitted', 'admitted'])
  for (let left = 0; left < 8; left += 1) leave(admission, 'asking', 1_001, true)
  expect(admission.inFlight).toBe(2)
  leave(admission, 'opening', 1_001)
  leave(admission, 'opening', 1_001)
  const small = admissionOf({ inFlightMax: 1, queue: QUEUE })
  enter(small, 'asking', 0)
  small.beginLookup(0)
  expect(enter(small, 'asking', 0)).toBe('refused')
  expect(small.statistics.refusedInFlight).toBe(1)
})

it('does not mistake a pause of its own thread for one of the workers', () => {
  const admission = admissionOf({ queue: QUEUE })
  admission.tick(0)
  for (let taken = 0; taken < 8; taken += 1) enter(admission, 'asking', 1)
  admission.tick(TICK_MS)
  admission.tick(1_000)
  expect(twice(admission, 'asking')).toEqual(['admitted', 'admitted'])
  const late = admissionOf({ queue: QUEUE })
  for (let taken = 0; taken < 8; taken += 1) enter(late, 'asking', 1)
  for (let nowMs = 0; nowMs <= 1_000; nowMs += 2 * TICK_MS) late.tick(nowMs)
  enter(late, 'asking', 1_000)
  expect(late.statistics.limit).toBe(8)
})

it('does not measure answer times of failed requests', () => {
  const admission = atLimit()
  for (let nowMs = 1_001; nowMs < 1_200; nowMs += 1) {
    admission.release(candidateOf('asking'), nowMs, false, false)
    enter(admission, 'asking', nowMs)
    enter(admission, 'asking', nowMs)
  }
  expect(admission.statistics.limit).toBe(8)
})

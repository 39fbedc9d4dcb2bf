import { expect, it } from 'vitest'
import type { RequestKind } from '../../src/domain/charge-request.ts'
import { type Admission, BEAT_MS, createAdmission } from '../../src/realtime/admission.ts'

const QUEUE = { targetMs: 20, limitMin: 8, newSessionsPercent: 50 }

const askTwice = (admission: Admission, kind: RequestKind) => [
  admission.enter(kind, 1_000),
  admission.enter(kind, 1_000),
]

it('admits as many as there are slots', () => {
  const admission = createAdmission({ inFlightMax: 2 })
  expect(askTwice(admission, 'update')).toEqual([true, true])
  expect(admission.enter('release', 0)).toBe(false)
  expect(admission.inFlight).toBe(2)
  expect(admission.figures).toMatchObject({ limit: 2, refusedInFlight: 1 })
  admission.leave(1_001, false, true)
  expect(admission.enter('update', 1_001)).toBe(true)
})

it('closes when the last one has left, and admits nobody meanwhile', async () => {
  const admission = createAdmission({ inFlightMax: 2 })
  admission.enter('start', 0)
  let isClosed = false
  const closed = admission.close().then(() => {
    isClosed = true
  })
  expect(admission.enter('start', 0)).toBe(false)
  await Promise.resolve()
  expect(isClosed).toBe(false)
  admission.leave(0, false, true)
  await closed
  await createAdmission({ inFlightMax: 1 }).close()
})

it('does not take back a slot twice', () => {
  const admission = createAdmission({ inFlightMax: 2 })
  expect(() => admission.leave(0, false, true)).toThrow('a slot is given back once')
})

/** The workers have stood still with eight under way, so that eight is the limit. */
function atLimit() {
  const admission = createAdmission({ inFlightMax: 100, queue: QUEUE })
  for (let taken = 0; taken < 8; taken += 1) admission.enter('update', 0)
  admission.enter('update', 1_000)
  admission.leave(1_000, false, true)
  expect(admission.figures.limit).toBe(8)
  return admission
}

it('prefers what ends sessions to what goes on, and that to what begins', () => {
  const admission = atLimit()
  expect(askTwice(admission, 'update')).toEqual([false, false])
  expect(askTwice(admission, 'release')).toEqual([true, true])
  expect(admission.enter('release', 1_000)).toBe(false)
  for (let left = 0; left < 4; left += 1) admission.leave(1_001, false, true)
  expect(admission.inFlight).toBe(6)
  expect([admission.enter('start', 1_001), admission.enter('event', 1_001)]).toEqual([false, false])
  expect(admission.enter('update', 1_001)).toBe(true)
  for (let left = 0; left < 4; left += 1) admission.leave(1_002, false, true)
  expect(admission.enter('start', 1_002)).toBe(true)
  expect(admission.figures).toMatchObject({ refusedQueue: 3, refusedNew: 2, refusedInFlight: 0 })
})

it('does not count what waits for MongoDB as queueing, but within the bound of all', () => {
  const admission = atLimit()
  for (let aside = 0; aside < 8; aside += 1) admission.setAside()
  expect(askTwice(admission, 'start')).toEqual([true, true])
  for (let left = 0; left < 8; left += 1) admission.leave(1_001, true, true)
  expect(admission.inFlight).toBe(2)
  admission.leave(1_001, false, true)
  admission.leave(1_001, false, true)
  const small = createAdmission({ inFlightMax: 1, queue: QUEUE })
  small.enter('update', 0)
  small.setAside()
  expect(small.enter('release', 0)).toBe(false)
  expect(small.figures.refusedInFlight).toBe(1)
})

it('does not take a pause of its own thread for one of the workers', () => {
  const admission = createAdmission({ inFlightMax: 100, queue: QUEUE })
  admission.beat(0)
  for (let taken = 0; taken < 8; taken += 1) admission.enter('update', 1)
  admission.beat(BEAT_MS)
  admission.beat(1_000)
  expect(askTwice(admission, 'update')).toEqual([true, true])
  const late = createAdmission({ inFlightMax: 100, queue: QUEUE })
  for (let taken = 0; taken < 8; taken += 1) late.enter('update', 1)
  for (let nowMs = 0; nowMs <= 1_000; nowMs += 2 * BEAT_MS) late.beat(nowMs)
  late.enter('update', 1_000)
  expect(late.figures.limit).toBe(8)
})

it('learns nothing of how fast requests are answered from those that fail', () => {
  const admission = atLimit()
  admission.enter('release', 1_001)
  for (let nowMs = 1_001; nowMs < 1_200; nowMs += 1) {
    admission.leave(nowMs, false, false)
    admission.enter('release', nowMs)
    admission.enter('update', nowMs)
  }
  expect(admission.figures.limit).toBe(8)
})

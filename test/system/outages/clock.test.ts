/** Steps of the clock, in all threads and in the sweep (the matrix of docs/OPERATING.md). */
// covers: src/runtime/clock.ts src/recorder/sweeper.ts src/ledger/sweep.ts
import { afterEach, describe, expect, it } from 'vitest'
import { indexMember, sessionKeyOf } from '../../../src/ledger/keys.ts'
import { startRecorder } from '../../../src/recorder/start.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { useOpened } from '../../support/opened.ts'
import { aidOf, FIRST_SID } from '../../support/product/population.ts'
import { startFaultyNode } from '../../support/system/outages/faulty-node.ts'
import { GRANTED, MIB, money, session } from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const VALIDITY_MS = 1_000
/** Much larger than the steps, so that a slow machine does not matter. */
const GRACE_MS = 120_000
const metrics = createMetrics({ node: 'test', role: 'recorder' })

const faulty = useOpened(
  () =>
    startFaultyNode(30, {
      TOLLGATE_REALTIME_WORKERS: '2',
      TOLLGATE_SESSION_VALIDITY_MS: String(VALIDITY_MS),
      TOLLGATE_SESSION_GRACE_MS: String(GRACE_MS),
      TOLLGATE_SWEEP_INTERVAL_MS: '50',
    }),
  (opened) => opened.stop(),
)
useOpened(
  async () => {
    const { config, clock } = faulty()
    const log = createLogger({ name: 'test', level: 'silent' })
    return startRecorder({ config, log, metrics, clock })
  },
  (opened) => opened.stop(1_000),
)
afterEach(() => faulty().stepClock(0))

/** When the session expires; null if it is not open. */
async function expiryOf(sessionId: string, sid: number): Promise<number | null> {
  const sessionKeys = [sessionKeyOf('http', sessionId)]
  const request = { aid: aidOf(sid - FIRST_SID, 1), sid, sessionKeys }
  const [owner] = await faulty().node.reader.ledger.load([request])
  if (owner === undefined || owner instanceof Error) throw owner ?? new Error('no owner')
  const [found] = owner.sessions
  return found?.state === 'open' ? found.expiresMs : null
}

/** Resolves when the sweep has processed this account, through a session with another expiry. */
async function sweepHasRun(sid: number): Promise<void> {
  const { keys, redis } = faulty().node.reader.ledger
  const one = session(`due-${performance.now()}`, sid)
  expect(await faulty().send(one.start())).toMatchObject(GRANTED)
  const aid = aidOf(sid - FIRST_SID, 1)
  const member = indexMember(aid, sid, sessionKeyOf('http', one.start().session_id))
  // Appears due at any clock; the sweep finds that it is not, and moves it.
  const index = keys.expiry(keys.partitionOf(aid))
  for (let round = 0; round < 2; round += 1) {
    await redis.client.zadd(index, 'XX', 1, member)
    await waitUntil('the sweep', async () => Number(await redis.client.zscore(index, member)) > 1)
  }
  expect(await faulty().send(one.release(1))).toMatchObject(GRANTED)
}

const steps = [
  { step: 10_000, sid: FIRST_SID },
  { step: -10_000, sid: FIRST_SID + 6 },
]

describe.each(steps)('a clock that is stepped by $step ms', ({ step, sid }) => {
  const name = (what: string) => `${what} ${step}`

  it('invalidates no grant and no answer', async () => {
    const { send, stepClock, node } = faulty()
    const open = session(name('open'), sid)
    const closed = session(name('closed'), sid + 2)
    expect(await send(open.start())).toMatchObject(GRANTED)
    const updated = await send(open.update(1))
    expect(await send(closed.start())).toMatchObject(GRANTED)
    const released = await send(closed.release(1))
    stepClock(step)
    await sweepHasRun(sid + 4)
    expect(await expiryOf(name('open'), sid)).not.toBeNull()
    expect((await send(open.update(1))).text).toBe(updated.text)
    expect((await send(closed.release(1))).text).toBe(released.text)
    expect(await node.moneyOf(sid)).toEqual(money(1, 1))
    expect(await send(open.update(2))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    stepClock(0)
    expect(await send(open.update(3))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    await sweepHasRun(sid + 4)
    expect(await send(open.release(4))).toMatchObject(GRANTED)
    expect((await send(closed.release(1))).text).toBe(released.text)
    expect(await node.moneyOf(sid)).toEqual(money(4, 0))
    expect(await node.moneyOf(sid + 2)).toEqual(money(1, 0))
  })

  it('never runs backwards for an account: no grant ends before the last one', async () => {
    const { send, stepClock } = faulty()
    const one = session(name('forwards'), sid + 1)
    expect(await send(one.start())).toMatchObject(GRANTED)
    let last = (await expiryOf(name('forwards'), sid + 1)) ?? 0
    expect(last).toBeGreaterThan(0)
    const offsets = [step, step, 0, 0, step, 0]
    for (const [index, offset] of offsets.entries()) {
      stepClock(offset)
      expect(await send(one.update(index + 1))).toMatchObject(GRANTED)
      const now = (await expiryOf(name('forwards'), sid + 1)) ?? 0
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
    expect(await send(one.release(offsets.length + 1))).toMatchObject(GRANTED)
  })
})

describe('a clock that is stepped beyond validity and grace', () => {
  it('ends open sessions once, and releases their reservations', async () => {
    const { send, stepClock, node } = faulty()
    const sid = FIRST_SID + 20
    const one = session('beyond', sid)
    expect(await send(one.start())).toMatchObject(GRANTED)
    stepClock(VALIDITY_MS + GRACE_MS + 10_000)
    await waitUntil('expiry', async () => (await expiryOf('beyond', sid)) === null)
    expect(await node.moneyOf(sid)).toEqual(money(0, 0))
    const late = await send(one.update(1))
    expect(late).toMatchObject({ ...GRANTED, grantedVolume: 0, finalUnit: true })
    expect(await node.moneyOf(sid)).toEqual(money(1, 0))
  })
})

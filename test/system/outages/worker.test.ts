/** Faults of a worker thread (the outage matrix of docs/OPERATING.md). */
// covers: src/realtime/pool.ts src/realtime/worker-channel.ts src/realtime/hang-watch.ts

import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { useOpened } from '../../support/opened.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import type { Reply } from '../../support/system/exchange.ts'
import { type Fault, startFaultyNode } from '../../support/system/outages/faulty-node.ts'
import {
  expectNoLeak,
  GRANTED,
  MIB,
  money,
  openFiles,
  session,
} from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

/** For requests that are not answered in time; the others are, also on a busy machine. */
const LIMITS = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '4000',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '5000',
}

const faulty = useOpened(
  () =>
    startFaultyNode(60, {
      ...LIMITS,
      TOLLGATE_REALTIME_WORKERS: '2',
      TOLLGATE_REALTIME_BATCH_SIZE_MAX: '1',
    }),
  (opened) => opened.stop(),
)

/** Twice the time after which a request is answered. */
const SPIN_MS = 10_000
const TIMED_OUT = { status: 503, returnCode: -92, headers: { 'retry-after': '1' } }

type Session = ReturnType<typeof session>

const faults = (['throws', 'exits', 'spins'] as const).flatMap((what) =>
  (['before', 'after'] as const).map((when) => ({ what, when })),
)

/** Updates from the second on, while `goesOn`; all must be granted. Returns the last number. */
async function chargeAlong(one: Session, goesOn: () => boolean): Promise<number> {
  let number = 1
  while (goesOn()) {
    number += 1
    expect(await faulty().send(one.update(number))).toMatchObject(GRANTED)
    // Fifty a second show that it is served; as many as possible would only keep the machine busy.
    await pause(20)
  }
  return number
}

describe.each(faults)('a worker that $what $when it has charged', ({ what, when }) => {
  const cell = faults.findIndex((one) => one.what === what && one.when === when)
  const first = FIRST_SID + cell * 6
  const name = `${what} ${when}`

  it('answers "timed out"; a repetition returns the outcome; other workers continue', async () => {
    const { send, insist, arm, node } = faulty()
    // Workers are chosen by account: the even ones use one worker, the odd ones the other.
    const [victim, bystander, neighbour] = [0, 1, 2].map((index) =>
      session(`${name} ${index}`, first + index),
    ) as [Session, Session, Session]
    for (const one of [victim, bystander, neighbour]) {
      expect(await insist(one.start())).toMatchObject(GRANTED)
      // From here on its account and subscriber are in the memory of that worker.
      expect(await insist(one.update(1))).toMatchObject(GRANTED)
    }
    let isOver = false
    const along = chargeAlong(bystander, () => !isOver)
    along.catch(() => undefined)
    const fault: Fault = { sessionId: `${name} 0`, what, when, spinMs: SPIN_MS }
    const repeated: Reply[] = []
    try {
      arm(fault)
      const [failed, beside] = await Promise.all(
        [victim, neighbour].map((one) => send(one.update(2))),
      )
      expect(failed).toMatchObject(TIMED_OUT)
      // A worker that spins before charging may charge the request before or after this point.
      if (what !== 'spins' || when === 'after') {
        expect(await node.moneyOf(victim.sid)).toEqual(money(when === 'after' ? 2 : 1, 1))
      }
      // It shares the thread: its answer may be late or missing, but never wrong.
      expect([1, -91, -92]).toContain(beside?.returnCode)
      for (const one of [victim, neighbour]) repeated.push(await insist(one.update(2)))
    } finally {
      isOver = true
    }
    const last = await along
    expect(last).toBeGreaterThan(1)
    for (const [index, one] of [victim, neighbour].entries()) {
      expect(repeated[index]).toMatchObject({ ...GRANTED, grantedVolume: MIB })
      expect((await send(one.update(2))).text).toBe(repeated[index]?.text)
      expect(await node.moneyOf(one.sid)).toEqual(money(2, 1))
      expect(await send(one.release(3))).toMatchObject(GRANTED)
      expect(await node.moneyOf(one.sid)).toEqual(money(3, 0))
    }
    expect(await send(bystander.release(last + 1))).toMatchObject(GRANTED)
    expect(await node.moneyOf(bystander.sid)).toEqual(money(last + 1, 0))
  })
})

describe('a worker that never stops spinning', () => {
  it('is replaced; its charged request is found, and its sessions continue', async () => {
    const { send, insist, arm, node } = faulty()
    const one = session('spins on', FIRST_SID + 44)
    expect(await insist(one.start())).toMatchObject(GRANTED)
    expect(await insist(one.update(1))).toMatchObject(GRANTED)
    arm({ sessionId: 'spins on', what: 'spins', when: 'after', spinMs: 3_600_000 })
    expect(await send(one.update(2))).toMatchObject(TIMED_OUT)
    expect(await insist(one.update(2))).toMatchObject({ ...GRANTED, grantedVolume: MIB })
    expect(await node.moneyOf(one.sid)).toEqual(money(2, 1))
    expect(await insist(one.release(3))).toMatchObject(GRANTED)
    expect(await node.moneyOf(one.sid)).toEqual(money(3, 0))
  })
})

describe('a worker that exits ten times', () => {
  it('leaves no socket and no file behind', async () => {
    const { send, insist, arm } = faulty()
    const one = session('ends', FIRST_SID + 40)
    expect(await insist(one.start())).toMatchObject(GRANTED)
    const files: number[] = []
    for (let number = 1; number <= 10; number += 1) {
      arm({ sessionId: 'ends', what: 'exits', when: 'after' })
      expect(await send(one.update(number))).toMatchObject(TIMED_OUT)
      expect(await insist(one.update(number))).toMatchObject(GRANTED)
      await waitUntil('the new worker is warm', async () => {
        return (await send(session(`warm ${number}`, FIRST_SID + 42).start())).status === 200
      })
      files.push(openFiles(process.pid))
    }
    expect(await send(one.release(11))).toMatchObject(GRANTED)
    await expectNoLeak(process.pid, Math.max(...files.slice(0, 3)))
  })
})

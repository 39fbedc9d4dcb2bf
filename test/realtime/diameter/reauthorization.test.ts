import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../../src/domain/worker-task.ts'
import {
  type ReauthorizationOptions,
  ReauthorizationQueue,
  type ServerRequest,
  startReauthorization,
} from '../../../src/realtime/diameter/reauthorization.ts'
import { SessionRegistry } from '../../../src/realtime/diameter/sessions.ts'
import { monotonicMs } from '../../../src/runtime/clock.ts'
import { waitUntil } from '../../support/wait.ts'

const WIRE = { name: 'wire' }
type Wire = typeof WIRE
const ORIGIN = 'diameter:net/gy'

interface Sent {
  kind: ServerRequest
  sessionId: string
  answer: (code: number) => void
  fail: () => void
}

/** A queue whose time stands still, with the requests that it sent. */
function queueOf(more: Partial<ReauthorizationOptions<Wire>> = {}) {
  const registry = new SessionRegistry<Wire>(10_000)
  const sent: Sent[] = []
  const time = { nowMs: 1_000 }
  const send: ReauthorizationOptions<Wire>['send'] = (kind, { sessionId }) =>
    new Promise((answer, reject) => {
      sent.push({ kind, sessionId, answer, fail: () => reject(new Error('lost')) })
    })
  const options = { registry, send, perSecondMax: 1_000, ...more }
  let answers = 0
  const queue = new ReauthorizationQueue(options, () => {
    answers += 1
  })
  const learn = (sessionId: string, sid = 10, moment = registry.sequence) =>
    registry.learn(
      {
        sessionId,
        origin: ORIGIN,
        originHost: 'pgw.net',
        originRealm: 'net',
        aid: 1,
        sid,
        connection: WIRE,
      },
      moment,
    )
  /** The requests sent since the last call. */
  const step = () => {
    queue.step(time.nowMs)
    return sent.splice(0)
  }
  return {
    registry,
    queue,
    time,
    sent,
    learn,
    step,
    announce(event: SessionEvent) {
      queue.take(event)
      return names(step())
    },
    /** Answers are handled in the next step. */
    async answer(request: Sent | undefined, code: number) {
      const before = answers
      if (code < 0) request?.fail()
      else request?.answer(code)
      await waitUntil('the answer', () => answers > before)
    },
  }
}

const names = (sent: readonly Sent[]) => sent.map(({ kind, sessionId }) => `${kind} ${sessionId}`)
const changed = (sid = 10): SessionEvent => ({ kind: 'reauthorize', aid: 1, sid })
const closed = (sid = 10): SessionEvent => ({ kind: 'abort', aid: 1, sid })
const ALL: SessionEvent = { kind: 'reauthorizeAll' }
const changedBy = (sessionId: string): SessionEvent => ({
  kind: 'reauthorize',
  aid: 1,
  sid: 0,
  origin: ORIGIN,
  sessionId,
})

describe('session events', () => {
  it('reach the sessions that they concern', () => {
    const { learn, announce } = queueOf()
    learn('a')
    learn('b', 11)
    expect(announce(changed(10))).toEqual(['reauthorize a'])
    expect(announce(closed(11))).toEqual(['abort b'])
    expect(announce(changed(12))).toEqual([])
    expect(announce({ kind: 'reauthorize', aid: 2, sid: 10 })).toEqual([])
  })

  it('of an account reach all of its sessions, of the catalogue all sessions, once', () => {
    const account = queueOf()
    for (const name of ['a', 'b']) account.learn(name)
    expect(account.announce(changed(0)).sort()).toEqual(['reauthorize a', 'reauthorize b'])
    const { learn, announce, step } = queueOf()
    for (const name of ['a', 'b', 'c']) learn(name)
    expect(announce(ALL)).toEqual(['reauthorize a', 'reauthorize b', 'reauthorize c'])
    expect(step()).toEqual([])
  })

  it('of an operator reach one session, if this node has cached it', () => {
    const { learn, announce } = queueOf()
    learn('a')
    learn('b')
    expect(announce({ kind: 'release', origin: ORIGIN, sessionId: 'b' })).toEqual(['abort b'])
    expect(announce({ kind: 'release', origin: ORIGIN, sessionId: 'c' })).toEqual([])
    expect(announce({ kind: 'release', origin: 'other', sessionId: 'a' })).toEqual([])
  })

  it('leave out the session whose request caused them', () => {
    const { learn, announce } = queueOf()
    for (const name of ['a', 'b']) learn(name)
    expect(announce(changedBy('a'))).toEqual(['reauthorize b'])
    expect(announce(changedBy('elsewhere'))).toEqual(['reauthorize a'])
  })

  it('need no request if the session has been charged since', () => {
    const { registry, queue, learn, step } = queueOf()
    learn('asked')
    learn('under way')
    learn('silent')
    const arrived = registry.sequence
    queue.take(changed())
    learn('asked')
    learn('under way', 10, arrived)
    expect(names(step()).sort()).toEqual(['reauthorize silent', 'reauthorize under way'])
    queue.take(ALL)
    learn('silent')
    expect(names(step())).toEqual(['reauthorize asked'])
  })
})

describe('a session', () => {
  it('receives one request for many events, and one more for those in between', async () => {
    const { queue, learn, step, answer } = queueOf()
    learn('a')
    for (let index = 0; index < 5; index += 1) queue.take(changed())
    const [first, ...others] = step()
    expect([first?.kind, others]).toEqual(['reauthorize', []])
    for (let index = 0; index < 5; index += 1) queue.take(changed())
    queue.take(ALL)
    expect(step()).toEqual([])
    await answer(first, 2001)
    const [second] = step()
    expect(second?.kind).toBe('reauthorize')
    await answer(second, 2002)
    expect(step()).toEqual([])
    expect(queue.counts()).toMatchObject({ reauthorize: { sent: 2, succeeded: 2 }, pending: 0 })
  })

  it('that sent a request after being asked is not asked again', async () => {
    const { queue, learn, step, answer } = queueOf()
    learn('a')
    queue.take(changed())
    const [first] = step()
    queue.take(changed())
    learn('a')
    await answer(first, 2001)
    expect([step(), queue.counts().pending]).toEqual([[], 0])
  })

  it('is ended instead of asked again', async () => {
    const { queue, learn, step, answer } = queueOf()
    learn('a')
    learn('b')
    queue.take(changed())
    queue.take({ kind: 'release', origin: ORIGIN, sessionId: 'b' })
    const [abort, other] = step()
    expect(names([abort, other] as Sent[])).toEqual(['abort b', 'reauthorize a'])
    queue.take(changed())
    queue.take(closed())
    expect(step()).toEqual([])
    await answer(abort, 2001)
    await answer(other, 2001)
    expect(names(step())).toEqual(['abort a'])
  })

  it('that the network element does not know is forgotten', async () => {
    const { registry, queue, learn, step, answer } = queueOf()
    learn('a')
    queue.take(changed())
    const [first] = step()
    queue.take(changed())
    await answer(first, 5002)
    expect([step(), registry.size]).toEqual([[], 0])
    expect(queue.counts()).toMatchObject({ reauthorize: { sent: 1, failed: 1 }, pending: 0 })
  })

  it('that has ended or restarted in between is not asked', () => {
    const { registry, queue, learn, step } = queueOf()
    learn('a')
    learn('b')
    queue.take(changed())
    for (const name of ['a', 'b']) registry.forget(ORIGIN, name)
    learn('b')
    expect([step(), queue.counts().pending]).toEqual([[], 0])
  })
})

describe('a request without an answer', () => {
  it.each([0, -1, 3002, 3004])('(%i) is sent once more later, then dropped', async (code) => {
    const { queue, time, learn, step, answer } = queueOf()
    learn('a')
    queue.take(closed())
    await answer(step()[0], code)
    expect(queue.step(time.nowMs)).toBe(5_000)
    time.nowMs += 5_000
    const [second] = step()
    expect(second?.kind).toBe('abort')
    await answer(second, code)
    expect(queue.step(time.nowMs)).toBeNull()
    expect(queue.counts()).toMatchObject({ abort: { sent: 2, failed: 1 }, pending: 0 })
  })

  it('is not repeated for a session that has sent a request itself', async () => {
    const { queue, time, learn, step, answer } = queueOf()
    learn('a')
    queue.take(changed())
    await answer(step()[0], 0)
    queue.step(time.nowMs)
    learn('a')
    time.nowMs += 5_000
    expect([step(), queue.counts().pending]).toEqual([[], 0])
  })

  it('is replaced immediately by the end of the session', async () => {
    const { queue, learn, announce, step, answer } = queueOf()
    learn('a')
    queue.take(changed())
    await answer(step()[0], 0)
    expect(announce(closed())).toEqual(['abort a'])
  })

  it('is not repeated if it was refused', async () => {
    const { queue, learn, step, answer } = queueOf()
    learn('a')
    queue.take(changed())
    await answer(step()[0], 5012)
    expect(step()).toEqual([])
    expect(queue.counts()).toMatchObject({ reauthorize: { failed: 1 }, pending: 0 })
  })

  it('that has no route to the client counts as failed', () => {
    const { registry, queue, time, learn, step } = queueOf()
    learn('a')
    registry.dropConnection(WIRE)
    queue.take(changed())
    expect(step()).toEqual([])
    time.nowMs += 5_000
    expect(step()).toEqual([])
    expect(queue.counts()).toMatchObject({ reauthorize: { sent: 0, failed: 1 }, pending: 0 })
  })
})

describe('many sessions', () => {
  it('are asked within the rate limit, ended sessions first', () => {
    const { queue, time, sent, learn } = queueOf({ perSecondMax: 100 })
    for (let index = 0; index < 500; index += 1) learn(`s${index}`)
    learn('closing', 99)
    queue.take(changed())
    queue.take(closed(99))
    for (; queue.counts().pending > sent.length; time.nowMs += 10) queue.step(time.nowMs)
    expect(names(sent)[0]).toBe('abort closing')
    expect(sent).toHaveLength(501)
    expect(time.nowMs - 1_000).toBeGreaterThanOrEqual(4_900)
    expect(time.nowMs - 1_000).toBeLessThanOrEqual(5_100)
  })

  it('do not block the thread, and are all reached', () => {
    const { queue, time, sent, learn } = queueOf({ perSecondMax: 1_000_000 })
    for (let index = 0; index < 5_000; index += 1) learn(`s${index}`)
    queue.take(ALL)
    expect(queue.step(time.nowMs)).toBe(0)
    expect(sent).toHaveLength(1_000)
    while (queue.step(time.nowMs) !== null) time.nowMs += 1
    expect(new Set(names(sent)).size).toBe(5_000)
  })

  it('above the queue limit are not asked, but still ended', () => {
    const { queue, learn, announce } = queueOf({ waitingMax: 2 })
    for (const name of ['a', 'b', 'c']) learn(name)
    expect(announce(changed())).toHaveLength(2)
    expect(queue.counts()).toMatchObject({ dropped: 1, pending: 2 })
    learn('d', 11)
    expect(announce(closed(11))).toEqual(['abort d'])
  })
})

describe('on timers', () => {
  it('the queue sends, accepts answers and sends again until it is closed', async () => {
    const registry = new SessionRegistry<Wire>(10)
    const sent: string[] = []
    const send: ReauthorizationOptions<Wire>['send'] = async (kind, { sessionId }) => {
      sent.push(`${kind} ${sessionId}`)
      return 2001
    }
    const room = startReauthorization({ registry, send, perSecondMax: 50 }, monotonicMs)
    const at = { origin: ORIGIN, originHost: 'pgw.net', originRealm: 'net' }
    for (const sessionId of ['a', 'b', 'c', 'd', 'e']) {
      registry.learn({ ...at, sessionId, aid: 1, sid: 10, connection: WIRE })
    }
    room.take(changed())
    await waitUntil('all', () => room.counts().reauthorize.succeeded === 5)
    expect(sent).toHaveLength(5)
    room.close()
    room.take(closed())
    const other = startReauthorization({ registry, send, perSecondMax: 50 }, monotonicMs)
    other.take(closed())
    await waitUntil('those of another', () => other.counts().abort.succeeded === 5)
    other.close()
    expect(room.counts()).toMatchObject({ abort: { sent: 0 }, pending: 5 })
  })
})

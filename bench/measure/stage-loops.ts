/** Stages of a request in separate loops, with the data of a typical update. */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { present } from '../../src/domain/assert.ts'
import { bucketOrder, emptyOwner, paysFor } from '../../src/domain/bucket.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { packResult, unpackResult } from '../../src/domain/packed-outcomes.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { emptyService } from '../../src/domain/segment.ts'
import { plainPricing } from '../../src/domain/segment-parts.ts'
import type { SegmentStart } from '../../src/domain/session.ts'
import { settle } from '../../src/domain/settle.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { packTask, unpackTask } from '../../src/domain/worker-protocol.ts'
import { layOut } from '../../src/ledger/commit-layout.ts'
import { createKeys } from '../../src/ledger/keys.ts'
import { OwnerCache } from '../../src/workers/owner-cache.ts'
import { CONTEXT, PLAIN } from '../dialects.ts'
import { json, REQUESTED, USED } from '../generator/http-messages.ts'
import { ownCpuMicros } from '../generator/phase-meter.ts'
import { SessionRing } from '../generator/session-ring.ts'
import { outcomeOf } from '../messages.ts'
import { median } from './load.ts'
import { commitOf } from './raw-script.ts'

export interface StageCost {
  name: string
  thread: 'main' | 'worker'
  /** Per request. */
  micros: number
}

const MESSAGES = 64
/** The typical batch size under load. */
const BATCH = 40
const ROUNDS = 5
const MIB = 1024 * 1024

export function loopCosts(isShort: boolean): StageCost[] {
  const turnMs = isShort ? 40 : 200
  const bodies = updates()
  const requests = bodies.map(decoded)
  const outcomes = requests.map(outcomeOf)
  const envelopes = bodies.map((body) => PLAIN.codec.decode(body, CONTEXT))
  const each = (count: number, run: (index: number) => void) => cost(turnMs, run) / count
  const task = { requests: requests.slice(0, BATCH), mayLookUp: false, deadlineMs: 0 }
  const result = { outcomes: outcomes.slice(0, BATCH), stats: { commits: BATCH } }
  const [sent, taken] = crossing(turnMs, () => packTask(task), unpackTask)
  const [returned, received] = crossing(turnMs, () => packResult(result), unpackResult)
  const keys = createKeys(64)
  const commits = Array.from({ length: BATCH }, (_, index) => commitOf(index * 64, 1))
  const layout = { keys, operationKeepMs: 1_000, token: 1 }
  const epoch = { key: keys.epoch(0), text: '1-bench' }
  return [
    { name: 'decode', thread: 'main', micros: each(1, (at) => decoded(bodies[at] as Buffer)) },
    { name: 'hand over: pack, post', thread: 'main', micros: sent },
    { name: 'hand over: take, unpack', thread: 'worker', micros: taken },
    { name: 'read owner and session', thread: 'worker', micros: each(1, cachedReads()) },
    { name: 'settle', thread: 'worker', micros: each(1, settling()) },
    {
      name: 'lay out the commit',
      thread: 'worker',
      micros: each(BATCH, () => layOut(commits, layout, epoch, 1)),
    },
    { name: 'hand back: pack, post', thread: 'worker', micros: returned },
    { name: 'hand back: take, unpack', thread: 'main', micros: received },
    {
      name: 'encode',
      thread: 'main',
      micros: each(1, (at) => {
        const one = envelopes[at]
        if (one?.ok === true) PLAIN.codec.encode(one.envelope, outcomes[at]!)
      }),
    },
  ]
}

/**
 * A batch on its way to another thread, packed and posted as in the product: processor time per
 * request of the sending and of the receiving thread. Both ends are in this thread, several batches
 * at a time, so that each can be measured.
 */
function crossing<T>(turnMs: number, pack: () => T, unpack: (packed: T) => unknown) {
  const { port1, port2 } = new MessageChannel()
  const send = () => {
    for (let batch = 0; batch < MESSAGES; batch += 1) port1.postMessage(pack())
  }
  const take = () => {
    for (;;) {
      const received = receiveMessageOnPort(port2)
      if (received === undefined) return
      unpack(received.message as T)
    }
  }
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    const untilMs = performance.now() + turnMs
    let [sending, taking, runs] = [0, 0, 0]
    while (performance.now() < untilMs) {
      const begun = ownCpuMicros()
      send()
      const between = ownCpuMicros()
      take()
      sending += between - begun
      taking += ownCpuMicros() - between
      runs += MESSAGES * BATCH
    }
    return [sending / runs, taking / runs] as const
  }).slice(1)
  port1.close()
  return [median(rounds.map(([one]) => one)), median(rounds.map(([, two]) => two))] as const
}

/** Updates as the load generator sends them. */
function updates(): Buffer[] {
  const ring = new SessionRing({ sessions: MESSAGES, subscribers: MESSAGES })
  return Array.from({ length: MESSAGES }, () => {
    const session = ring.take()
    ring.step[session] = 3
    return Buffer.from(json.body(ring, session, 0, 'json-1a2b3c-0'))
  })
}

function decoded(body: Buffer): ChargeRequest {
  const read = PLAIN.codec.decode(body, CONTEXT)
  if (!read.ok || read.request === null) throw new Error('an update cannot be read')
  return read.request
}

/** The cached states of an update: the subscriber, the empty shared owner, one session. */
function cachedReads(): () => void {
  const cache = new OwnerCache(MESSAGES)
  const [written] = commitOf(1, 1).owners
  const { state, sessions } = present(written, 'owner of a commit')
  const { sessionKey, session } = present(sessions[0], 'session of a commit')
  const fence = { number: 0, dirty: false, changedMs: 0 }
  const subscriber = cache.take({ state, fence, sessions: [session] }, [sessionKey])
  const shared = cache.take({ state: emptyOwner(state.aid, 0), fence, sessions: [] }, [])
  return () => {
    shared.state()
    subscriber.state()
    subscriber.session(sessionKey)
  }
}

/**
 * Two buckets, one service: the granted units are reported, and the same amount is requested again.
 */
function settling(): () => void {
  const [include] = commitOf(1, 1).owners
  const bought = include?.state ?? emptyOwner(1, 1)
  const order = bucketOrder(bought, null, paysFor('data'), 1)
  const tariff = {
    tiers: [{ units: UNLIMITED, interval: MIB, price: 10_000, ceil: true }],
    access: 0,
    extraDigits: 0,
    terms: null,
  }
  const next: SegmentStart = {
    key: 'DATA',
    pricing: plainPricing({ rateKey: 'DATA', plan: 'PLAN', cycle: '202611', tariff }),
    hasGroups: false,
    fundingSources: [],
    isPrepaid: true,
    endMs: FOREVER_MS,
  }
  const program = { exact: false, order, nextOrder: order, next, atMs: 1, end: 'none' as const }
  const names = serviceIdentity({ ratingGroup: 10, usaget: 'data' })
  const state = { subscriber: bought, account: null, service: emptyService(names) }
  const granted = settle(state, { ...program, used: 0, requested: REQUESTED })
  return () => {
    settle(granted, { ...program, used: USED, requested: REQUESTED })
  }
}

/** Processor time of one run, µs: median over rounds, after a warm-up. */
function cost(turnMs: number, run: (index: number) => void): number {
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    const before = ownCpuMicros()
    const untilMs = performance.now() + turnMs
    let runs = 0
    while (performance.now() < untilMs) {
      for (let index = 0; index < MESSAGES; index += 1) run(index)
      runs += MESSAGES
    }
    return (ownCpuMicros() - before) / runs
  })
  return median(rounds.slice(1))
}

/**
 * Random requests to two workers, with retransmissions, advancing time, sweeps and credits in
 * between, against a model that shares nothing with the product.
 */
import { afterAll, expect, it } from 'vitest'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import type { Line, OperationLine } from '../../src/domain/line.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { sweepPartition } from '../../src/ledger/sweep.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { useMade, useOpened } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import {
  aidOf,
  DATA_UNITS,
  GRACE_MS,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  REPLAY_MS,
  request,
  SHARED_DATA,
  service,
  VALIDITY_MS,
} from '../support/workers/processor-fixture.ts'
import { chooseSeed, createRandom, type Random } from '../support/workers/random.ts'

const SEED = chooseSeed()
const STEPS = 250
const SIDS = [1, 2, 3, 101, 102]
const SWEEP = { batchMax: 50, leaseMs: 1000, replayMs: REPLAY_MS, token: 'simulation' }

interface ModelSession {
  sid: number
  sessionId: string
  isOpen: boolean
  granted: number
  /** Sequence number of the next request, which is identified by the number or by a stamp. */
  number: number
  isNumbered: boolean
  /** Whether it reports total usage. */
  reportsTotal: boolean
  /** Used in acknowledged reports. */
  used: number
  last: { request: ChargeRequest; outcome: ChargeOutcome; atMs: number } | null
}

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const nodes = useMade(
  async () =>
    [await openProcessorFixture(redis().url), await openProcessorFixture(redis().url)] as const,
)
afterAll(async () => {
  for (const node of nodes()) await node.close()
})

class Simulation {
  readonly #random: Random
  #nowMs = NOW_MS
  #opened = 0
  #sessions: ModelSession[] = []
  /** Known to the network elements: used in acknowledged reports, and credited. */
  used = 0
  credited = new Map<string, number>()
  readonly reasons = new Map<string, number>()

  constructor(seed: number) {
    this.#random = createRandom(seed)
  }

  async step(): Promise<void> {
    this.#pass(
      this.#random.chance(0.1) ? this.#random.below(VALIDITY_MS) : this.#random.below(5000),
    )
    const free = [...this.#sessions]
    const batches = nodes().map((node) => this.#batch(node, free))
    if (this.#random.chance(0.3)) batches.push(this.#sweep(this.#random.pick(nodes())))
    if (this.#random.chance(0.2)) batches.push(this.#credit(this.#random.pick(SIDS)))
    await Promise.all(batches)
  }

  /** Lets all open sessions expire. */
  async end(): Promise<void> {
    this.#pass(VALIDITY_MS + GRACE_MS)
    for (const node of nodes()) await this.#sweep(node)
    this.#pass(SWEEP.leaseMs)
    await this.#sweep(nodes()[0])
  }

  #pass(ms: number): void {
    this.#nowMs += ms
    for (const node of nodes()) node.clock.set(this.#nowMs)
  }

  /** Requests of sessions that no other request of this step is about. */
  async #batch(node: ProcessorFixture, free: ModelSession[]): Promise<void> {
    const chosen: { session: ModelSession; request: ChargeRequest; isRepeated: boolean }[] = []
    for (let count = this.#random.below(6); count > 0; count -= 1) {
      const session = this.#choose(free)
      const { last } = session
      const isRepeated =
        last !== null && this.#nowMs - last.atMs < REPLAY_MS && this.#random.chance(0.2)
      chosen.push({
        session,
        request: isRepeated ? last.request : this.#nextRequest(session),
        isRepeated,
      })
    }
    const outcomes = await node.charge(...chosen.map((one) => one.request))
    for (const [index, { session, request: sent, isRepeated }] of chosen.entries()) {
      const outcome = outcomes[index] as ChargeOutcome
      if (isRepeated) expect(outcome).toEqual(session.last?.outcome)
      else this.#book(session, sent, outcome)
    }
  }

  #choose(free: ModelSession[]): ModelSession {
    if (free.length > 0 && !this.#random.chance(0.25)) {
      return free.splice(this.#random.below(free.length), 1)[0] as ModelSession
    }
    this.#opened += 1
    const sid = this.#random.pick(SIDS)
    const sessionId = `session-${this.#opened}`
    const fresh: ModelSession = {
      sid,
      sessionId,
      isOpen: false,
      granted: 0,
      number: 0,
      used: 0,
      last: null,
      isNumbered: this.#random.chance(0.7),
      reportsTotal: this.#random.chance(0.4),
    }
    this.#sessions.push(fresh)
    return fresh
  }

  #nextRequest(session: ModelSession): ChargeRequest {
    const { sid, sessionId, isNumbered, reportsTotal: isTotal } = session
    const number = isNumbered ? session.number : -1
    const requested = this.#random.below(4_000_000)
    const stamp = isNumbered ? '' : `stamp-${session.number}`
    const more = { sessionId, stamp, eventTimeMs: this.#nowMs }
    if (!session.isOpen) return request('start', sid, number, [service(requested + 1)], more)
    const used = this.#random.chance(0.8)
      ? this.#random.below(session.granted + 1)
      : this.#random.below(session.granted + 2_000_000)
    const report = isTotal ? session.used + used : used
    if (this.#random.chance(0.25)) {
      return request('release', sid, number, [service(-1, report, { isTotal })], more)
    }
    return request('update', sid, number, [service(requested, report, { isTotal })], more)
  }

  #book(session: ModelSession, sent: ChargeRequest, outcome: ChargeOutcome): void {
    const { reason } = outcome
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1)
    session.number += 1
    session.last = { request: sent, outcome, atMs: this.#nowMs }
    const isSettled = reason === 'granted' || reason === 'noCredit'
    expect(['granted', 'noCredit', 'sessionClosed', 'unknownSession']).toContain(reason)
    if (isSettled && sent.kind !== 'start') {
      const reported = sent.services[0]?.used ?? 0
      const used = session.reportsTotal ? reported - session.used : reported
      session.used += used
      this.used += used
    }
    session.granted = outcome.services[0]?.granted ?? 0
    session.isOpen =
      isSettled && sent.kind !== 'release' && (session.isOpen || reason === 'granted')
    const isOver = !session.isOpen && (sent.kind !== 'start' || reason !== 'noCredit')
    if (isOver) this.#sessions.splice(this.#sessions.indexOf(session), 1)
  }

  async #sweep(node: ProcessorFixture): Promise<void> {
    for (const aid of new Set(SIDS.map(aidOf))) {
      const partition = node.ledger.keys.partitionOf(aid)
      const { corrupt } = await sweepPartition(node.ledger, partition, SWEEP, this.#nowMs)
      expect(corrupt).toBe(0)
    }
  }

  async #credit(sid: number): Promise<void> {
    const includeId = this.#random.pick([MONEY, DATA_UNITS, SHARED_DATA])
    const amount = this.#random.below(includeId === MONEY ? 40_000 : 3_000_000) + 1
    const name = includeId === SHARED_DATA ? `${aidOf(sid)}:0` : `${aidOf(sid)}:${sid}`
    const key = `${name}:${includeId}`
    this.credited.set(key, (this.credited.get(key) ?? 0) + amount)
    const id = `credit-${this.#nowMs}-${sid}-${includeId}-${amount}`
    const node = this.#random.pick(nodes())
    await Promise.all([1, 2].map(() => node.credit(sid, includeId, amount, id)))
  }
}

/** The newest version of every line, and all operations. */
async function readStreams(): Promise<{ lines: Line[]; operations: OperationLine[] }> {
  const reader = await openStreamReader(nodes()[0].ledger, 'auditor')
  const lines = new Map<string, Line>()
  const operations = new Map<string, OperationLine>()
  for (;;) {
    const { entries, unreadable } = await reader.read(READ_BYTES, 1)
    expect(unreadable).toEqual([])
    if (entries.length === 0) break
    for (const line of entries.flatMap((entry) => entry.lines)) {
      if ((lines.get(line.stamp)?.version ?? 0) < line.version) lines.set(line.stamp, line)
    }
    for (const one of entries.flatMap((entry) => entry.operations)) operations.set(one.stamp, one)
  }
  return { lines: [...lines.values()], operations: [...operations.values()] }
}

function add(sums: Map<string, number>, key: string, amount: number): void {
  if (amount !== 0) sums.set(key, (sums.get(key) ?? 0) + amount)
}

it(`two workers and the sweep agree with the model (seed ${SEED})`, async () => {
  const simulation = new Simulation(SEED)
  for (let step = 0; step < STEPS; step += 1) await simulation.step()
  await simulation.end()
  const { lines, operations } = await readStreams()
  const paid = new Map<string, number>()
  for (const {
    session: { aid, sid },
    counts: { payments },
  } of lines) {
    for (const { owner, bucketId, amount } of payments) {
      add(paid, `${aid}:${owner === 0 ? sid : 0}:${bucketId}`, amount)
    }
  }
  for (const { aid, sid, bucketId, repaid } of operations) {
    add(paid, `${aid}:${sid}:${bucketId}`, repaid)
  }
  const spent = new Map<string, number>()
  const credited = new Map<string, number>()
  let owed = 0
  const accounts = [...new Set(SIDS.map(aidOf))].map((aid) => ({ aid, sid: 0 }))
  const subscribers = SIDS.map((sid) => ({ aid: aidOf(sid), sid }))
  for (const { aid, sid } of [...accounts, ...subscribers]) {
    const [loaded] = await nodes()[0].ledger.load([{ aid, sid, sessionKeys: [] }])
    if (loaded === undefined || loaded instanceof Error) throw new Error('not loaded')
    owed += loaded.state.owed
    for (const bucket of loaded.state.buckets) {
      // No session is open any more: credited = spent + available.
      expect(bucket.reserved).toBe(0)
      expect(bucket.spent + bucket.free).toBe(bucket.credited)
      expect(bucket.free).toBeGreaterThanOrEqual(0)
      add(spent, `${aid}:${sid}:${bucket.id}`, bucket.spent)
      add(credited, `${aid}:${sid}:${bucket.prepaidIncludeId}`, bucket.credited)
    }
  }
  expect(credited).toEqual(simulation.credited)
  expect(new Map([...paid].sort())).toEqual(new Map([...spent].sort()))
  expect(lines.reduce((sum, line) => sum + line.counts.used, 0)).toBe(simulation.used)
  expect(lines.reduce((sum, line) => sum + line.counts.debt, 0)).toBe(owed)
  expect(lines.every((line) => line.state !== 'open')).toBe(true)
  for (const node of nodes()) expect(node.defects).toEqual([])
  // A run without any of these outcomes would show nothing.
  for (const reason of ['granted', 'noCredit']) {
    expect(simulation.reasons.get(reason) ?? 0, reason).toBeGreaterThan(0)
  }
})

/**
 * MongoDB is unavailable under load: the streams grow until new sessions are refused, and open
 * sessions continue.
 */
// covers: src/recorder/outage.ts src/ledger/backlog.ts src/workers/backlog-watch.ts
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backlogPercent, readBacklog } from '../../../src/ledger/backlog.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { Client } from '../../support/product/charge-client.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { audit } from '../../support/system/auditor.ts'
import type { Reply } from '../../support/system/exchange.ts'
import {
  type Report,
  type SessionTruth,
  sessionTruth,
} from '../../support/system/expected-sessions.ts'
import {
  GRANTED,
  MIB,
  MONEY,
  money,
  session,
  startNode,
  type TestNode,
} from '../../support/system/outages/node.ts'
import { waitUntil } from '../../support/wait.ts'

const SUBSCRIBERS = 64
/** Network elements with one session each. */
const ELEMENTS = 24
/** Small, so that a short load fills it. */
const LIMIT = 8 * MIB
/** Updates of each open session while new ones are refused. */
const UPDATES_AFTER = 40

let node: TestNode
beforeAll(async () => {
  // Closed sessions must not fill the memory measured here.
  const environment = { TOLLGATE_LEDGER_REPLAY_MS: '1000' }
  node = await startNode({ subscribers: SUBSCRIBERS, environment })
  await node.product.start('realtime')
  await node.product.start('admin')
})
afterAll(() => node?.stop())

/** One session that reports as fast as it is answered, and counts acknowledged reports. */
class Element {
  readonly truth: SessionTruth
  reports = 0
  readonly #client: Client
  readonly #session: ReturnType<typeof session>

  constructor(port: number, sid: number) {
    const sessionId = `backlog-${sid}`
    this.#client = new Client(port)
    this.#session = session(sessionId, sid)
    this.truth = { ...sessionTruth({ sessionId, aid: 0, sid }), opened: true }
  }

  open(): Promise<Reply> {
    return node.insist(this.#session.start())
  }

  async report(kind: 'update' | 'release'): Promise<void> {
    this.reports += 1
    const returnCode = await this.#ask(this.#session[kind](this.reports))
    if (returnCode !== 1) this.truth.complaints.push(`${kind} ${this.reports}: ${returnCode}`)
  }

  async reportUntil(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) await this.report('update')
  }

  /** Releases, and returns what must be on the lines. */
  async end(): Promise<SessionTruth> {
    await this.report('release')
    this.#client.close()
    return { ...this.truth, ...used(this.reports) }
  }

  async #ask(body: object): Promise<number> {
    return JSON.parse((await this.#client.post(JSON.stringify(body))).body).returnCode
  }
}

/** The usage of `reports` reports of a MiB each. */
function used(reports: number): Pick<SessionTruth, 'services'> {
  const all = Array.from({ length: reports }, (): Report => ({ units: MIB, fate: 'settled' }))
  return { services: [{ ratingGroup: null, usaget: 'data', reports: all, ungranted: [] }] }
}

/** A session, or an event, that has used one MiB. */
function usedOnce(sessionId: string, sid: number): SessionTruth {
  return { ...sessionTruth({ sessionId, aid: 0, sid }), opened: true, ...used(1) }
}

async function percentNow(): Promise<number> {
  return backlogPercent(await readBacklog(node.reader.ledger))
}

describe.skipIf(process.env['TEST_MONGO_URL'])('an unavailable MongoDB under full load', () => {
  it('fills the streams until new sessions are refused; they drain when it is back', async () => {
    const { product, reader, send, insist, moneyOf } = node
    const elements = Array.from(
      { length: ELEMENTS },
      (_, index) => new Element(product.realtimePort, FIRST_SID + index),
    )
    // Cached before the outage, and without an open session.
    const [known, late] = [FIRST_SID + ELEMENTS, FIRST_SID + ELEMENTS + 1]
    for (const sid of [known, late]) {
      expect(await insist(session(`first-${sid}`, sid).start())).toMatchObject(GRANTED)
      expect(await send(session(`first-${sid}`, sid).release(1))).toMatchObject(GRANTED)
    }
    for (const element of elements) expect(await element.open()).toMatchObject(GRANTED)
    await reader.ledger.redis.client.config('SET', 'maxmemory', String(LIMIT))
    await product.kill9('mongo')

    const probe = session('probe', known)
    let isRefused = false
    const load = elements.map((element) => element.reportUntil(() => isRefused))
    let refusal = { status: 0, returnCode: 0, desc: '' }
    let probes = 0
    await waitUntil(
      'the refusal of an event',
      async () => {
        probes += 1
        const event = { ...probe.event(), session_id: `probe-${probes}` }
        refusal = await send(event)
        return refusal.returnCode === -90
      },
      200_000,
    )
    isRefused = true
    await Promise.all(load)
    expect(refusal).toMatchObject({ status: 503, returnCode: -90 })
    expect(refusal.desc).toMatch(/the recorder's backlog takes \d+ % of the memory of Redis/)
    expect(await percentNow()).toBeGreaterThan(60)
    expect(await send(session('refused', late).start())).toMatchObject({
      status: 503,
      returnCode: -90,
      headers: { 'retry-after': '1' },
    })
    expect(await moneyOf(late)).toEqual(money(1, 0))

    // All open sessions continue; otherwise the elements would report complaints.
    const truths = await Promise.all(
      elements.map(async (element) => {
        for (let update = 0; update < UPDATES_AFTER; update += 1) await element.report('update')
        return element.end()
      }),
    )
    for (const sid of [known, late]) truths.push(usedOnce(`first-${sid}`, sid))
    for (let taken = 1; taken < probes; taken += 1) truths.push(usedOnce(`probe-${taken}`, known))
    truths.push(usedOnce('refused', late))
    // None of this has filled Redis.
    const memory = await reader.ledger.redis.client.info('memory')
    expect(Number(/used_memory:(\d+)/.exec(memory)?.[1])).toBeLessThan(LIMIT)

    await product.start('mongo')
    await waitUntil('an empty backlog', async () => (await streamBacklog(reader.ledger)) === 0)
    expect(await insist(session('refused', late).start())).toMatchObject(GRANTED)
    expect(await send(session('refused', late).release(1))).toMatchObject(GRANTED)
    expect(await moneyOf(late)).toEqual(money(2, 0))
    const population = { subscribers: SUBSCRIBERS, subscribersPerAccount: 1, shared: {} }
    expect(await audit(product, { ...population, own: { 1: MONEY } }, truths)).toEqual([])
  })
})

/**
 * MongoDB is away and the load stays: the streams grow until new sessions are refused, and what is
 * open goes on (design.md §3).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../../bench/client.ts'
import { FIRST_SID } from '../../../bench/population.ts'
import { backlogPercent, readBacklog } from '../../../src/ledger/backlog.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { waitUntil } from '../../support/wait.ts'
import { audit } from '../auditor.ts'
import type { SessionTruth } from '../workload.ts'
import { GRANTED, MIB, MONEY, money, session, startNode, type TestNode } from './node.ts'

const SUBSCRIBERS = 64
/** Network elements, each with one session after the other. */
const ELEMENTS = 24
/** Small, so that the load of a moment is a backlog. */
const LIMIT = 12 * MIB
/** Updates of each session that is open while new ones are refused. */
const UPDATES_AFTER = 40

let node: TestNode
beforeAll(async () => {
  // Closed sessions shall not fill the memory that this is about.
  const environment = { TOLLGATE_LEDGER_REPLAY_MS: '1000', TOLLGATE_MONGO_TIMEOUT_MS: '500' }
  node = await startNode({ subscribers: SUBSCRIBERS, environment })
  await node.product.start('realtime')
  await node.product.start('admin')
})
afterAll(() => node?.stop())

/** Charges as fast as it is answered; keeps account of what was acknowledged. */
class Element {
  readonly truths: SessionTruth[] = []
  private readonly client: Client
  private readonly sid: number
  private truth: SessionTruth | null = null
  private number = 0

  constructor(port: number, index: number) {
    this.client = new Client(port)
    this.sid = FIRST_SID + index
  }

  close(): void {
    this.client.close()
  }

  private async ask(body: object): Promise<number> {
    const { returnCode } = JSON.parse((await this.client.post(JSON.stringify(body))).body)
    return returnCode
  }

  private get session() {
    return session(this.truth?.sessionId ?? '', this.sid)
  }

  async open(): Promise<number> {
    const sessionId = `backlog-${this.sid}-${this.truths.length}`
    const returnCode = await this.ask(session(sessionId, this.sid).start())
    if (returnCode !== 1) return returnCode
    this.number = 0
    this.truth = {
      ...{ sessionId, aid: this.sid, sid: this.sid, opened: true, complaints: [] },
      services: [{ ratingGroup: null, usaget: 'data', used: 0, reports: 0, unknowable: [] }],
    }
    this.truths.push(this.truth)
    return returnCode
  }

  async report(kind: 'update' | 'release'): Promise<void> {
    this.number += 1
    const returnCode = await this.ask(this.session[kind](this.number))
    const [service] = this.truth?.services ?? []
    if (service !== undefined) {
      service.used += MIB
      service.reports += 1
    }
    if (returnCode !== 1) this.truth?.complaints.push(`${kind} ${this.number}: ${returnCode}`)
    if (kind === 'release') this.truth = null
  }

  /** Sessions of fifty updates, until one is refused; the last one stays open. */
  async loadUntilRefused(isRefused: () => boolean): Promise<void> {
    while (!isRefused()) {
      await this.report('update')
      if (this.number < 50 || isRefused()) continue
      const open = this.truth
      const number = this.number
      const opened = await this.open()
      if (opened === -90) {
        this.truth = open
        this.number = number
        return
      }
      const next = this.truth
      this.truth = open
      this.number = number
      await this.report('release')
      this.truth = next
      this.number = 0
    }
  }
}

async function percentNow(): Promise<number> {
  return backlogPercent(await readBacklog(node.books.ledger))
}

describe.skipIf(process.env['TEST_MONGO_URL'])('a MongoDB that is away under full load', () => {
  it('fills the streams until new sessions are refused, and drains them when it is back', async () => {
    const { product, books, send, insist, moneyOf } = node
    const elements = Array.from(
      { length: ELEMENTS },
      (_, index) => new Element(product.realtimePort, index),
    )
    // Known before MongoDB goes, and with no session of its own.
    const [known, late] = [FIRST_SID + ELEMENTS, FIRST_SID + ELEMENTS + 1]
    for (const sid of [known, late]) {
      expect(await send(session(`first-${sid}`, sid).start())).toMatchObject(GRANTED)
      expect(await send(session(`first-${sid}`, sid).release(1))).toMatchObject(GRANTED)
    }
    for (const element of elements) expect(await element.open()).toBe(1)
    await books.ledger.redis.client.config('SET', 'maxmemory', String(LIMIT))
    await product.kill9('mongo')

    const probe = session('probe', known)
    let isRefused = false
    const load = elements.map((element) => element.loadUntilRefused(() => isRefused))
    let refusal = { status: 0, returnCode: 0, desc: '' }
    let probes = 0
    await waitUntil(
      'the refusal of an event',
      async () => {
        probes += 1
        const event = { ...probe.event(), session_id: `probe-${probes}` }
        refusal = await send(event)
        return refusal.status === 503
      },
      200_000,
    )
    isRefused = true
    await Promise.all(load)
    expect(refusal).toMatchObject({ status: 503, returnCode: -90 })
    expect(refusal.desc).toMatch(/the recorder's backlog takes \d+ % of the memory of Redis/)
    expect(await percentNow()).toBeGreaterThan(60)
    expect(await send(session('refused', late).start())).toMatchObject({
      ...{ status: 503, returnCode: -90, headers: { 'retry-after': '1' } },
    })
    expect(await moneyOf(late)).toEqual(money(1, 0))

    // All that is open goes on; the complaints of the elements would tell.
    await Promise.all(
      elements.map(async (element) => {
        for (let update = 0; update < UPDATES_AFTER; update += 1) await element.report('update')
        await element.report('release')
      }),
    )
    console.log(
      probes,
      await percentNow(),
      elements.map((e) => e.truths.length),
    )

    await product.start('mongo')
    await waitUntil('an empty backlog', async () => (await streamBacklog(books.ledger)) === 0)
    expect(await insist(session('refused', late).start())).toMatchObject(GRANTED)
    expect(await send(session('refused', late).release(1))).toMatchObject(GRANTED)
    expect(await moneyOf(late)).toEqual(money(2, 0))
    const population = { subscribers: SUBSCRIBERS, subscribersPerAccount: 1, shared: {} }
    const truths = elements.flatMap((element) => element.truths)
    expect(await audit(product, { ...population, own: { 1: MONEY } }, truths)).toEqual([])
    for (const element of elements) element.close()
  })
})

/**
 * A seeded workload of network elements: sessions with several services, retransmitted, reordered,
 * abandoned. It records only what was acknowledged, and repeats requests until their outcome is
 * known.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Client, ConnectionLostError, LoadBound } from '../product/charge-client.ts'
import { aidOf, FIRST_SID } from '../product/population.ts'
import { type Connection, type DialectAdapter, plainJson } from './dialects/adapter.ts'
import { type Report, type SessionTruth, sessionTruth } from './expected-sessions.ts'
import { Random } from './random.ts'

export interface WorkloadOptions {
  seed: number
  port: number
  /** The message format of the n-th element, from 0; plain JSON by default. */
  dialect?: (index: number) => DialectAdapter
  sessions: number
  subscribers: number
  subscribersPerAccount: number
  /** Concurrent network elements. */
  clients: number
  /** How long a request is repeated before the workload fails, ms. */
  patienceMs: number
  /** Maximum pause of an element after a session, ms; none by default. */
  pauseMsMax?: number
  /** Bounds the number of requests. */
  bound?: LoadBound
  /** Continues beyond `sessions` while this is true. */
  goesOn?: () => boolean
  /** Called after each finished session. */
  onSession?: (finished: number) => void
}

interface ServiceRequest {
  rating_group?: number
  usaget: string
  usagev: number
  used_usagev?: number
}

interface Reply {
  returnCode: number
  /** The first answer was lost, and this one to its repetition is "out of order". */
  isUnknowable: boolean
  services?: { returnCode: number; grantedVolume: number; finalUnit: boolean }[]
}

const MIB = 1024 * 1024
const SERVICES: readonly { rating_group?: number; usaget: string; typical: number }[] = [
  { rating_group: 10, usaget: 'data', typical: 5 * MIB },
  { rating_group: 20, usaget: 'data', typical: 3 * MIB },
  { usaget: 'call', typical: 180 },
  { usaget: 'sms', typical: 3 },
]
/** Return codes that settle the reported usage. */
const SETTLED = [1, -1]
/** HTTP status of an unknown outcome, in all formats: repeat the request. */
const UNKNOWN = 503

export async function runWorkload(options: WorkloadOptions): Promise<SessionTruth[]> {
  const truths: SessionTruth[] = []
  const { pauseMsMax = 0 } = options
  let started = 0
  const element = async (index: number) => {
    const client = new NetworkElement(options, index)
    while (started < options.sessions || options.goesOn?.() === true) {
      started += 1
      truths.push(await client.session(started))
      options.onSession?.(truths.length)
      if (pauseMsMax > 0) await pause(client.random.below(pauseMsMax))
    }
    client.close()
  }
  await Promise.all(Array.from({ length: options.clients }, (_, index) => element(index)))
  return truths
}

class NetworkElement {
  readonly random: Random
  /** Connections without a pending request. */
  readonly #idle: Connection[] = []
  readonly #options: WorkloadOptions
  readonly #dialect: DialectAdapter
  readonly #bound: LoadBound

  constructor(options: WorkloadOptions, index: number) {
    this.#options = options
    this.#bound = options.bound ?? new LoadBound()
    this.#dialect = options.dialect?.(index) ?? plainJson
    this.random = new Random(options.seed * 7919 + index)
  }

  close(): void {
    for (const client of this.#idle) client.close()
  }

  async session(number: number): Promise<SessionTruth> {
    const { random } = this
    const options = this.#options
    const subscriber = random.below(options.subscribers)
    const services = SERVICES.filter(() => random.chance(50))
    if (services.length === 0) services.push(random.pick(SERVICES))
    const sessionId = `audit-${options.seed}-${number}`
    const { name, lineSessionId, countsTotals = false } = this.#dialect
    const aid = aidOf(subscriber, options.subscribersPerAccount)
    const truth: SessionTruth = {
      ...sessionTruth({ sessionId, aid, sid: FIRST_SID + subscriber }),
      lineSessionId: lineSessionId?.(sessionId) ?? sessionId,
      dialect: name,
      countsTotals,
      services: services.map(({ rating_group, usaget }) => ({
        ratingGroup: rating_group ?? null,
        usaget,
        reports: [],
        ungranted: [],
      })),
    }
    const requested = services.map(
      (one): ServiceRequest => ({ ...one, usagev: this.#volume(one.typical) }),
    )
    const opening = this.#body('start_request', truth, 0, requested)
    const reply = await this.#exchange(opening, truth)
    if (reply.returnCode !== 1) return truth
    truth.opened = true
    await this.#use(truth, services, reply)
    return truth
  }

  /** Updates, then a release, unless the session is abandoned. */
  async #use(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    opened: Reply,
  ): Promise<void> {
    const { random } = this
    let last = { reply: opened, isNewest: true }
    const updates = random.below(8)
    let number = 1
    for (let update = 0; update < updates; update += 1) {
      const requested = this.#report(truth, services, last, true)
      if (random.chance(4)) {
        await this.#reordered(truth, services, number, requested)
        number += 2
        last = { ...last, isNewest: false }
        continue
      }
      const reply = await this.#exchange(
        this.#body('update_request', truth, number, requested),
        truth,
      )
      this.#account(truth, requested, reply)
      number += 1
      if (reply.returnCode < -1) return
      last = { reply, isNewest: true }
    }
    if (random.chance(5)) return
    const requested = this.#report(truth, services, last, false)
    const released = await this.#exchange(
      this.#body('release_request', truth, number, requested),
      truth,
    )
    this.#account(truth, requested, released)
  }

  /**
   * Two concurrent updates on two connections: either order is possible, each has its own outcome.
   */
  async #reordered(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    number: number,
    requested: ServiceRequest[],
  ): Promise<void> {
    const later = services.map((one): ServiceRequest => {
      const { rating_group, usaget } = one
      const group = rating_group === undefined ? {} : { rating_group }
      return { ...group, usaget, usagev: this.#volume(one.typical), used_usagev: 1 }
    })
    for (const service of truth.services) service.ungranted.push(1)
    const bodies = [
      this.#body('update_request', truth, number, requested),
      this.#body('update_request', truth, number + 1, later),
    ]
    // The later one is sent first in half of the cases.
    const isSwapped = number % 2 === 0
    if (isSwapped) bodies.reverse()
    const replies = await Promise.all(bodies.map((body) => this.#exchange(body, truth)))
    const [first, second] = (isSwapped ? replies.reverse() : replies) as [Reply, Reply]
    this.#account(truth, requested, first)
    this.#account(truth, later, second)
  }

  #report(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    { reply, isNewest }: { reply: Reply; isNewest: boolean },
    more: boolean,
  ): ServiceRequest[] {
    return services.map(({ rating_group, usaget, typical }, index) => {
      const granted = reply.services?.[index]?.grantedVolume ?? 0
      // Sometimes usage exceeds the grant, if only by traffic already in transit.
      const excess = this.random.chance(5) ? this.random.below(typical) : 0
      const used = this.random.below(granted + 1) + excess
      const ungranted = isNewest ? used - granted : used
      if (ungranted > 0) truth.services[index]?.ungranted.push(ungranted)
      const group = rating_group === undefined ? {} : { rating_group }
      return { ...group, usaget, usagev: more ? this.#volume(typical) : 0, used_usagev: used }
    })
  }

  #volume(typical: number): number {
    return this.random.between(1, typical * 2)
  }

  #body(type: string, truth: SessionTruth, number: number, services: ServiceRequest[]): string {
    const { sid, sessionId: session_id } = truth
    const plain = services.map(({ rating_group, usaget, usagev, used_usagev }) => ({
      rating_group,
      usaget,
      usagev,
      used_usagev,
    }))
    return this.#dialect.write({
      record_type: type,
      session_id,
      request_num: number,
      sid,
      services: plain,
    })
  }

  /** Sends until the outcome is known, and sometimes once more: the answer must be the same. */
  async #exchange(body: string, truth: SessionTruth): Promise<Reply> {
    const concurrent = this.random.chance(3) ? this.#ask(body) : null
    const again = this.random.chance(3)
    const first = await this.#ask(body)
    const other = await (concurrent ?? (again ? this.#ask(body) : null))
    if (other !== null) truth.repeated += 1
    // Either of two concurrent requests may have been overtaken by a later one.
    const isSecond = other !== null && concurrent !== null && isOvertaken(first.reply)
    const [answer, repeated] = isSecond ? [other, first] : [first, other]
    // An overtaken repetition may be answered "out of order"; nothing else may differ.
    if (repeated !== null && repeated.text !== answer.text && !isOvertaken(repeated.reply)) {
      truth.complaints.push(`repeated ${body}: ${answer.text} and ${repeated.text}`)
    }
    const isUnknowable = isOvertaken(answer.reply) && (answer.wasLost || concurrent !== null)
    return { ...answer.reply, isUnknowable }
  }

  /** Repeats the request, on any idle connection, until its outcome is known. */
  async #ask(body: string): Promise<Answer & { wasLost: boolean }> {
    let wasLost = false
    await this.#bound.turn()
    const until = performance.now() + this.#options.patienceMs
    for (;;) {
      const client = this.#idle.pop() ?? this.#connection()
      const { text, reply } = await this.#bound.count(this.#sendOnce(client, body))
      this.#idle.push(client)
      if (reply !== null) return { text, reply, wasLost }
      wasLost = true
      if (performance.now() > until) throw new Error(`no answer to ${body} but ${text}`)
      await pause(20 + this.random.below(160))
    }
  }

  #connection(): Connection {
    const { path, contentType, open } = this.#dialect
    return open?.() ?? new Client(this.#options.port, path, contentType)
  }

  /** `reply` is null if the outcome stays unknown. */
  async #sendOnce(
    client: Connection,
    body: string,
  ): Promise<{ text: string; reply: KnownReply | null }> {
    try {
      const { status, body: text } = await client.post(body)
      if (status === UNKNOWN) return { text, reply: null }
      return { text, reply: this.#dialect.read(text) as unknown as KnownReply }
    } catch (error) {
      if (error instanceof ConnectionLostError) return { text: error.message, reply: null }
      throw error
    }
  }

  /** Records the outcome of each report. */
  #account(truth: SessionTruth, requested: ServiceRequest[], reply: Reply): void {
    const isAnswer = SETTLED.includes(reply.returnCode)
    for (const [index, { used_usagev: units = 0, usagev }] of requested.entries()) {
      const service = isAnswer ? reply.services?.[index] : undefined
      const isSettled = service !== undefined && SETTLED.includes(service.returnCode)
      const otherwise = reply.isUnknowable ? 'unknowable' : 'refused'
      const fate: Report['fate'] = isSettled ? 'settled' : otherwise
      truth.services[index]?.reports.push({ units, fate })
      if ((service?.grantedVolume ?? 0) > usagev) truth.complaints.push(`granted beyond ${usagev}`)
    }
  }
}

function isOvertaken({ returnCode }: KnownReply): boolean {
  return returnCode === -9
}

type KnownReply = Omit<Reply, 'isUnknowable'>

/** An answer: its bytes, and their content. */
interface Answer {
  text: string
  reply: KnownReply
}

/**
 * A seeded workload of network elements: sessions with several services, retransmitted, reordered,
 * abandoned. It keeps account of nothing but what it was told, and repeats what it does not know
 * the outcome of, until it knows.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Client, ConnectionLostError } from '../../bench/client.ts'
import { aidOf, FIRST_SID } from '../../bench/population.ts'
import { type DialectAdapter, plainJson } from './dialects/adapter.ts'
import { Random } from './random.ts'

export interface WorkloadOptions {
  seed: number
  port: number
  /** What the elements speak; plain JSON without it. */
  dialect?: DialectAdapter
  sessions: number
  subscribers: number
  subscribersPerAccount: number
  /** Network elements at work at the same time. */
  clients: number
  /** How long a request is repeated before the workload gives up, ms. */
  patienceMs: number
  /** Most that an element pauses after a session, ms; without it not at all. */
  pauseMsMax?: number
  /** Goes on beyond `sessions` while this is true. */
  goesOn?: () => boolean
  /** Called after each finished session. */
  onSession?: (finished: number) => void
}

export interface ServiceTruth {
  ratingGroup: number | null
  usaget: string
  /** Units whose report was acknowledged, and how many such reports there were. */
  used: number
  reports: number
  /**
   * Reports that nobody can know of: the answer was lost, a request sent at the same time overtook
   * it, and its repetition is now out of order, whether or not it had been settled.
   */
  unknowable: number[]
  /** Units of reports that may have been used without a grant, whatever became of the report. */
  ungranted: number[]
}

/** What is known for certain of one session when the workload has ended. */
export interface SessionTruth {
  sessionId: string
  aid: number
  sid: number
  opened: boolean
  services: ServiceTruth[]
  /** Answers that were wrong in themselves. */
  complaints: string[]
}

interface Wanted {
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
/** Codes after which usage that was reported is settled. */
const SETTLED = [1, -1]
/** The outcome is not known: ask again. */
const UNKNOWN = [-90, -91, -92]

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
  /** Connections that carry no request now. */
  private readonly idle: Client[] = []
  private readonly options: WorkloadOptions

  private readonly dialect: DialectAdapter

  constructor(options: WorkloadOptions, index: number) {
    this.options = options
    this.dialect = options.dialect ?? plainJson
    this.random = new Random(options.seed * 7919 + index)
  }

  close(): void {
    for (const client of this.idle) client.close()
  }

  async session(number: number): Promise<SessionTruth> {
    const { random, options } = this
    const subscriber = random.below(options.subscribers)
    const services = SERVICES.filter(() => random.chance(50))
    if (services.length === 0) services.push(random.pick(SERVICES))
    const truth: SessionTruth = {
      sessionId: `audit-${options.seed}-${number}`,
      aid: aidOf(subscriber, options.subscribersPerAccount),
      sid: FIRST_SID + subscriber,
      opened: false,
      services: services.map(({ rating_group, usaget }) => ({
        ratingGroup: rating_group ?? null,
        usaget,
        used: 0,
        reports: 0,
        unknowable: [],
        ungranted: [],
      })),
      complaints: [],
    }
    const wanted = services.map((one): Wanted => ({ ...one, usagev: this.volume(one.typical) }))
    const opening = this.body('start_request', truth, 0, wanted)
    const reply = await this.exchange(opening, truth)
    if (reply.returnCode !== 1) return truth
    truth.opened = true
    await this.use(truth, services, reply)
    return truth
  }

  /** Updates, then a release, unless the session is abandoned. */
  private async use(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    opened: Reply,
  ): Promise<void> {
    const { random } = this
    let last = { reply: opened, isNewest: true }
    const updates = random.below(8)
    let number = 1
    for (let update = 0; update < updates; update += 1) {
      const wanted = this.report(truth, services, last, true)
      if (random.chance(4)) {
        await this.reordered(truth, services, number, wanted)
        number += 2
        last = { ...last, isNewest: false }
        continue
      }
      const reply = await this.exchange(this.body('update_request', truth, number, wanted), truth)
      this.account(truth, wanted, reply)
      number += 1
      if (reply.returnCode < -1) return
      last = { reply, isNewest: true }
    }
    if (random.chance(5)) return
    const wanted = this.report(truth, services, last, false)
    const released = await this.exchange(this.body('release_request', truth, number, wanted), truth)
    this.account(truth, wanted, released)
  }

  /** Two updates at once on two connections: either order is possible, each has its own outcome. */
  private async reordered(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    number: number,
    wanted: Wanted[],
  ): Promise<void> {
    const later = services.map((one): Wanted => {
      const { rating_group, usaget } = one
      const group = rating_group === undefined ? {} : { rating_group }
      return { ...group, usaget, usagev: this.volume(one.typical), used_usagev: 1 }
    })
    for (const service of truth.services) service.ungranted.push(1)
    const [first, second] = await Promise.all([
      this.exchange(this.body('update_request', truth, number, wanted), truth),
      this.exchange(this.body('update_request', truth, number + 1, later), truth),
    ])
    this.account(truth, wanted, first)
    this.account(truth, later, second)
  }

  private report(
    truth: SessionTruth,
    services: readonly (typeof SERVICES)[number][],
    { reply, isNewest }: { reply: Reply; isNewest: boolean },
    more: boolean,
  ): Wanted[] {
    return services.map(({ rating_group, usaget, typical }, index) => {
      const granted = reply.services?.[index]?.grantedVolume ?? 0
      // Now and then more is used than was granted, if only by what was on its way.
      const excess = this.random.chance(5) ? this.random.below(typical) : 0
      const used = this.random.below(granted + 1) + excess
      const ungranted = isNewest ? used - granted : used
      if (ungranted > 0) truth.services[index]?.ungranted.push(ungranted)
      const group = rating_group === undefined ? {} : { rating_group }
      return { ...group, usaget, usagev: more ? this.volume(typical) : 0, used_usagev: used }
    })
  }

  private volume(typical: number): number {
    return this.random.between(1, typical * 2)
  }

  private body(type: string, truth: SessionTruth, number: number, services: Wanted[]): string {
    const { sid, sessionId: session_id } = truth
    const plain = services.map(({ rating_group, usaget, usagev, used_usagev }) => ({
      rating_group,
      usaget,
      usagev,
      used_usagev,
    }))
    return this.dialect.write({
      ...{ record_type: type, session_id, request_num: number, sid },
      services: plain,
    })
  }

  /** Sends until the outcome is known, and sometimes once more: the answer must be the same. */
  private async exchange(body: string, truth: SessionTruth): Promise<Reply> {
    const twin = this.random.chance(3) ? this.ask(body) : null
    const again = this.random.chance(3)
    const { text: answer, reply, wasLost } = await this.ask(body)
    const other = await (twin ?? (again ? this.ask(body) : null))
    // A repetition that was overtaken by a later request may be told so; nothing else may differ.
    if (other !== null && other.text !== answer && !isOvertaken(other.reply)) {
      truth.complaints.push(`repeated ${body}: ${answer} and ${other.text}`)
    }
    const isUnknowable = isOvertaken(reply) && (wasLost || twin !== null)
    return { ...reply, isUnknowable }
  }

  /** Repeats the request, on whatever connection is free, until its outcome is known. */
  private async ask(body: string): Promise<Heard & { wasLost: boolean }> {
    let wasLost = false
    const until = performance.now() + this.options.patienceMs
    for (;;) {
      const { path, contentType } = this.dialect
      const client = this.idle.pop() ?? new Client(this.options.port, path, contentType)
      const { text, reply } = await this.sendOnce(client, body)
      this.idle.push(client)
      if (reply !== null) return { text, reply, wasLost }
      wasLost = true
      if (performance.now() > until) throw new Error(`no answer to ${body} but ${text}`)
      await pause(5 + this.random.below(40))
    }
  }

  /** `reply` null: the outcome stays unknown. */
  private async sendOnce(
    client: Client,
    body: string,
  ): Promise<{ text: string; reply: Known | null }> {
    try {
      const { body: text } = await client.post(body)
      const reply = this.dialect.read(text) as unknown as Known
      return { text, reply: UNKNOWN.includes(reply.returnCode) ? null : reply }
    } catch (error) {
      if (error instanceof ConnectionLostError) return { text: error.message, reply: null }
      throw error
    }
  }

  /** Counts what the answer says is settled. */
  private account(truth: SessionTruth, wanted: Wanted[], reply: Reply): void {
    if (reply.isUnknowable) {
      for (const [index, { used_usagev = 0 }] of wanted.entries()) {
        if (used_usagev > 0) truth.services[index]?.unknowable.push(used_usagev)
      }
    }
    if (!SETTLED.includes(reply.returnCode)) return
    for (const [index, { used_usagev = 0, usagev }] of wanted.entries()) {
      const service = reply.services?.[index]
      const known = truth.services[index]
      if (known === undefined || service === undefined) continue
      if (SETTLED.includes(service.returnCode) && used_usagev > 0) {
        known.used += used_usagev
        known.reports += 1
      }
      if (service.grantedVolume > usagev) truth.complaints.push(`granted beyond ${usagev}`)
    }
  }
}

function isOvertaken({ returnCode }: Known): boolean {
  return returnCode === -9
}

type Known = Omit<Reply, 'isUnknowable'>

/** An answer: its bytes, and what they say. */
interface Heard {
  text: string
  reply: Known
}

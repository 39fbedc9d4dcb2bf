/** Queue of usage reports and terminations that wait for a slot. */
import { assert } from '../domain/assert.ts'
import { type ChargeRequest, sessionNameOf } from '../domain/charge-request.ts'
import type { LoadClass } from './load-class.ts'

/** A request for which admission is decided. */
export interface AdmissionCandidate {
  readonly request: ChargeRequest
  readonly load: LoadClass
  /** Size of the message in bytes. */
  readonly bytes: number
}

/** A waiting request. Exactly one of its callbacks is called, once. */
export interface WaitingRequest extends AdmissionCandidate {
  /** The request now has a slot. */
  admitted(): void
  /** The request was not charged; `why` is sent in the answer. */
  refused(why: string): void
}

interface Entry {
  readonly waiting: WaitingRequest
  readonly queue: QueueName
  readonly session: string
  readonly deadlineMs: number
  isRemoved: boolean
}

export type QueueName = 'report' | 'termination'

/** Window over which the dequeue rate is measured, ms. */
const WINDOW_MS = 100
const RATE_SHARE = 0.5

/**
 * Two FIFO queues: reports of open sessions take precedence over terminations, which do not delay a
 * user. Requests of one session never overtake each other: a later request waits in the queue of
 * the earlier one and is refused with it. All times are ms of one monotonic clock.
 */
export class ReportQueue {
  readonly #waitMsMax: number
  readonly #queues = { report: new Fifo<Entry>(), termination: new Fifo<Entry>() }
  /** Waiting requests of each session, in order. */
  readonly #sessions = new Map<string, Entry[]>()
  #size = 0
  #reports = 0
  #windowMs = 0
  #emptied = 0
  /** Requests per ms that leave the queue for a slot; -1 until measured. */
  #rate = -1

  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax
  }

  get size(): number {
    return this.#size
  }

  /** Number of waiting reports, without terminations. */
  get reports(): number {
    return this.#reports
  }

  /** Whether a request of the same session waits. */
  has(request: ChargeRequest): boolean {
    return this.#size > 0 && this.#sessions.has(sessionNameOf(request))
  }

  add(waiting: WaitingRequest, nowMs: number): void {
    if (this.#size === 0) {
      this.#rate = -1
      this.#beginWindow(nowMs)
    }
    const session = sessionNameOf(waiting.request)
    const ofSession = this.#sessions.get(session)
    const own = waiting.load === 'termination' ? 'termination' : 'report'
    const queue = ofSession?.[0]?.queue ?? own
    const deadlineMs = nowMs + this.#waitMsMax
    const entry: Entry = { waiting, queue, session, deadlineMs, isRemoved: false }
    if (ofSession === undefined) this.#sessions.set(session, [entry])
    else ofSession.push(entry)
    this.#queues[queue].push(entry)
    this.#size += 1
    if (waiting.load === 'report') this.#reports += 1
  }

  /** First request of a queue, which stays queued; undefined if the queue is empty. */
  first(queue: QueueName): WaitingRequest | undefined {
    return this.#first(this.#queues[queue])?.waiting
  }

  /** Dequeues the first request, because there is a slot for it. */
  takeFirst(queue: QueueName): WaitingRequest {
    const entry = this.#first(this.#queues[queue])
    assert(entry !== undefined, 'only what waits is taken')
    this.#remove(entry)
    this.#emptied += 1
    return entry.waiting
  }

  /** Removes requests that have waited too long, together with later ones of the same sessions. */
  takeExpired(nowMs: number): WaitingRequest[] {
    this.#measure(nowMs)
    const expired: WaitingRequest[] = []
    for (const queue of [this.#queues.report, this.#queues.termination]) {
      let entry = this.#first(queue)
      while (entry !== undefined && entry.deadlineMs <= nowMs) {
        for (const behind of [...(this.#sessions.get(entry.session) ?? [])]) {
          this.#remove(behind)
          expired.push(behind.waiting)
        }
        entry = this.#first(queue)
      }
    }
    return expired
  }

  /**
   * Expected wait of a request that arrives now, ms, by the last window; initially by `rate` per
   * ms.
   */
  expectedMs(rate: number): number {
    return this.#size === 0 ? 0 : this.#size / (this.#rate < 0 ? rate : this.#rate)
  }

  #first(queue: Fifo<Entry>): Entry | undefined {
    while (queue.first?.isRemoved === true) queue.shift()
    return queue.first
  }

  #remove(entry: Entry): void {
    entry.isRemoved = true
    this.#size -= 1
    if (entry.waiting.load === 'report') this.#reports -= 1
    const ofSession = this.#sessions.get(entry.session) ?? []
    if (ofSession.length <= 1) this.#sessions.delete(entry.session)
    else ofSession.splice(ofSession.indexOf(entry), 1)
  }

  #beginWindow(nowMs: number): void {
    this.#windowMs = nowMs
    this.#emptied = 0
  }

  #measure(nowMs: number): void {
    const elapsedMs = nowMs - this.#windowMs
    if (this.#size === 0 || elapsedMs < WINDOW_MS) return
    const rate = this.#emptied / elapsedMs
    this.#rate = this.#rate < 0 ? rate : this.#rate + (rate - this.#rate) * RATE_SHARE
    this.#beginWindow(nowMs)
  }
}

/** FIFO queue without shifting the remaining members on each removal. */
class Fifo<Member> {
  #members: Member[] = []
  #at = 0

  get first(): Member | undefined {
    return this.#members[this.#at]
  }

  push(member: Member): void {
    this.#members.push(member)
  }

  shift(): void {
    this.#at += 1
    const isEmpty = this.#at === this.#members.length
    if (!isEmpty && (this.#at < COMPACTED_AT || this.#at * 2 < this.#members.length)) return
    this.#members = this.#members.slice(this.#at)
    this.#at = 0
  }
}

const COMPACTED_AT = 1_024

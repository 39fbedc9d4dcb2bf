/**
 * Sessions of 1 start, 10 updates and 1 release, in rotation. A session with a request under way is
 * not in the ring, so no session has two requests under way. The first sessions are shorter by
 * zero to ten updates, so that starts and releases, which cost twice as much as updates, are
 * spread evenly afterwards, as those of independent subscribers are.
 */

export const UPDATES = 10
const RELEASE = UPDATES + 1

/** Outcome of a request. */
export type Fate =
  /** Charged: the session continues. */
  | 'admitted'
  /** Refused because of overload: the same request is sent again later. */
  | 'refused'
  /** Anything else: whether it was charged is unknown, and the session is abandoned. */
  | 'failed'

export interface RingOptions {
  /** Concurrent sessions; at most the number of subscribers. */
  sessions: number
  subscribers: number
  /** Starts only: every session stays open. The ring ends when each subscriber has one. */
  onlyStarts?: boolean
}

export class SessionRing {
  /** Index of the subscriber of each session, from 0. */
  readonly subscriber: Int32Array
  /** Number of previous sessions in the same slot. */
  readonly generation: Int32Array
  /** 0: start; 1 to 10: updates; 11: release. */
  readonly step: Uint8Array
  /** Charged usage reports of each subscriber. */
  readonly reports: Float64Array
  readonly #waiting: Int32Array
  #head = 0
  #length: number
  readonly #options: Required<RingOptions>
  #nextSubscriber: number
  #isDraining = false

  constructor({ sessions, subscribers, onlyStarts = false }: RingOptions) {
    const size = Math.min(sessions, subscribers)
    this.#options = { sessions: size, subscribers, onlyStarts }
    this.subscriber = Int32Array.from({ length: size }, (_, index) => index)
    this.#waiting = Int32Array.from({ length: size }, (_, index) => index)
    this.generation = new Int32Array(size)
    this.step = new Uint8Array(size)
    this.reports = new Float64Array(subscribers)
    this.#length = size
    this.#nextSubscriber = size
  }

  /** Number of sessions without a request under way. */
  get free(): number {
    return this.#length
  }

  /** The session that has waited longest; -1 if all have a request under way. */
  take(): number {
    if (this.#length === 0) return -1
    const session = this.#waiting[this.#head] ?? -1
    this.#head = (this.#head + 1) % this.#waiting.length
    this.#length -= 1
    return session
  }

  /**
   * Returns a session to the ring after its request, unless only starts are wanted and all are
   * done.
   */
  release(session: number, fate: Fate): void {
    if (fate === 'admitted') this.#goOn(session)
    if (fate === 'failed') this.#begin(session)
    if (this.#isDraining && fate !== 'refused') return
    if ((this.subscriber[session] ?? 0) >= this.#options.subscribers) return
    this.#waiting[(this.#head + this.#length) % this.#waiting.length] = session
    this.#length += 1
  }

  /** Switches to releasing the open sessions only. No request may be under way. */
  drain(): void {
    const open = [...this.step.keys()].filter((session) => (this.step[session] ?? 0) > 0)
    for (const [index, session] of open.entries()) {
      this.step[session] = RELEASE
      this.#waiting[index] = session
    }
    this.#head = 0
    this.#length = open.length
    this.#isDraining = true
  }

  #goOn(session: number): void {
    const step = this.step[session] ?? 0
    const subscriber = this.subscriber[session] ?? 0
    if (step > 0) this.reports[subscriber] = (this.reports[subscriber] ?? 0) + 1
    if (step === RELEASE || this.#options.onlyStarts) this.#begin(session)
    else this.step[session] = step + 1 + (step === 0 ? this.#skipped(session) : 0)
  }

  /** Updates that a session does without. */
  #skipped(session: number): number {
    return this.generation[session] === 0 ? session % RELEASE : 0
  }

  /** Starts the next session in this slot, of another subscriber without a session. */
  #begin(session: number): void {
    const { sessions, subscribers, onlyStarts } = this.#options
    this.step[session] = 0
    this.generation[session] = (this.generation[session] ?? 0) + 1
    if (onlyStarts) {
      this.subscriber[session] = this.#nextSubscriber
      this.#nextSubscriber += 1
      return
    }
    // Each slot has its own subscribers.
    const next = (this.subscriber[session] ?? 0) + sessions
    this.subscriber[session] = next < subscribers ? next : session % sessions
  }
}

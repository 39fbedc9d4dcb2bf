/**
 * Decides which sessions receive a RAR or an ASR, and when. Losing such a request is harmless: the
 * validity time of the granted units still ends.
 */
import type { SessionEvent } from '../../domain/worker-task.ts'
import type { PeerSession, SessionRegistry, SessionRoute } from './sessions.ts'

export type ServerRequest = 'reauthorize' | 'abort'

export interface ReauthorizationOptions<Connection extends object> {
  readonly registry: SessionRegistry<Connection>
  /**
   * Returns the Result-Code of the answer; 0 if there was none in time or the connection was lost.
   */
  readonly send: (kind: ServerRequest, route: SessionRoute<Connection>) => Promise<number>
  readonly perSecondMax: number
  /** Limit of sessions that wait for a RAR; further RARs are dropped. */
  readonly waitingMax?: number
}

export interface ServerRequestCounts {
  sent: number
  /** Answered with 2001 or 2002. */
  succeeded: number
  /** Given up: refused, or unanswered twice. */
  failed: number
}

export interface ReauthorizationCounts {
  readonly reauthorize: Readonly<ServerRequestCounts>
  readonly abort: Readonly<ServerRequestCounts>
  /** Not sent because too many sessions waited. */
  readonly dropped: number
  /** Sessions that wait for a request to be sent or answered. */
  readonly pending: number
}

/** A pending request to a session, which has at most one. */
interface Job {
  readonly session: PeerSession
  kind: ServerRequest
  /** Sequence number of the change that the session has to learn of. */
  sequence: number
  attempts: number
  isUnderWay: boolean
  /** The request to send after the answer to the current one. */
  follow: ServerRequest | null
  /** When it is retried. */
  dueMs: number
}

const WAITING_MAX = 100_000
/** Sending time lost while the thread was busy is made up for up to this limit, ms. */
const BURST_MS = 20
/** Delay before an unanswered request is repeated, ms. */
const RETRY_MS = 5_000
const ATTEMPTS_MAX = 2
/** Sessions examined per step, so that a step does not delay requests. */
const STEP_SESSIONS_MAX = 1_000

const SUCCESS: ReadonlySet<number> = new Set([2001, 2002])
const UNKNOWN_SESSION = 5002
/** No answer; or from a relay: the client is not reachable; or from the peer: too busy. */
const LOST: ReadonlySet<number> = new Set([0, 3002, 3004])

export class ReauthorizationQueue<Connection extends object> {
  readonly #options: ReauthorizationOptions<Connection>
  readonly #onAnswer: () => void
  readonly #jobs = new Map<PeerSession, Job>()
  readonly #waiting: Record<ServerRequest, Set<Job>> = { abort: new Set(), reauthorize: new Set() }
  /** In the order in which they are due. */
  readonly #retries = new Set<Job>()
  readonly #answers: { job: Job; code: number }[] = []
  readonly #counts = { reauthorize: noCounts(), abort: noCounts() }
  #dropped = 0
  /**
   * The walk through all sessions is for those whose last request precedes this sequence number.
   */
  #walkSequence = 0
  #isWalking = false
  #freeAtMs = Number.NEGATIVE_INFINITY

  /** `onAnswer` is called when an answer is ready for the next step. */
  constructor(options: ReauthorizationOptions<Connection>, onAnswer: () => void) {
    this.#options = options
    this.#onAnswer = onAnswer
  }

  counts(): ReauthorizationCounts {
    const { reauthorize, abort } = this.#counts
    const pending = this.#jobs.size
    return { reauthorize: { ...reauthorize }, abort: { ...abort }, dropped: this.#dropped, pending }
  }

  /** Queues the requests for a session event; the next step sends them. */
  take(event: SessionEvent): void {
    const { registry } = this.#options
    const sequence = registry.nextSequence()
    if (event.kind === 'reauthorizeAll') {
      this.#walkSequence = sequence
      this.#isWalking = true
      registry.beginWalk()
      return
    }
    if (event.kind === 'release') {
      const session = registry.find(event.origin, event.sessionId)
      if (session !== undefined) this.#request(session, 'abort', sequence)
      return
    }
    const answered =
      event.kind === 'reauthorize' && event.origin !== undefined && event.sessionId !== undefined
        ? registry.find(event.origin, event.sessionId)
        : undefined
    for (const session of registry.ofSubscriber(event.aid, event.sid)) {
      if (session === answered) continue
      this.#request(session, event.kind, sequence)
    }
  }

  /**
   * Processes received answers, and sends as many requests as the rate allows. `nowMs`: a monotonic
   * clock. Returns after how many ms the next step is due; null if not before the next event or
   * answer.
   */
  step(nowMs: number): number | null {
    for (const { job, code } of this.#answers.splice(0)) this.#settle(job, code, nowMs)
    for (const job of this.#retries) {
      if (job.dueMs > nowMs) break
      this.#retries.delete(job)
      this.#waiting[job.kind].add(job)
    }
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - BURST_MS)
    for (let examined = 0; examined < STEP_SESSIONS_MAX; examined += 1) {
      if (!this.#hasWork()) return this.#untilLater(nowMs)
      if (this.#freeAtMs > nowMs) return this.#freeAtMs - nowMs
      const job = this.#next()
      if (job !== null && this.#send(job, nowMs)) {
        this.#freeAtMs += 1000 / this.#options.perSecondMax
      }
    }
    return 0
  }

  #hasWork(): boolean {
    const { abort, reauthorize } = this.#waiting
    return abort.size > 0 || reauthorize.size > 0 || this.#isWalking
  }

  #untilLater(nowMs: number): number | null {
    for (const { dueMs } of this.#retries) return Math.max(0, dueMs - nowMs)
    return null
  }

  #request(session: PeerSession, kind: ServerRequest, sequence: number): void {
    const job = this.#jobs.get(session)
    if (job === undefined) {
      if (kind === 'reauthorize' && this.#jobs.size >= (this.#options.waitingMax ?? WAITING_MAX)) {
        this.#dropped += 1
        return
      }
      this.#waiting[kind].add(this.#begin(session, kind, sequence))
      return
    }
    job.sequence = sequence
    if (job.isUnderWay) {
      if (job.kind === 'reauthorize' && job.follow !== 'abort') job.follow = kind
      return
    }
    if (kind === 'abort' && job.kind === 'reauthorize') {
      this.#retries.delete(job)
      this.#waiting.reauthorize.delete(job)
      this.#requeue(job, 'abort')
    }
  }

  #begin(session: PeerSession, kind: ServerRequest, sequence: number): Job {
    const state = { attempts: 0, isUnderWay: false, follow: null, dueMs: 0 }
    const job: Job = { session, kind, sequence, ...state }
    this.#jobs.set(session, job)
    return job
  }

  #requeue(job: Job, kind: ServerRequest): void {
    job.kind = kind
    job.attempts = 0
    job.follow = null
    this.#waiting[kind].add(job)
  }

  /**
   * Aborts come first, then individual reauthorizations, then the walk. Null if the session needs
   * no request.
   */
  #next(): Job | null {
    for (const waiting of [this.#waiting.abort, this.#waiting.reauthorize]) {
      for (const job of waiting) {
        waiting.delete(job)
        return job
      }
    }
    const session = this.#options.registry.nextInWalk()
    this.#isWalking = session !== undefined
    if (session === undefined || session.sequence >= this.#walkSequence) return null
    if (!this.#jobs.has(session)) return this.#begin(session, 'reauthorize', this.#walkSequence)
    this.#request(session, 'reauthorize', this.#walkSequence)
    return null
  }

  /**
   * Returns false if nothing was sent: the session has ended, has sent a request itself, or is not
   * reachable.
   */
  #send(job: Job, nowMs: number): boolean {
    const { registry, send } = this.#options
    const { session, kind } = job
    const hasEnded = registry.find(session.origin, session.sessionId) !== session
    if (hasEnded || (kind === 'reauthorize' && session.sequence >= job.sequence)) {
      this.#jobs.delete(session)
      return false
    }
    job.attempts += 1
    const route = registry.routeTo(session)
    if (route === undefined) {
      this.#settle(job, 0, nowMs)
      return false
    }
    job.isUnderWay = true
    this.#counts[kind].sent += 1
    const answered = (code: number) => {
      this.#answers.push({ job, code })
      this.#onAnswer()
    }
    send(kind, route).then(answered, () => answered(0))
    return true
  }

  #settle(job: Job, code: number, nowMs: number): void {
    const { session, kind, follow, attempts } = job
    const counts = this.#counts[kind]
    job.isUnderWay = false
    job.follow = null
    if (LOST.has(code) && attempts < ATTEMPTS_MAX && follow !== 'abort') {
      job.dueMs = nowMs + RETRY_MS
      this.#retries.add(job)
      return
    }
    if (SUCCESS.has(code)) counts.succeeded += 1
    else counts.failed += 1
    if (code === UNKNOWN_SESSION) this.#options.registry.forget(session.origin, session.sessionId)
    if (follow === null || code === UNKNOWN_SESSION) this.#jobs.delete(session)
    else this.#requeue(job, follow)
  }
}

function noCounts(): ServerRequestCounts {
  return { sent: 0, succeeded: 0, failed: 0 }
}

export interface Reauthorization {
  take(event: SessionEvent): void
  counts(): ReauthorizationCounts
  /** Stops sending. */
  close(): void
}

/** Runs the queue by timers. `elapsedMs`: a monotonic clock. */
export function startReauthorization<Connection extends object>(
  options: ReauthorizationOptions<Connection>,
  elapsedMs: () => number,
): Reauthorization {
  let timer: NodeJS.Timeout | undefined
  let dueMs = Number.POSITIVE_INFINITY
  let isClosed = false
  const wakeIn = (waitMs: number) => {
    const atMs = elapsedMs() + waitMs
    // A continuous stream of events must not postpone the step.
    if (isClosed || atMs >= dueMs) return
    clearTimeout(timer)
    dueMs = atMs
    timer = setTimeout(step, waitMs)
    timer.unref()
  }
  const queue = new ReauthorizationQueue(options, () => wakeIn(0))
  const step = () => {
    dueMs = Number.POSITIVE_INFINITY
    const waitMs = queue.step(elapsedMs())
    if (waitMs !== null) wakeIn(waitMs)
  }
  return {
    take(event) {
      queue.take(event)
      wakeIn(0)
    },
    counts: () => queue.counts(),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** Sends the events of one receiver, with limits of its own. */
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { NotificationSettings } from '../catalog/settings/events/notification-settings.ts'
import { CircuitBreaker, type CircuitState } from '../external/circuit-breaker.ts'
import { callErrorOf, type Outgoing } from '../external/outgoing.ts'
import { type Clock, monotonicMs, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'
import { acceptanceIn } from './answer.ts'
import { ClaimSize, HELD_MS } from './claim-size.ts'
import { DeliveryError } from './failure.ts'
import type { OutcomeWriter } from './outcomes.ts'
import {
  claimEvents,
  dueEvents,
  type EventClaim,
  OF_SETTINGS,
  type StoredEvent,
  storeUnaddressed,
} from './pending-events.ts'
import { type ResolvedReceiver, requestOf, resolveReceiver } from './request.ts'

const DELAY_MS_MAX = 3_600_000

/**
 * Time before the attempt after the failed one of this number (from 1), in ms. It doubles up to an
 * hour; `random` (from 0 to below 1) takes away up to half of it, so that events that failed
 * together are not repeated together.
 */
export function retryDelayMs(attempt: number, firstMs: number, random: number): number {
  const fullMs = Math.min(firstMs * 2 ** (attempt - 1), DELAY_MS_MAX)
  return Math.round(fullMs * (1 - random / 2))
}

const ANSWER_BYTES_MAX = 64 * 1024
/** A claim is longer than an attempt by the wait before it and the write after it. */
const CLAIM_MARGIN_MS = 5_000
/** Attempts may begin so much earlier, because timers are late. */
const RATE_SLACK_MS = 10
const FAILURES_MAX = 5
const OPEN_MS_MIN = 1_000
const OPEN_MS_MAX = 60_000

export interface QueueParts {
  readonly catalog: Catalog
  readonly outgoing: Outgoing
  readonly outcomes: OutcomeWriter
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly metrics: NotificationMetrics
  /** The settings at this time. */
  readonly settings: () => NotificationSettings
  /** Ends attempts under way. */
  readonly signal: AbortSignal
}

interface Attempt {
  readonly claim: EventClaim
  readonly startMs: number
  readonly receiver: ResolvedReceiver
  /** The settings at its begin. */
  readonly now: NotificationSettings
  /** The circuit of its address. */
  readonly circuit: CircuitBreaker
}

export class ReceiverQueue {
  readonly #key: string
  readonly #parts: QueueParts
  /** The address that the circuit belongs to. */
  #url: string | null
  #circuit: CircuitBreaker
  readonly #underWay = new Set<Promise<void>>()
  /** Earliest time of the next attempt, for the rate. */
  #nextMs = 0
  #pumping: Promise<void> | null = null
  readonly #claimSize = new ClaimSize(monotonicMs)
  /** Wakes the pump that waits for room. */
  #roomChanged: () => void = () => undefined
  #isEnding = false

  /** `key`: of `PendingReceiver`. */
  constructor(key: string, parts: QueueParts) {
    this.#key = key
    this.#parts = parts
    this.#url = this.#urlNow()
    this.#circuit = this.#newCircuit()
  }

  get isIdle(): boolean {
    return this.#pumping === null && this.#underWay.size === 0
  }

  /** Begins to send what is due, unless it does already. */
  wake(): void {
    this.#followUrl()
    if (this.#pumping !== null || !this.#isPassing || this.#room <= 0) return
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = null
    })
  }

  /** Begins no more attempts. Resolves when those under way have ended. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#roomChanged()
    await this.#pumping
    await Promise.all(this.#underWay)
  }

  /** To be called when the queue is no longer used. */
  forget(): void {
    if (this.#circuit.state !== 'closed') this.#showCircuit('closed')
  }

  /** Null if the settings have no address. */
  #urlNow(): string | null {
    return this.#key === OF_SETTINGS ? this.#parts.settings().http.url : this.#key
  }

  /** Failures of another address are not those of this one. */
  #followUrl(): void {
    const url = this.#urlNow()
    if (url === this.#url) return
    this.forget()
    this.#url = url
    this.#circuit = this.#newCircuit()
  }

  #newCircuit(): CircuitBreaker {
    return new CircuitBreaker({
      failuresMax: FAILURES_MAX,
      openMsMin: OPEN_MS_MIN,
      openMsMax: OPEN_MS_MAX,
      elapsedMs: monotonicMs,
      onChange: (state) => this.#circuitChanged(state),
    })
  }

  /** Whether attempts may begin, if there is room for them. */
  get #isPassing(): boolean {
    const { problem } = this.#parts.settings()
    return !this.#isEnding && problem === null && this.#circuit.isPassing
  }

  /** Attempts that may begin in addition to those under way. */
  get #room(): number {
    return this.#parts.settings().http.concurrency - this.#underWay.size
  }

  /** Sends what is claimed; for a fast receiver, the next events are claimed meanwhile. */
  async #pump(): Promise<void> {
    let claims = await this.#claim(this.#sizeForRoom())
    while (claims !== null) {
      const size = this.#claimSize.now()
      const isFast =
        this.#circuit.state === 'closed' && size > this.#parts.settings().http.concurrency
      const ahead = isFast ? this.#claim(size) : []
      const [isSent, next] = await Promise.all([this.#sendAll(claims), ahead])
      if (!isSent) return this.#release(next ?? [])
      if (!isFast) await this.#whenRoom()
      claims = isFast ? next : await this.#claim(this.#sizeForRoom())
    }
  }

  /** Events that can begin at once. */
  #sizeForRoom(): number {
    if (this.#circuit.state !== 'closed') return 1
    const byRate = (this.#parts.settings().http.ratePerSecond * HELD_MS) / 1_000
    return Math.max(1, Math.min(this.#room, Math.floor(byRate)))
  }

  /**
   * Claims events that are due; without those that another process has claimed meanwhile. Null if
   * nothing is due or it cannot be read: the next poll tries again, and logs an outage.
   */
  async #claim(size: number): Promise<EventClaim[] | null> {
    const { catalog, clock, outcomes, settings, log } = this.#parts
    try {
      if (outcomes.isBehind) await outcomes.settled()
      if (!this.#isPassing) return null
      const nowMs = clock.nowMs()
      const events = await dueEvents(catalog, this.#key, nowMs, size)
      if (events.length === 0) return null
      const addressed = await this.#addressed(events)
      if (addressed.length === 0) return []
      const { orphanMs, http } = settings()
      const leaseMs = Math.max(orphanMs, http.timeoutMs + CLAIM_MARGIN_MS)
      return await claimEvents(catalog, addressed, { nowMs, leaseMs })
    } catch (error) {
      if (!(error instanceof CatalogUnavailableError)) {
        log.error({ err: error }, 'notifications of a receiver cannot be read')
      }
      return null
    }
  }

  /** The events that have an address; the others are marked. */
  async #addressed(events: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
    const { catalog, metrics, log, settings } = this.#parts
    const now = settings()
    const isAddressed = (event: StoredEvent) => resolveReceiver(event, now) !== null
    const unaddressed = events.filter((event) => !isAddressed(event))
    if (unaddressed.length === 0) return events
    const count = await storeUnaddressed(catalog, unaddressed)
    metrics.notifications('', 'unaddressed', count)
    if (count > 0) log.info({ count }, 'notifications have no receiver')
    return events.filter(isAddressed)
  }

  /** Begins their attempts in order. False if one could not begin: the rest is given back. */
  async #sendAll(claims: readonly EventClaim[]): Promise<boolean> {
    for (const [at, claim] of claims.entries()) {
      await this.#whenRoom()
      if (this.#isPassing && this.#begin(claim)) continue
      this.#release(claims.slice(at))
      return false
    }
    return true
  }

  /** Resolves when an attempt may begin, or no more attempts begin. */
  async #whenRoom(): Promise<void> {
    while (this.#room <= 0 && !this.#isEnding) {
      await new Promise<void>((ended) => {
        this.#roomChanged = ended
      })
    }
    const waitMs = this.#nextMs - monotonicMs()
    const { signal } = this.#parts
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined)
  }

  /** False if the claim may end before its attempt does, or if the address is gone. */
  #begin(claim: EventClaim): boolean {
    const { clock, settings } = this.#parts
    const now = settings()
    const { timeoutMs, ratePerSecond } = now.http
    const startMs = clock.nowMs()
    const receiver = resolveReceiver(claim.event, now)
    if (receiver === null || startMs + timeoutMs > claim.endMs) return false
    const circuit = this.#circuit
    circuit.begin()
    this.#nextMs = Math.max(this.#nextMs, monotonicMs() - RATE_SLACK_MS) + 1_000 / ratePerSecond
    const attempt = this.#attempt({ claim, startMs, receiver, now, circuit })
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error }, 'a notification cannot be sent')
      })
      .finally(() => {
        this.#underWay.delete(attempt)
        this.#roomChanged()
      })
    this.#underWay.add(attempt)
    return true
  }

  #release(claims: readonly EventClaim[]): void {
    for (const claim of claims) this.#parts.outcomes.add({ kind: 'released', claim })
  }

  async #attempt(attempt: Attempt): Promise<void> {
    const { clock, metrics, outcomes, signal } = this.#parts
    const { claim, startMs, receiver, circuit } = attempt
    const host = hostOf(receiver.url)
    let returned: string
    try {
      returned = await this.#send(attempt)
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error
      if (signal.aborted) return this.#release([claim])
      circuit.failed()
      return this.#failed(attempt, host, error)
    }
    circuit.succeeded()
    this.#claimSize.taken()
    metrics.notifications(host, 'delivered', 1)
    outcomes.add({ kind: 'delivered', claim, startMs, nowMs: clock.nowMs(), returned })
  }

  #failed({ claim, startMs, now: { http } }: Attempt, host: string, error: DeliveryError): void {
    const { clock, log, metrics, outcomes } = this.#parts
    const { attempt, event } = claim
    const reason = error.message
    metrics.notifications(host, 'failed', 1)
    const isLast = attempt >= http.triesMax
    const delayMs = retryDelayMs(attempt, http.retryMs, randomFraction())
    const dueMs = isLast ? null : clock.nowMs() + delayMs
    outcomes.add({ kind: 'failed', claim, startMs, error: reason, dueMs }, () => {
      if (!isLast) return
      metrics.notifications(host, 'dead', 1)
      const { stamp, event_code: code } = event
      log.warn({ stamp, code, host, attempt, reason }, 'notification is dead: no attempt succeeded')
    })
  }

  /** The answer. Rejects with `DeliveryError`. */
  async #send({ claim: { event }, startMs, receiver, now: { http } }: Attempt): Promise<string> {
    const { outgoing, clock, signal: ending } = this.#parts
    const signedMs = realTimeOf(clock).nowMs()
    const call = requestOf(event, receiver, http.secret, { startMs, signedMs })
    const abort = new AbortController()
    const { signal } = abort
    const end = () => abort.abort()
    const timer = setTimeout(end, http.timeoutMs)
    ending.addEventListener('abort', end, { once: true })
    if (ending.aborted) end()
    try {
      const bytes = await outgoing.call(call, { signal, bytesMax: ANSWER_BYTES_MAX })
      return acceptanceIn(bytes, receiver.decoder)
    } catch (error) {
      if (error instanceof DeliveryError) throw error
      const { kind, reason } = callErrorOf(error, signal, http.timeoutMs)
      throw new DeliveryError(kind, reason)
    } finally {
      clearTimeout(timer)
      ending.removeEventListener('abort', end)
    }
  }

  #circuitChanged(state: CircuitState): void {
    const { log } = this.#parts
    const host = hostOf(this.#url)
    this.#showCircuit(state)
    if (state === 'open') log.warn({ host }, 'a receiver of notifications fails; it gets a pause')
    if (state === 'closed') log.info({ host }, 'a receiver of notifications works again')
  }

  #showCircuit(state: CircuitState): void {
    this.#parts.metrics.receiverCircuit(hostOf(this.#url), state)
  }
}

function hostOf(url: string | null): string {
  return url !== null && URL.canParse(url) ? new URL(url).host : ''
}

const FRACTIONS = 2 ** 32

function randomFraction(): number {
  return randomInt(FRACTIONS) / FRACTIONS
}

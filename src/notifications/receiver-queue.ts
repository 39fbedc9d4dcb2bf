/** Sends the events of one receiver, with limits of its own. */
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { NotificationSettings } from '../catalog/settings/notification-settings.ts'
import { CircuitBreaker, type CircuitState } from '../external/circuit-breaker.ts'
import { callErrorOf, type Outgoing } from '../external/outgoing.ts'
import { type Clock, monotonicMs, realTimeOf } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'
import { acceptanceIn } from './answer.ts'
import { retryDelayMs } from './back-off.ts'
import { DeliveryError } from './failure.ts'
import {
  claimEvent,
  dueEvents,
  type EventClaim,
  OF_SETTINGS,
  releaseClaim,
  type StoredEvent,
  storeDelivered,
  storeFailed,
  storeUnaddressed,
} from './pending-events.ts'
import { type ResolvedReceiver, requestOf, resolveReceiver } from './request.ts'

/** Events of a receiver that are in memory besides those under way. */
const BATCH = 16
const ANSWER_BYTES_MAX = 64 * 1024
/** By which a claim is longer than its attempt: for the writes around it. */
const CLAIM_MARGIN_MS = 5_000
const FAILURES_MAX = 5
const OPEN_MS_MIN = 1_000
const OPEN_MS_MAX = 60_000
/** Pause before the result of an attempt is written again. */
const WRITE_RETRY_MS = 500

export interface QueueParts {
  readonly catalog: Catalog
  readonly outgoing: Outgoing
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly metrics: NotificationMetrics
  /** The settings at this time. */
  readonly settings: () => NotificationSettings
  /** Ends attempts under way. */
  readonly signal: AbortSignal
}

export class ReceiverQueue {
  readonly #key: string
  readonly #parts: QueueParts
  /** The address of which the circuit is. */
  #url: string | null
  #circuit: CircuitBreaker
  readonly #underWay = new Set<Promise<void>>()
  /** Earliest time of the next attempt, for the rate. */
  #nextMs = 0
  #pumping: Promise<void> | null = null
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
    if (this.#pumping !== null || this.#isEnding || !this.#hasRoom()) return
    this.#pumping = this.#pump()
      .catch((error: unknown) => {
        // The next poll tries again, and logs an outage.
        if (error instanceof CatalogUnavailableError) return
        this.#parts.log.error({ err: error }, 'notifications of a receiver cannot be read')
      })
      .finally(() => {
        this.#pumping = null
      })
  }

  /** Begins no more attempts. Resolves when those under way have ended. */
  async end(): Promise<void> {
    this.#isEnding = true
    await this.#pumping
    await Promise.all(this.#underWay)
  }

  /** To be called when it is not used any more. */
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

  #hasRoom(): boolean {
    const { http, problem } = this.#parts.settings()
    return problem === null && this.#circuit.isPassing && this.#underWay.size < http.concurrency
  }

  async #pump(): Promise<void> {
    const { catalog, clock } = this.#parts
    for (let found = BATCH; found === BATCH; ) {
      const events = await dueEvents(catalog, this.#key, clock.nowMs(), BATCH)
      found = events.length
      await this.#unaddress(events)
      for (const event of events) {
        await this.#room()
        if (this.#isEnding || !this.#hasRoom()) return
        await this.#begin(event)
      }
    }
  }

  async #unaddress(events: readonly StoredEvent[]): Promise<void> {
    const { catalog, metrics, log, settings } = this.#parts
    const { problem } = settings()
    if (problem !== null) return
    const unaddressed = events.filter((event) => resolveReceiver(event, settings()) === null)
    if (unaddressed.length === 0) return
    const count = await storeUnaddressed(catalog, unaddressed)
    metrics.notifications('', 'unaddressed', count)
    if (count > 0) log.info({ count }, 'notifications have no receiver')
  }

  /** Resolves when an attempt may begin, or the circuit has opened. */
  async #room(): Promise<void> {
    while (this.#underWay.size >= this.#parts.settings().http.concurrency) {
      await Promise.race(this.#underWay)
    }
    const waitMs = this.#nextMs - monotonicMs()
    const { signal } = this.#parts
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined)
  }

  /** Claims an event, and begins its attempt. */
  async #begin(event: StoredEvent): Promise<void> {
    const { catalog, clock, settings } = this.#parts
    const now = settings()
    const receiver = resolveReceiver(event, now)
    if (receiver === null) return
    const leaseMs = Math.max(now.orphanMs, now.http.timeoutMs + CLAIM_MARGIN_MS)
    const claim = await claimEvent(catalog, event, clock.nowMs(), leaseMs)
    if (claim === null) return
    const circuit = this.#circuit
    circuit.begin()
    this.#nextMs = Math.max(this.#nextMs, monotonicMs()) + 1_000 / now.http.ratePerSecond
    const attempt = this.#attempt(claim, receiver, now, circuit).catch((error: unknown) => {
      this.#parts.log.error({ err: error }, 'the result of a notification cannot be stored')
    })
    this.#underWay.add(attempt)
    void attempt.finally(() => this.#underWay.delete(attempt))
  }

  async #attempt(
    claim: EventClaim,
    receiver: ResolvedReceiver,
    now: NotificationSettings,
    circuit: CircuitBreaker,
  ): Promise<void> {
    const { catalog, clock, metrics, signal } = this.#parts
    const host = hostOf(receiver.url)
    let returned: string
    try {
      returned = await this.#send(claim, receiver, now)
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error
      if (signal.aborted) return await this.#written(claim, () => releaseClaim(catalog, claim))
      circuit.failed()
      return await this.#failed(claim, host, error, now)
    }
    circuit.succeeded()
    metrics.notifications(host, 'delivered', 1)
    await this.#written(claim, () => storeDelivered(catalog, claim, clock.nowMs(), returned))
  }

  async #failed(
    claim: EventClaim,
    host: string,
    error: DeliveryError,
    { http }: NotificationSettings,
  ): Promise<void> {
    const { catalog, clock, log, metrics } = this.#parts
    const { attempt, event } = claim
    metrics.notifications(host, 'failed', 1)
    const isLast = attempt >= http.triesMax
    const delayMs = retryDelayMs(attempt, http.retryMs, randomFraction())
    const dueMs = isLast ? null : clock.nowMs() + delayMs
    await this.#written(claim, () => storeFailed(catalog, claim, error.message, dueMs))
    if (!isLast) return
    metrics.notifications(host, 'dead', 1)
    const { stamp, event_code: code } = event
    const reason = error.message
    log.warn({ stamp, code, host, attempt, reason }, 'notification is dead: no attempt succeeded')
  }

  /** The answer. Rejects with `DeliveryError`. */
  async #send(
    claim: EventClaim,
    receiver: ResolvedReceiver,
    { http }: NotificationSettings,
  ): Promise<string> {
    const { outgoing, clock, signal: ending } = this.#parts
    const signedMs = realTimeOf(clock).nowMs()
    const { startMs, event } = claim
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

  /** Writes a result, again during an outage of MongoDB as long as the claim lasts. */
  async #written({ endMs }: EventClaim, write: () => Promise<void>): Promise<void> {
    const { clock, signal } = this.#parts
    for (;;) {
      try {
        return await write()
      } catch (error) {
        const isOver = signal.aborted || clock.nowMs() >= endMs
        if (!(error instanceof CatalogUnavailableError) || isOver) throw error
        await delay(WRITE_RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
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

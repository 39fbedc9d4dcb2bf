/** Stores the results of claimed events: those that end together are one write. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { type Outcome, storeOutcomes } from './pending-events.ts'

/** Maximum number of outcomes in one write. */
const OUTCOMES_MAX = 500
/** Unstored outcomes beyond which no more events should be claimed. */
const BEHIND = 2_000
/** Time that a write waits for further outcomes. */
const GATHER_MS = 20
/** Pause before outcomes are written again. */
const RETRY_MS = 500

export interface OutcomeParts {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  /** Ends retries. */
  readonly signal: AbortSignal
}

interface Waiting {
  readonly outcome: Outcome
  readonly stored: (() => void) | undefined
}

export class OutcomeWriter {
  readonly #parts: OutcomeParts
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null

  constructor(parts: OutcomeParts) {
    this.#parts = parts
  }

  /** `stored` is called when it is stored. */
  add(outcome: Outcome, stored?: () => void): void {
    this.#waiting.push({ outcome, stored })
    this.#writing ??= this.#writeAll()
  }

  /** Whether outcomes are added faster than they are stored. */
  get isBehind(): boolean {
    return this.#waiting.length > BEHIND
  }

  /** Resolves when all that was added is stored, or given up. Never rejects. */
  async settled(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    const { catalog, log, signal } = this.#parts
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < OUTCOMES_MAX) await pause(GATHER_MS, signal)
      const batch = this.#waiting.splice(0, OUTCOMES_MAX)
      try {
        const outcomes = batch.map(({ outcome }) => outcome)
        await storeOutcomes(catalog, outcomes)
        for (const { stored } of batch) stored?.()
      } catch (error) {
        const kept = this.#repeatable(batch, error)
        if (kept.length < batch.length) {
          const count = batch.length - kept.length
          log.error({ err: error, count }, 'results of notifications cannot be stored')
        }
        if (kept.length === 0) continue
        this.#waiting.unshift(...kept)
        await pause(RETRY_MS, signal)
      }
    }
    // In the same turn as the last look: what is added from now on begins another write.
    this.#writing = null
  }

  /** Outcomes to retry: until the claim expires while MongoDB is down. */
  #repeatable(batch: readonly Waiting[], error: unknown): Waiting[] {
    const { clock, signal } = this.#parts
    if (!(error instanceof CatalogUnavailableError) || signal.aborted) return []
    const nowMs = clock.nowMs()
    return batch.filter(({ outcome }) => outcome.claim.endMs > nowMs)
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

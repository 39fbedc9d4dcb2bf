/**
 * Works on a run: claims pages, has them processed, and finishes the run after the last one. Any
 * number of processes take part in a run.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { CatalogUnavailableError, EntityConflictError } from '../../catalog/errors.ts'
import type {
  CycleCounts,
  CyclePageDocument,
  CycleRunDocument,
} from '../../catalog/records/money/cycle-documents.ts'
import { CustomerSystemError } from '../../external/customers/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RunCycle } from '../cycle/run-cycle.ts'
import type { AccountSource } from './account-source.ts'
import { isCustomerSystemAway } from './external-accounts.ts'
import {
  arePagesDone,
  type ClaimedPage,
  claimPage,
  PAGE_SIZE,
  PageLostError,
  RENEW_MS,
  renewPages,
} from './pages.ts'
import { readParked } from './parked.ts'
import type { AwaitTurn, PageTask } from './process-page.ts'
import { type RunConfig, type RunData, readRunData } from './run-data.ts'
import { finishRun, pauseRun, type RunParts, readRun } from './runs.ts'

/** Processes pages, in worker threads or on this one. */
export interface PageWorkers {
  /** Pages that are processed at the same time. */
  readonly pagesAtOnce: number
  /** Rejects like `processPage`. */
  process(task: PageTask, awaitTurn: AwaitTurn): Promise<CycleCounts>
  close(): Promise<void>
}

export interface RunWatch {
  /**
   * After each page, and when it begins or ends to wait for MongoDB or the customer system
   * (`waiting`: the reason).
   */
  onProgress?(run: CycleRunDocument, waiting: string): void | Promise<void>
}

export interface RunDeps extends RunParts {
  readonly config: RunConfig
  readonly workers: PageWorkers
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Accounts of a page; fewer in tests. */
  readonly pageSize?: number
}

/** At least as many accounts must fail before a run is paused. */
const FAILED_MIN = 20
const WAIT_MS = 200
const RETRY_MS = 500
const RETRY_MS_MAX = 15_000

/**
 * Works until the run is finished or paused, or the signal is aborted. Outages of MongoDB and of
 * the customer system are waited for: the run stands still, and `onProgress` says so. Answers of
 * the customer system that cannot be used pause it. Returns the run as it was last read.
 */
export async function participate(
  deps: RunDeps,
  cycle: RunCycle,
  signal: AbortSignal,
  watch: RunWatch = {},
): Promise<CycleRunDocument | null> {
  return new Participant(deps, cycle, signal, watch).work()
}

class Participant {
  readonly #deps: RunDeps
  readonly #cycle: RunCycle
  readonly #signal: AbortSignal
  readonly #watch: RunWatch
  /** Pages that this process holds, in their order; those to be processed again first. */
  readonly #again: ClaimedPage[] = []
  readonly #held = new Map<string, CyclePageDocument>()
  readonly #running = new Set<Promise<void>>()
  /** Resolves when the page before may be followed. */
  #turn: Promise<void> = Promise.resolve()
  #outage: Error | null = null
  #failure: unknown = null
  #data: RunData | null = null
  #source: AccountSource | null = null
  /** Why the run is to be paused. */
  #refusal: Error | null = null
  #skipped: ReadonlySet<number> = new Set()
  #run: CycleRunDocument | null = null

  constructor(deps: RunDeps, cycle: RunCycle, signal: AbortSignal, watch: RunWatch) {
    this.#deps = deps
    this.#cycle = cycle
    this.#signal = signal
    this.#watch = watch
  }

  async work(): Promise<CycleRunDocument | null> {
    const renewal = setInterval(() => this.#renew(), RENEW_MS)
    try {
      for (let retryMs = RETRY_MS; ; ) {
        try {
          await this.#passes()
          return this.#run
        } catch (error) {
          if (isOutage(error)) {
            await this.#standStill(error as Error, retryMs)
            retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)
          } else if (error instanceof CustomerSystemError) this.#refusal = error
          else throw error
        }
      }
    } finally {
      clearInterval(renewal)
      await Promise.allSettled(this.#running)
    }
  }

  /** Rejects with the outage of a page, or of an own read. */
  async #passes(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#throwFailure()
      this.#run = await readRun(this.#deps, this.#cycle.id)
      if (this.#run?.state !== 'running') break
      await this.#report('')
      if (await this.#pauseIfFailing(this.#run)) continue
      if (await this.#pauseIfRefused(this.#run)) continue
      if (this.#running.size >= this.#deps.workers.pagesAtOnce) {
        await Promise.race(this.#running)
        continue
      }
      const claimed = this.#again.shift() ?? (await this.#claim(this.#run))
      if (claimed === null && this.#signal.aborted) break
      if (claimed !== null) await this.#start(claimed)
      else if (this.#running.size > 0) await Promise.race(this.#running)
      else if (await arePagesDone(this.#deps, this.#run)) await this.#finish(this.#run)
      else await pause(WAIT_MS, undefined, { signal: this.#signal }).catch(() => undefined)
    }
    await Promise.allSettled(this.#running)
    this.#throwFailure()
  }

  async #claim(run: CycleRunDocument): Promise<ClaimedPage | null> {
    const { pageSize = PAGE_SIZE } = this.#deps
    const source = await this.#accounts()
    const claim = claimPage(this.#deps, run, { cycle: this.#cycle, source }, pageSize)
    return source.isExternal ? this.#unlessAborted(claim) : claim
  }

  async #accounts(): Promise<AccountSource> {
    this.#source ??= await this.#deps.openAccounts()
    return this.#source
  }

  async #finish(run: CycleRunDocument): Promise<void> {
    // A page that another process has created meanwhile is found by the next claim.
    if ((await this.#claimInto(run)) === 'claimed') return
    await finishRun(this.#deps, run)
    const { counts } = run
    this.#deps.log.info({ run: run._id, counts }, 'the run of the cycle is finished')
  }

  async #claimInto(run: CycleRunDocument): Promise<'claimed' | 'none'> {
    const claimed = await this.#claim(run)
    if (claimed === null) return 'none'
    this.#again.push(claimed)
    return 'claimed'
  }

  async #start({ page, customers: read }: ClaimedPage): Promise<void> {
    const { data, customers } = await this.#inputs(page, read)
    this.#held.set(page._id, page)
    const before = this.#turn
    const aids = page.aids.filter((aid) => !this.#skipped.has(aid))
    const generatePdf = this.#run?.generate_pdf === true
    const task: PageTask = { run: this.#cycle, data, aids, customers, page, generatePdf }
    // After an outage the later pages wait as well: numbers are taken in the order of the accounts.
    const awaitTurn = async () => {
      await before
      if (this.#outage !== null) throw this.#outage
    }
    const done = this.#deps.workers.process(task, awaitTurn).then(
      () => undefined,
      (error: unknown) => this.#fail({ page, customers }, error),
    )
    this.#turn = before.then(() => done)
    const running = done.finally(() => {
      this.#held.delete(page._id)
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  /** Null if the work is to end before: an answer of a customer system may take minutes. */
  async #unlessAborted<T>(result: Promise<T>): Promise<T | null> {
    const abort = new AbortController()
    const aborted = once(this.#signal, 'abort', { signal: abort.signal }).then(
      () => null,
      () => null,
    )
    // Its error is of no interest after the abort.
    result.catch(() => undefined)
    try {
      return this.#signal.aborted ? null : await Promise.race([result, aborted])
    } finally {
      abort.abort()
    }
  }

  /** The customer system is asked again for a page that another process has left. */
  async #inputs(page: CyclePageDocument, read: ClaimedPage['customers']) {
    try {
      this.#data ??= await this.#readShared()
      const source = await this.#accounts()
      const customers = read === undefined ? await source.customers(this.#cycle, page.aids) : read
      return { data: this.#data, customers }
    } catch (error) {
      this.#again.unshift({ page, customers: read })
      throw error
    }
  }

  async #readShared(): Promise<RunData> {
    const skipped = await readParked(this.#deps, { run: this.#cycle.id, state: 'skipped' })
    this.#skipped = new Set(skipped.map(({ aid }) => aid))
    return readRunData(this.#deps.catalog, this.#deps.config)
  }

  /** After an outage the page is processed again; it may have been stored already. */
  #fail(claimed: ClaimedPage, error: unknown): void {
    if (error instanceof PageLostError) return
    if (!isOutage(error)) {
      this.#failure ??= error
      return
    }
    this.#again.push(claimed)
    this.#again.sort((a, b) => a.page.after - b.page.after)
    this.#outage ??= error as Error
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure
    if (this.#outage !== null) throw this.#outage
  }

  async #pauseIfFailing({ _id, counts, continued }: CycleRunDocument): Promise<boolean> {
    const failed = counts.failed - continued.failed
    const accounts = counts.accounts - continued.accounts
    const percent = this.#data?.billrun.max_failed_percent ?? 100
    if (failed < FAILED_MIN || failed * 100 <= accounts * percent) return false
    const reason = `${failed} of ${accounts} accounts failed, more than ${percent} %`
    await pauseRun(this.#deps, _id, reason)
    this.#deps.log.warn({ run: _id, failed, accounts }, 'the run of the cycle is paused')
    return true
  }

  async #pauseIfRefused({ _id }: CycleRunDocument): Promise<boolean> {
    const error = this.#refusal
    if (error === null) return false
    await pauseRun(this.#deps, _id, error.message)
    this.#refusal = null
    this.#deps.log.warn({ run: _id, err: error }, 'the run of the cycle is paused')
    return true
  }

  async #standStill(error: Error, retryMs: number): Promise<void> {
    await Promise.allSettled(this.#running)
    this.#outage = null
    // The settings of the customer system may be corrected meanwhile.
    this.#source = null
    this.#deps.log.warn({ err: error }, 'the run of the cycle waits')
    await this.#report(error.message)
    await pause(retryMs, undefined, { signal: this.#signal }).catch(() => undefined)
  }

  async #report(waiting: string): Promise<void> {
    if (this.#run !== null) await this.#watch.onProgress?.(this.#run, waiting)
  }

  #renew(): void {
    const pages = [...this.#held.values(), ...this.#again.map(({ page }) => page)]
    renewPages(this.#deps, pages).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'cannot renew the pages of the run')
    })
  }
}

function isOutage(error: unknown): boolean {
  // Other processes were faster too often: as with an outage, the page is processed again.
  return (
    error instanceof CatalogUnavailableError ||
    error instanceof EntityConflictError ||
    isCustomerSystemAway(error)
  )
}

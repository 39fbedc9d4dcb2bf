/** Executes outbox entries: those of this process at once, those of others when they have ended. */
import { setTimeout as pause } from 'node:timers/promises'
import type { ObjectId } from 'mongodb'
import { monotonicMs, systemClock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { hasEnded, processIdentity } from '../../runtime/process-identity.ts'
import { StoreDownError } from '../../store/redis.ts'
import type { Collections } from '../collections.ts'
import { CatalogUnavailableError, EntityConflictError } from '../errors.ts'
import type { OutboxDocument } from '../records/outbox-document.ts'
import { LEASE_MS } from './outbox.ts'

/**
 * Executes an entry. May be called again with the same payload, also concurrently after a long
 * pause of the process. `save` replaces the stored payload, for repetitions. Errors of a store that
 * is unavailable (`StoreDownError`, `CatalogUnavailableError`) are retried soon, others with
 * growing delays.
 */
export type OutboxHandler = (
  payload: never,
  save: (payload: unknown) => Promise<void>,
) => Promise<void>

/** Waiting for earlier entries of the same subject. */
const WAIT_MS = 10_000
const PAUSE_MS = 10
/** Many that wait for the same one must not keep MongoDB busy. */
const PAUSE_MS_MAX = 160
const RETRY_MS = 1_000
const RETRY_MS_MAX = 300_000
const PASS_MAX = 1_000
/** Slow entries that a process executes at the same time. */
export const SLOW_AT_ONCE = 5
/** A process that stops leaves slow entries to others after this time. */
const STOP_MS = 2_000
/** Executed entries wait for others, to be deleted together. */
const DELETE_MS = 250

export interface OutboxRunner {
  /** Whether the entries of dead processes have been executed at least once. */
  hasRun(): boolean
  stop(): Promise<void>
}

type Log = Pick<Logger, 'info' | 'warn' | 'error'>

export class OutboxDispatcher {
  readonly #collections: Collections
  readonly #handlers = new Map<string, OutboxHandler>()
  #log: Log | null = null
  /** Executed entries that are not deleted yet. */
  #done: ObjectId[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(collections: Collections) {
    this.#collections = collections
  }

  /** Handlers by kind, in addition to those registered before. */
  register(handlers: Readonly<Record<string, OutboxHandler>>, log: Log): void {
    for (const [kind, handler] of Object.entries(handlers)) this.#handlers.set(kind, handler)
    this.#log = log
  }

  handles(kind: string): boolean {
    return this.#handlers.has(kind)
  }

  /**
   * Executes the committed entries of this process. Returns false if a store is unavailable: the
   * rest is executed later. Other errors are logged and retried later.
   */
  async dispatch(entries: readonly OutboxDocument[]): Promise<boolean> {
    for (const [index, entry] of entries.entries()) {
      const { kind, subject } = entry
      try {
        if (await this.#execute(entry, WAIT_MS)) continue
        this.#log?.warn({ kind, subject }, 'an outbox entry waits for earlier ones')
      } catch (error) {
        this.#log?.warn({ err: error, kind, subject }, 'an outbox entry waits for a store')
        for (const other of entries.slice(index + 1)) await this.#release(other, null)
        return false
      }
    }
    return true
  }

  /**
   * Waits until the earlier entries of its subject are done, and calls `act` instead of the handler
   * of this entry, which `act` or the caller removes. If `act` fails, the handler is executed: it
   * finds out what was done. Rejects with `EntityConflictError` if the earlier entries take too
   * long: the handler is executed after them.
   */
  async perform<T>(entry: OutboxDocument, act: () => Promise<T>): Promise<T> {
    try {
      await this.#waitForEarlier(entry, WAIT_MS)
    } catch (error) {
      await this.#release(entry, null)
      throw error
    }
    try {
      return await this.#holding(entry, act)
    } catch (error) {
      if (isStoreOutage(error)) await this.#release(entry, null)
      else await this.#execute(entry, WAIT_MS).catch(() => undefined)
      throw error
    }
  }

  /**
   * Waits until an entry is done; executes it if nobody else does. Rejects with
   * `EntityConflictError` if that takes too long.
   */
  async complete({ _id, subject }: OutboxDocument): Promise<void> {
    const giveUpMs = monotonicMs() + WAIT_MS
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      const entry = await this.#collections.outbox.findOne({ _id })
      if (entry === null) return
      const leftMs = giveUpMs - monotonicMs()
      if (leftMs <= 0) throw new EntityConflictError(`${subject} is being changed by others`)
      const claimed = isClaimable(entry) ? await this.#claim(entry) : null
      if (claimed === null) await pause(pauseMs)
      else await this.#execute(claimed, leftMs)
    }
  }

  /** Leaves entries that the caller has held to any process. */
  async release(entries: readonly OutboxDocument[]): Promise<void> {
    for (const entry of entries) await this.#release(entry, null)
  }

  /**
   * Executes the entries whose process has ended or given up, and returns their number. Rejects if
   * a store was unavailable for one of them.
   */
  async recover(): Promise<number> {
    return (await this.#recover(false)) + (await this.#recover(true))
  }

  /**
   * Entries that are not slow are executed one after the other; those that have to wait for others
   * are left to the next time.
   */
  async #recover(isSlow: boolean, signal?: AbortSignal): Promise<number> {
    const found = await this.#collections.outbox
      .find({ isSlow })
      .sort({ number: 1 })
      .limit(PASS_MAX)
      .toArray()
    const left = found.filter((entry) => this.handles(entry.kind) && isClaimable(entry))
    let executed = 0
    let outage: unknown = null
    const executeNext = async (): Promise<void> => {
      for (let entry = left.shift(); entry !== undefined; entry = left.shift()) {
        if (signal?.aborted === true) return
        const claimed = await this.#claim(entry)
        if (claimed === null) continue
        try {
          if (await this.#execute(claimed, 0)) executed += 1
        } catch (error) {
          outage = error
        }
      }
    }
    await Promise.all(Array.from({ length: isSlow ? SLOW_AT_ONCE : 1 }, executeNext))
    if (outage !== null) throw outage
    return executed
  }

  /** Executes abandoned entries now and repeatedly; retries if a store is unavailable. */
  start(): OutboxRunner {
    let hasRun = false
    const own = this.#repeat(async () => {
      if (!hasRun) await this.#completeOldEntries()
      const executed = await this.#recover(false)
      hasRun = true
      return executed
    })
    const slow = this.#repeat((signal) => this.#recover(true, signal))
    return {
      hasRun: () => hasRun,
      async stop() {
        const abort = new AbortController()
        const timeUp = pause(STOP_MS, undefined, { signal: abort.signal }).catch(() => undefined)
        await Promise.all([own(), Promise.race([slow(), timeUp])])
        abort.abort()
      },
    }
  }

  /** Entries of a version that did not distinguish slow ones. */
  async #completeOldEntries(): Promise<void> {
    await this.#collections.outbox.updateMany({ isSlow: { $exists: false } } as object, {
      $set: { isSlow: false },
    })
  }

  /** Returns a function that ends the repetition. */
  #repeat(act: (signal: AbortSignal) => Promise<number>): () => Promise<void> {
    const abort = new AbortController()
    let timer: NodeJS.Timeout | undefined
    let running = Promise.resolve()
    const pass = async (): Promise<void> => {
      try {
        const executed = await act(abort.signal)
        if (executed > 0)
          this.#log?.info({ executed }, 'executed outbox entries of other processes')
      } catch (error) {
        this.#log?.warn({ err: error }, 'cannot execute outbox entries; retrying')
      }
      if (!abort.signal.aborted) timer = setTimeout(next, RETRY_MS)
    }
    const next = () => {
      running = pass()
    }
    next()
    return () => {
      abort.abort()
      clearTimeout(timer)
      return running
    }
  }

  /** Renews the lease of a slow entry meanwhile: nobody else executes it. */
  async #holding<T>({ _id, isSlow }: OutboxDocument, act: () => Promise<T>): Promise<T> {
    if (!isSlow) return act()
    const holder = processIdentity()
    const timer = setInterval(() => {
      const expires = new Date(systemClock.nowMs() + LEASE_MS)
      void this.#collections.outbox
        .updateOne({ _id, holder }, { $set: { expires } })
        .catch(() => undefined)
    }, LEASE_MS / 3)
    try {
      return await act()
    } finally {
      clearInterval(timer)
    }
  }

  async #claim(entry: OutboxDocument): Promise<OutboxDocument | null> {
    const { _id, expires } = entry
    const claim = {
      holder: processIdentity(),
      expires: new Date(systemClock.nowMs() + LEASE_MS),
    }
    const { matchedCount } = await this.#collections.outbox.updateOne(
      { _id, expires },
      { $set: claim },
    )
    return matchedCount === 1 ? { ...entry, ...claim } : null
  }

  /**
   * False if earlier entries of its subject take longer than `waitMs`. Rejects with errors of
   * stores that are unavailable. In both cases the entry is left to any process.
   */
  async #execute(entry: OutboxDocument, waitMs: number): Promise<boolean> {
    const { _id, kind, payload, subject } = entry
    const handler = this.#handlers.get(kind) as OutboxHandler
    const save = async (next: unknown) => {
      await this.#collections.outbox.updateOne({ _id }, { $set: { payload: next } })
    }
    try {
      await this.#waitForEarlier(entry, waitMs)
    } catch (error) {
      await this.#release(entry, null)
      if (error instanceof EntityConflictError) return false
      throw error
    }
    try {
      await this.#holding(entry, () => handler(payload as never, save))
    } catch (error) {
      const isOutage = isStoreOutage(error)
      await this.#release(entry, isOutage ? null : error)
      if (isOutage) throw error
      this.#log?.error({ err: error, kind, subject }, 'an outbox entry failed: it is retried later')
      return true
    }
    if (subject === null) this.#deleteLater(_id)
    else await this.#delete([_id])
    return true
  }

  /** Entries that have failed before do not delay the others of their subject. */
  async #waitForEarlier({ number, subject }: OutboxDocument, waitMs: number): Promise<void> {
    if (subject === null) return
    const giveUpMs = monotonicMs() + waitMs
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
      const earlier = await this.#collections.outbox.findOne(
        { subject, number: { $lt: number }, failures: 0 },
        { sort: { number: 1 } },
      )
      if (earlier === null) return
      const claimed =
        isClaimable(earlier) && this.handles(earlier.kind) ? await this.#claim(earlier) : null
      if (claimed !== null) await this.#execute(claimed, waitMs)
      else if (monotonicMs() < giveUpMs) await pause(pauseMs)
      else throw new EntityConflictError(`${subject} is being changed by others`)
    }
  }

  /** Leaves the entry to any process; later if it has failed. */
  async #release({ _id, failures, kind }: OutboxDocument, failure: unknown): Promise<void> {
    const hasFailed = failure !== null
    const delayMs = hasFailed ? Math.min(RETRY_MS * 2 ** failures, RETRY_MS_MAX) : 0
    const change = {
      holder: null,
      expires: new Date(systemClock.nowMs() + delayMs),
      ...(hasFailed && { failures: failures + 1, error: `${kind}: ${messageOf(failure)}` }),
    }
    // If this fails, the entry can be claimed when its lease has expired.
    await this.#collections.outbox.updateOne({ _id }, { $set: change }).catch(() => undefined)
  }

  /**
   * Deletes many entries with one write, without making their writers wait: executing an entry
   * again does no harm.
   */
  #deleteLater(id: ObjectId): void {
    this.#done.push(id)
    this.#timer ??= setTimeout(() => void this.flush(), DELETE_MS).unref()
  }

  /** Deletes the executed entries now. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const ids = this.#done
    this.#done = []
    if (ids.length > 0) await this.#delete(ids).catch(() => undefined)
  }

  async #delete(ids: readonly ObjectId[]): Promise<void> {
    await this.#collections.outbox.deleteMany({ _id: { $in: [...ids] } })
  }
}

function isClaimable({ expires, holder }: OutboxDocument): boolean {
  return expires.getTime() <= systemClock.nowMs() || (holder !== null && hasEnded(holder))
}

function isStoreOutage(error: unknown): boolean {
  return error instanceof CatalogUnavailableError || error instanceof StoreDownError
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

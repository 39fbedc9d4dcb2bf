/**
 * Audit of refused requests. Attacks cause thousands of them, so the audit and the log get one
 * record per account, source and period, with a count.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../catalog/actor.ts'
import type { AuditEntry } from '../catalog/audit/audit.ts'
import type { AuthDeps } from './auth-deps.ts'
import { networkOf } from './networks.ts'

export interface Refusal {
  /** Audit entry of the period, if this refusal is the first one. */
  readonly entry: AuditEntry
  readonly actor: Actor
  /** A single word. */
  readonly reason: string
  /** Part of the key of the record, together with the network. Empty for an unknown account. */
  readonly account: string
}

export interface RefusalAudit {
  /**
   * Resolves once the refusal is in the audit, or counted if it is written later. Rejects with
   * `CatalogUnavailableError`.
   */
  record(refusal: Refusal): Promise<void>
  /** Ends the period: writes what is only counted. */
  close(): Promise<void>
}

export interface RefusalPeriod {
  readonly periodMs: number
  /** Text of the log line; null writes no line, for callers that log each refusal or none. */
  readonly message: string | null
  /**
   * Refusals are counted in memory and written after their period, in at most so many records and
   * one of all others: they cost nothing, but a killed process loses them. Absent: each is written
   * before its answer.
   */
  readonly recordsMax?: number
}

export const HOUR_MS = 3_600_000

type Reasons = Record<string, number>

/** Refusals of one account and source that this process has counted in the current period. */
interface Tally {
  /** The latest one, or the first if they are written later. */
  refusal: Refusal
  readonly seed: string
  readonly seen: Reasons
  /** Time of the latest refusal. */
  lastMs: number
  /** Counts that are not written yet. */
  waiting: Reasons
  /** Write in progress. */
  writing: Promise<void> | null
  /** Write of the waiting counts, after the current one. */
  next: Promise<void> | null
}

/** Above this number the oldest tally is logged and closed. */
const TALLIES_MAX = 10_000
const OTHERS = '(others)'

type Deps = Pick<AuthDeps, 'clock' | 'log'> & { readonly audit: Pick<AuthDeps['audit'], 'tally'> }

export function createRefusalAudit(deps: Deps, options: RefusalPeriod): RefusalAudit {
  const { clock, log } = deps
  const { periodMs, message, recordsMax } = options
  const tallies = new Map<string, Tally>()
  let period = -1
  let isTimed = false
  let ending = Promise.resolve()
  const end = (tally: Tally) => {
    tallies.delete(tally.seed)
    if (message !== null) logTotal(log, tally, message)
    if (recordsMax === undefined) return
    const write = () => writeTally(deps, tally, message)
    ending = ending.then(write).catch((error: unknown) => {
      log.error({ err: error, ...wordsOf(tally) }, 'the audit of refusals cannot be written')
    })
  }
  const turn = (nowMs: number) => {
    const now = Math.floor(nowMs / periodMs)
    if (now !== period) for (const tally of tallies.values()) end(tally)
    period = now
  }
  /** Ends the last period of an attack even if no refusal follows. */
  const setTimer = (nowMs: number) => {
    if (isTimed) return
    isTimed = true
    const fire = () => {
      isTimed = false
      const firedMs = clock.nowMs()
      turn(firedMs)
      // The clock may be behind the timer.
      if (tallies.size > 0) setTimer(firedMs)
    }
    setTimeout(fire, (period + 1) * periodMs - nowMs).unref()
  }
  const tallyOf = (refusal: Refusal): Tally => {
    const { entry, account, actor } = refusal
    const seed = seedOf([entry.collection, entry.type, account, networkOf(actor.address), period])
    const found = tallies.get(seed)
    if (found !== undefined) return found
    const isFull = recordsMax !== undefined && tallies.size >= recordsMax
    if (isFull && account !== OTHERS) return tallyOf(asOther(refusal))
    const [oldest] = tallies.values()
    if (oldest !== undefined && tallies.size >= TALLIES_MAX) end(oldest)
    const counts = { seen: {}, waiting: {}, lastMs: 0 }
    const tally: Tally = { refusal, seed, ...counts, writing: null, next: null }
    tallies.set(seed, tally)
    return tally
  }
  return {
    async record(refusal) {
      const { reason } = refusal
      const nowMs = clock.nowMs()
      turn(nowMs)
      const tally = tallyOf(refusal)
      if (recordsMax === undefined) tally.refusal = refusal
      tally.lastMs = nowMs
      tally.seen[reason] = (tally.seen[reason] ?? 0) + 1
      tally.waiting[reason] = (tally.waiting[reason] ?? 0) + 1
      setTimer(nowMs)
      if (recordsMax === undefined) await writeTally(deps, tally, message)
    },
    async close() {
      for (const tally of tallies.values()) end(tally)
      await ending
    },
  }
}

/** Writes a record once at a time; refusals during a write are in the next one. */
function writeTally({ audit, log }: Deps, tally: Tally, message: string | null): Promise<void> {
  const writeOnce = async (): Promise<void> => {
    const { seed, lastMs, waiting: reasons } = tally
    const { actor, entry, reason } = tally.refusal
    tally.waiting = {}
    tally.next = null
    const isFirst = await audit.tally(actor, lastMs, entry, { seed, reasons })
    if (!isFirst || message === null) return
    // Only the process that created the record logs its beginning.
    const who = { key: entry.key, address: actor.address, reason, ...detailsOf(entry) }
    log.warn(who, message)
  }
  const write = (): Promise<void> => {
    tally.writing = writeOnce().finally(() => {
      if (tally.next === null) tally.writing = null
    })
    return tally.writing
  }
  if (tally.writing === null) return write()
  tally.next ??= tally.writing.catch(() => undefined).then(write)
  return tally.next
}

function asOther({ entry, reason }: Refusal): Refusal {
  const actor: Actor = { by: 'open', id: '', name: '', address: '' }
  return { entry: { ...entry, key: OTHERS }, actor, reason, account: OTHERS }
}

function logTotal(log: AuthDeps['log'], tally: Tally, message: string): void {
  const count = Object.values(tally.seen).reduce((sum, each) => sum + each, 0)
  if (count > 1) log.warn({ ...wordsOf(tally), count }, `${message}: total of the period`)
}

function wordsOf({ refusal: { entry, actor }, seen }: Tally): object {
  return { key: entry.key, caller: actor.name, address: actor.address, reasons: seen }
}

/** Details of the entry, such as the reason of a provider. */
function detailsOf({ new: after }: AuditEntry): object {
  return typeof after === 'object' && after !== null ? after : {}
}

function seedOf(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * Audit of refused logins. Attacks cause thousands of them, so the audit and the log get one record
 * per account, source and hour, with a count.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import type { AuditEntry } from '../../catalog/audit/audit.ts'
import { networkOf } from '../networks.ts'
import type { AuthDeps } from './auth-deps.ts'

export interface Refusal {
  /** Audit entry of the first refusal of the hour. */
  readonly entry: AuditEntry
  readonly actor: Actor
  /** A single word. */
  readonly reason: string
  /** Part of the key of the record, together with the network. Empty for an unknown account. */
  readonly account: string
}

export interface RefusalAudit {
  /** Resolves once the refusal is in the audit. Rejects with `CatalogUnavailableError`. */
  record(refusal: Refusal): Promise<void>
}

type Reasons = Record<string, number>

/** Refusals of one account and source that this process has counted in the current hour. */
interface Tally {
  /** Latest refusal. */
  refusal: Refusal
  readonly seed: string
  readonly seen: Reasons
  /** Counts that are not written yet. */
  waiting: Reasons
  /** Write in progress. */
  writing: Promise<void> | null
  /** Write of the waiting counts, after the current one. */
  next: Promise<void> | null
}

const HOUR_MS = 3_600_000
/** Above this number the oldest tally is logged and closed. */
const TALLIES_MAX = 10_000

/** `message`: text of the log line; null if the caller logs each refusal itself. */
export function createRefusalAudit(
  deps: Pick<AuthDeps, 'audit' | 'clock' | 'log'>,
  message: string | null,
): RefusalAudit {
  const { clock, log } = deps
  const tallies = new Map<string, Tally>()
  let hour = -1
  const close = (tally: Tally) => {
    const { actor, entry } = tally.refusal
    const count = countOf(tally.seen)
    const who = { key: entry.key, address: actor.address, reasons: tally.seen, count }
    if (count > 1 && message !== null) log.warn(who, `${message}: total of this hour`)
  }
  const closeAll = () => {
    for (const tally of tallies.values()) close(tally)
    tallies.clear()
  }
  const turn = (nowMs: number) => {
    const now = Math.floor(nowMs / HOUR_MS)
    if (now === hour) return
    closeAll()
    hour = now
    // Closes the last hour of an attack even if no refusal follows.
    setTimeout(() => turn(clock.nowMs()), (now + 1) * HOUR_MS - nowMs).unref()
  }
  return {
    record(refusal) {
      const { actor, entry, reason, account } = refusal
      turn(clock.nowMs())
      const seed = seedOf([entry.collection, entry.type, account, networkOf(actor.address), hour])
      let tally = tallies.get(seed)
      if (tally === undefined) {
        const [oldest] = tallies.values()
        if (oldest !== undefined && tallies.size >= TALLIES_MAX) {
          tallies.delete(oldest.seed)
          close(oldest)
        }
        tally = { refusal, seed, seen: {}, waiting: {}, writing: null, next: null }
        tallies.set(seed, tally)
      }
      tally.refusal = refusal
      tally.seen[reason] = (tally.seen[reason] ?? 0) + 1
      tally.waiting[reason] = (tally.waiting[reason] ?? 0) + 1
      return writeTally(deps, tally, message)
    },
  }
}

/** Writes a record once at a time; refusals during a write are in the next one. */
function writeTally(
  { audit, clock, log }: Pick<AuthDeps, 'audit' | 'clock' | 'log'>,
  tally: Tally,
  message: string | null,
): Promise<void> {
  const writeOnce = async (): Promise<void> => {
    const { actor, entry, reason } = tally.refusal
    const reasons = tally.waiting
    tally.waiting = {}
    tally.next = null
    const isFirst = await audit.tally(actor, clock.nowMs(), entry, { seed: tally.seed, reasons })
    if (!isFirst || message === null) return
    // Only the process that created the record logs its beginning.
    const who = { key: entry.key, address: actor.address, reason, ...wordsOf(entry) }
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

/** Details of the entry, such as the reason of a provider. */
function wordsOf({ new: after }: AuditEntry): object {
  return typeof after === 'object' && after !== null ? after : {}
}

function countOf(reasons: Reasons): number {
  return Object.values(reasons).reduce((sum, count) => sum + count, 0)
}

function seedOf(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

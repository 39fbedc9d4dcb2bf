/**
 * Audit of refused authorisations: one record per caller, route and minute, with a count. They are
 * counted in memory, so that a caller who is refused thousands of times costs one write.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import type { Audit } from '../../catalog/audit/audit.ts'
import { networkOf } from '../networks.ts'
import type { AuthDeps } from './auth-deps.ts'

/** `role`: the caller lacks it; `duty`: it must change its password, or set up a second factor. */
export type DeniedReason = 'credentials' | 'role' | 'duty'

export interface DeniedAudit {
  /** `route`: an action such as `taxes/create`, or a method and a path of the server. */
  note(actor: Actor, route: string, reason: DeniedReason): void
  /** Writes what was counted. */
  close(): Promise<void>
}

interface Tally {
  readonly actor: Actor
  readonly route: string
  readonly seed: string
  readonly atMs: number
  readonly reasons: Partial<Record<DeniedReason, number>>
}

const MINUTE_MS = 60_000
/** Callers and routes of a minute that have a record of their own. */
const TALLIES_MAX = 200
const OTHERS = '(others)'

export function createDeniedAudit(
  deps: Pick<AuthDeps, 'clock' | 'log'> & { readonly audit: Pick<Audit, 'tally'> },
): DeniedAudit {
  const { clock } = deps
  let tallies = new Map<string, Tally>()
  let minute = -1
  let writing = Promise.resolve()
  const flush = () => {
    const ended = [...tallies.values()]
    tallies = new Map()
    writing = writing.then(() => writeAll(deps, ended))
  }
  const turn = (nowMs: number) => {
    const now = Math.floor(nowMs / MINUTE_MS)
    if (now !== minute && tallies.size > 0) flush()
    minute = now
  }
  let isTimed = false
  /** Writes the last minute of an attack even if no refusal follows. */
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
    setTimeout(fire, (minute + 1) * MINUTE_MS - nowMs).unref()
  }
  const tallyOf = (actor: Actor, route: string, atMs: number): Tally => {
    const { by, id, address } = actor
    const key = JSON.stringify([by, id === '' ? networkOf(address) : id, route, minute])
    const found = tallies.get(key)
    if (found !== undefined) return found
    if (tallies.size >= TALLIES_MAX && route !== OTHERS) {
      return tallyOf({ by: 'open', id: '', name: '', address: '' }, OTHERS, atMs)
    }
    const seed = createHash('sha256').update(`denied ${key}`).digest('hex')
    const tally: Tally = { actor, route, seed, atMs, reasons: {} }
    tallies.set(key, tally)
    return tally
  }
  return {
    note(actor, route, reason) {
      const nowMs = clock.nowMs()
      turn(nowMs)
      const { reasons } = tallyOf(actor, route, nowMs)
      reasons[reason] = (reasons[reason] ?? 0) + 1
      setTimer(nowMs)
    },
    async close() {
      flush()
      await writing
    },
  }
}

async function writeAll(
  { audit, log }: { readonly audit: Pick<Audit, 'tally'> } & Pick<AuthDeps, 'log'>,
  tallies: readonly Tally[],
): Promise<void> {
  for (const { actor, route, seed, atMs, reasons } of tallies) {
    const entry = { collection: 'access', type: 'refused', key: route }
    try {
      await audit.tally(actor, atMs, entry, { seed, reasons: reasons as Record<string, number> })
    } catch (error) {
      const lost = { err: error, caller: actor.name, route, reasons }
      log.error(lost, 'the audit of refused authorisations cannot be written')
    }
  }
}

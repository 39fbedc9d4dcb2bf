/** The lease of an account: one run at a time charges it. */
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Catalog } from '../../catalog/connection.ts'
import { EntityConflictError } from '../../catalog/errors.ts'
import { isInserted } from '../../catalog/transactions/duplicate.ts'
import { type Clock, monotonicMs, realTimeOf } from '../../runtime/clock.ts'
import { hasEnded, processIdentity } from '../../runtime/process-identity.ts'

/** Longer than the selection of bills and the longest answer of a gateway. */
const LEASE_MS = 5 * 60_000
const WAIT_MS = 30_000
const PAUSE_MS_MAX = 50

/**
 * Calls `act` while no other run charges the account. Rejects with `EntityConflictError` if another
 * one does so for too long. The lease of a process that has died is taken over.
 */
export async function withAccountLease<T>(
  { catalog, clock }: { readonly catalog: Catalog; readonly clock: Clock },
  aid: number,
  act: () => Promise<T>,
): Promise<T> {
  const token = randomUUID()
  const giveUpMs = monotonicMs() + WAIT_MS
  while (!(await acquire(catalog, aid, token, realTimeOf(clock).nowMs()))) {
    if (monotonicMs() >= giveUpMs) {
      throw new EntityConflictError(`account ${aid} is being charged by others: nothing was done`)
    }
    await pause(randomInt(1, PAUSE_MS_MAX))
  }
  try {
    return await act()
  } finally {
    // If this fails, the lease expires.
    await catalog.chargeleases.deleteOne({ _id: aid, token }).catch(() => undefined)
  }
}

async function acquire(
  catalog: Catalog,
  aid: number,
  token: string,
  nowMs: number,
): Promise<boolean> {
  const lease = { token, holder: processIdentity(), expires: new Date(nowMs + LEASE_MS) }
  const found = await catalog.chargeleases.findOne({ _id: aid })
  if (found === null) return isInserted(catalog.chargeleases.insertOne({ _id: aid, ...lease }))
  const isLost = found.expires.getTime() <= nowMs || hasEnded(found.holder)
  if (!isLost) return false
  const same = { _id: aid, token: found.token }
  return (await catalog.chargeleases.updateOne(same, { $set: lease })).matchedCount === 1
}

/**
 * Idempotency of money actions. A call with a key is claimed before it runs; its answer is stored
 * in the transaction of the money. A repetition gets the stored answer, waits for a call that is
 * still running, or takes over one whose process has died.
 */
import { createHash, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientSession } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type {
  KeyedCallDocument,
  KeyedPartDocument,
} from '../catalog/records/money/idempotency-document.ts'
import { isInserted } from '../catalog/transactions/duplicate.ts'
import { stateOf } from '../catalog/transactions/state.ts'
import { type Clock, monotonicMs, realTimeOf } from '../runtime/clock.ts'
import { hasEnded, processIdentity } from '../runtime/process-identity.ts'

/** A call that is to be done once. */
export interface KeyedCall {
  /** Name of the action. */
  readonly action: string
  /** Identifies the caller; keys of different callers are unrelated. */
  readonly caller: string
  readonly key: string
  /** Hash of the parameters. */
  readonly digest: string
}

/** The right to run a call and to store its answer. */
export interface Claim {
  readonly id: string
  readonly token: string
}

/** The key was used for a call with other parameters. */
export class KeyReusedError extends Error {
  override name = 'KeyReusedError'
}

/** The first call is still running after the longest wait. */
export class CallRunningError extends Error {
  override name = 'CallRunningError'
}

/** Another process has taken over the call; nothing of this attempt is committed. */
export class ClaimLostError extends Error {
  override name = 'ClaimLostError'
}

export interface IdempotencyStores {
  readonly catalog: Catalog
  readonly clock: Clock
}

const DAY_MS = 86_400_000
const KEPT_MS = 7 * DAY_MS
/** After this time without a sign of life another process may take over the call. */
const LEASE_MS = 30_000
const WAIT_MS = 60_000
const PAUSE_MS_MAX = 40

/**
 * The stored answer of the call, or the claim to run it. Waits while it is running elsewhere.
 * Rejects with `KeyReusedError`, `CallRunningError` or `CatalogUnavailableError`.
 */
export async function admitCall(
  stores: IdempotencyStores,
  call: KeyedCall,
): Promise<{ readonly answer: string } | { readonly claim: Claim }> {
  const { catalog, clock } = stores
  const claim = { id: callIdOf(call), token: randomUUID() }
  const giveUpMs = monotonicMs() + WAIT_MS
  for (;;) {
    if (await insertClaim(stores, claim, call)) return { claim }
    const found = await readCall(catalog, claim.id)
    if (found === null) continue
    const nowMs = realTimeOf(clock).nowMs()
    if (found.kept_until.getTime() <= nowMs) {
      await forget(catalog, found)
    } else if (found.digest !== call.digest) {
      throw new KeyReusedError('the Idempotency-Key was used for a call with other parameters')
    } else if (found.state === 'done') {
      return { answer: found.answer ?? '' }
    } else if (found.lease.getTime() <= nowMs || hasEnded(found.holder)) {
      if (await takeOver(stores, claim, found)) return { claim }
    } else if (monotonicMs() >= giveUpMs) {
      throw new CallRunningError('the first call with this Idempotency-Key is still running')
    } else {
      await pause(randomInt(1, PAUSE_MS_MAX))
    }
  }
}

/**
 * Stores the answer, in the transaction of the money, which fails with `ClaimLostError` if another
 * process has taken over the call.
 */
export function storeAnswer(session: ClientSession, claim: Claim, answer: string): void {
  stateOf(session).writes.update('idempotency', {
    filter: heldBy(claim),
    change: { $set: { state: 'done', answer } },
    unmatched: lost,
  })
}

/**
 * Stores the results of a part, in the transaction of that part, and extends the claim. The
 * transaction fails with `ClaimLostError` if another process has taken over the call.
 */
export function storePart(
  { clock }: Pick<IdempotencyStores, 'clock'>,
  session: ClientSession,
  claim: Claim,
  { part, results }: Pick<KeyedPartDocument, 'part' | 'results'>,
): void {
  const { writes } = stateOf(session)
  const nowMs = realTimeOf(clock).nowMs()
  writes.update('idempotency', {
    filter: heldBy(claim),
    change: { $set: { lease: new Date(nowMs + LEASE_MS) } },
    unmatched: lost,
  })
  const { id } = claim
  const kept_until = new Date(nowMs + KEPT_MS)
  writes.put('idempotency', { _id: `${id}/${part}`, call: id, part, results, kept_until }, true)
}

function heldBy({ id, token }: Claim): { _id: string; token: string; state: 'running' } {
  return { _id: id, token, state: 'running' }
}

function lost(): ClaimLostError {
  return new ClaimLostError('the call was taken over')
}

/** The stored results of the parts of an interrupted call, by number. */
export async function partsOf(catalog: Catalog, { id }: Claim): Promise<Map<number, unknown[]>> {
  const found = await catalog.idempotency.find({ call: id }).sort({ part: 1 }).toArray()
  const parts = found as KeyedPartDocument[]
  return new Map(parts.map(({ part, results }) => [part, results]))
}

/**
 * Gives up a claim without an answer. If a part was committed, the key stays reserved for the same
 * parameters, so that a repetition continues.
 */
export async function releaseClaim({ catalog }: IdempotencyStores, claim: Claim): Promise<void> {
  const { id } = claim
  const begun = await catalog.idempotency.findOne({ call: id }, { projection: { _id: 1 } })
  const held = heldBy(claim)
  if (begun === null) await catalog.idempotency.deleteOne(held)
  else await catalog.idempotency.updateOne(held, { $set: { lease: new Date(0) } })
}

/** Removes keys that are no longer kept. */
export async function forgetKeys({ catalog, clock }: IdempotencyStores): Promise<void> {
  const now = new Date(realTimeOf(clock).nowMs())
  await catalog.idempotency.deleteMany({ kept_until: { $lte: now } })
}

/** Identifies a call. */
export function callIdOf({ caller, action, key }: Omit<KeyedCall, 'digest'>): string {
  return createHash('sha256')
    .update(JSON.stringify([caller, action, key]))
    .digest('hex')
}

async function insertClaim(
  { catalog, clock }: IdempotencyStores,
  { id, token }: Claim,
  { action, caller, digest }: KeyedCall,
): Promise<boolean> {
  const nowMs = realTimeOf(clock).nowMs()
  const document: KeyedCallDocument = {
    _id: id,
    action,
    caller,
    digest,
    state: 'running',
    token,
    holder: processIdentity(),
    lease: new Date(nowMs + LEASE_MS),
    kept_until: new Date(nowMs + KEPT_MS),
  }
  return isInserted(catalog.idempotency.insertOne(document))
}

async function readCall(catalog: Catalog, id: string): Promise<KeyedCallDocument | null> {
  const found = await catalog.idempotency.findOne({ _id: id })
  return found as KeyedCallDocument | null
}

async function forget(catalog: Catalog, { _id: id, token }: KeyedCallDocument): Promise<void> {
  await catalog.idempotency.deleteMany({ call: id })
  await catalog.idempotency.deleteOne({ _id: id, token })
}

async function takeOver(
  { catalog, clock }: IdempotencyStores,
  { id, token }: Claim,
  found: KeyedCallDocument,
): Promise<boolean> {
  const lease = new Date(realTimeOf(clock).nowMs() + LEASE_MS)
  const { matchedCount } = await catalog.idempotency.updateOne(
    { _id: id, token: found.token, state: 'running' },
    { $set: { token, holder: processIdentity(), lease } },
  )
  return matchedCount === 1
}

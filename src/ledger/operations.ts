/** Balance operations outside the hot path, idempotent by operation id. */
import { present } from '../domain/assert.ts'
import {
  type BalanceOperation,
  type OperationResult,
  operate,
} from '../domain/balance-operations.ts'
import type { OwnerState } from '../domain/bucket.ts'
import { BalanceRefusal } from '../domain/credit.ts'
import type { OperationLine, OperationNote } from '../domain/line.ts'
import { publishSessionEvent } from '../store/session-events.ts'
import { type AccountCommit, backoffHintMs, type CommittedOperation } from './commit-layout.ts'
import { formatLocation, type Ledger, type LoadedOwner } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'

/**
 * Other commits won every attempt: nothing has moved, and the operation may be repeated under its
 * id.
 */
export class ContentionError extends Error {
  override name = 'ContentionError'
}

/** The operation id was used for another operation: nothing has moved. */
export class OperationReusedError extends Error {
  override name = 'OperationReusedError'
}

export type CreditOperation = BalanceOperation & OperationIdentity

export interface OperationIdentity {
  /** Chosen by the caller; repeating it returns the stored result and moves nothing. */
  operationId: string
  aid: number
  /** 0 for a shared bucket of the account. */
  sid: number
  /** Only recorded. */
  note?: OperationNote
}

export interface OperationSettings {
  attemptsMax: number
}

/**
 * Executes one operation on a balance and publishes a session event if it moved anything. Throws a
 * `BalanceRefusal` with the reason, `OperationReusedError`, `ContentionError`, `CorruptValueError`
 * or `StoreDownError`; after a `StoreDownError` the outcome is unknown until the id is repeated.
 */
export async function creditBucket(
  ledger: Ledger,
  operation: CreditOperation,
  settings: OperationSettings,
  nowMs: number,
): Promise<OperationLine> {
  const { result } = await execute(ledger, settings, nowMs, {
    operation,
    sids: [operation.sid],
    draft: ([owner], hintMs) => creditCommit(present(owner, 'owner'), operation, nowMs, hintMs),
  })
  return result
}

/** Operations under a heading, on buckets of its account: all of them are committed, or none. */
export interface OperationGroup {
  heading: OperationIdentity
  parts: readonly CreditOperation[]
}

/**
 * Executes a group in one commit. Returns the line of the heading and those of the parts, in their
 * order; a repetition returns the ones that are still stored. Throws as `creditBucket`; a refusal
 * of one part refuses all.
 */
export async function creditBuckets(
  ledger: Ledger,
  group: OperationGroup,
  settings: OperationSettings,
  nowMs: number,
): Promise<OperationLine[]> {
  const operation: CreditOperation = { ...group.heading, mode: 'heading' }
  const { aid, sid } = operation
  const { result, parts } = await execute(ledger, settings, nowMs, {
    operation,
    sids: [...new Set([sid, ...group.parts.map((part) => part.sid)])],
    draft: (owners, hintMs) =>
      groupCommit(owners, { operation, parts: group.parts }, nowMs, hintMs),
  })
  if (parts !== undefined) return [result, ...parts]
  const stored = await Promise.all(
    group.parts.map(({ operationId }) => ledger.findOperation(aid, operationId)),
  )
  return [result, ...stored.filter((line) => line !== null)]
}

interface Execution {
  /** Its id decides whether the execution is a repetition. */
  operation: CreditOperation
  /** The owners in the account that it changes. */
  sids: readonly number[]
  /** The commit that executes it on the loaded owners. Throws `BalanceRefusal`. */
  draft(owners: readonly LoadedOwner[], hintMs: number): AccountCommit
}

/** Returns what was committed; without parts if it is the result of an earlier execution. */
async function execute(
  ledger: Ledger,
  { attemptsMax }: OperationSettings,
  nowMs: number,
  { operation, sids, draft }: Execution,
): Promise<CommittedOperation> {
  const { aid, sid } = operation
  let loaded = await loadAll(ledger, aid, sids)
  let waitedMs = 0
  for (let attempt = 1; attempt <= attemptsMax; ) {
    const commit = refusedOr(() => draft(loaded, backoffHintMs(attempt, attemptsMax)))
    if (commit instanceof Error) {
      // The operation may have been executed before and be refused because of its own effect.
      const done = await ledger.findOperation(aid, operation.operationId)
      if (done !== null) return { result: sameOperation(operation, done) }
      throw commit
    }
    // The time must advance while this waits: otherwise another worker's back-off hint would never
    // expire.
    const [reply] = await ledger.commit([commit], nowMs + waitedMs)
    switch (reply?.kind) {
      case 'committed':
        // Not awaited: it only notifies open sessions of the credit sooner.
        for (const each of sids) {
          void publishSessionEvent(ledger.redis, { cause: 'credit', aid, sid: each })
        }
        return present(commit.operation, 'operation')
      case 'repeated':
        return { result: sameOperation(operation, reply.result) }
      case 'conflict':
        attempt += 1
        loaded = await loadAll(ledger, aid, sids)
        break
      case 'busy':
        await pause(BUSY_PAUSE_MS)
        waitedMs += BUSY_PAUSE_MS
        break
      case 'down':
        throw reply.error
      default:
        throw new CorruptValueError('an owner cannot be written', { aid, sid })
    }
  }
  throw new ContentionError(`owner ${formatLocation({ aid, sid })} is contended`)
}

/** Returns the stored result if it is of the same operation. Throws `OperationReusedError`. */
function sameOperation(operation: CreditOperation, done: OperationLine): OperationLine {
  const { operationId, sid, mode } = operation
  if (done.sid === sid && done.operation === mode && isSame(operation, done)) return done
  throw new OperationReusedError(`operation id ${operationId} was used for another operation`)
}

/** Compares the requested values: the outcome was decided when the operation was committed. */
function isSame(operation: CreditOperation, done: OperationLine): boolean {
  const requested = done.asked ?? done.amount
  switch (operation.mode) {
    case 'close':
    case 'transfer_out':
      return done.bucketId === operation.bucketId
    case 'transfer_in': {
      const { prepaidIncludeId, counter } = operation.terms
      const isSameBucket =
        done.prepaidIncludeId === prepaidIncludeId && (done.counter ?? '') === counter
      return isSameBucket && requested === operation.amount
    }
    case 'heading':
      return done.sourceRef === operation.note?.sourceRef
    default: {
      const { include, amount, bucketId = done.bucketId } = operation
      const isSameBucket =
        done.prepaidIncludeId === include.externalId && done.bucketId === bucketId
      return isSameBucket && requested === amount
    }
  }
}

const BUSY_PAUSE_MS = 2

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}

async function loadAll(
  ledger: Ledger,
  aid: number,
  sids: readonly number[],
): Promise<LoadedOwner[]> {
  const loaded = await ledger.load(sids.map((sid) => ({ aid, sid, sessionKeys: [] })))
  return loaded.map((owner) => {
    if (owner instanceof CorruptValueError) throw owner
    return owner
  })
}

function refusedOr<T>(act: () => T): T | BalanceRefusal {
  try {
    return act()
  } catch (error) {
    if (error instanceof BalanceRefusal) return error
    throw error
  }
}

function creditCommit(
  { state }: LoadedOwner,
  operation: CreditOperation,
  nowMs: number,
  hintMs: number,
): AccountCommit {
  const done = operate(state, operation, nowMs)
  const owners = [{ owner: done.owner, before: state.version }]
  const result = lineOf(operation, done, nowMs)
  return commitOf(operation.aid, owners, { result }, hintMs)
}

/** All parts raise the version of an owner once: they are one commit. */
function groupCommit(
  loaded: readonly LoadedOwner[],
  { operation, parts }: { operation: CreditOperation; parts: readonly CreditOperation[] },
  nowMs: number,
  hintMs: number,
): AccountCommit {
  const states = new Map(loaded.map(({ state }) => [state.sid, state]))
  const results = parts.map((part) => {
    const done = operate(present(states.get(part.sid), 'owner'), part, nowMs)
    states.set(part.sid, done.owner)
    return { part, done }
  })
  const owners = loaded.map(({ state: { sid, version } }) => {
    const owner = { ...present(states.get(sid), 'owner'), version: version + 1 }
    states.set(sid, owner)
    return { owner, before: version }
  })
  const heading = present(states.get(operation.sid), 'owner')
  const committed: CommittedOperation = {
    result: lineOf(operation, { ...operate(heading, operation, nowMs), owner: heading }, nowMs),
    parts: results.map(({ part, done }) => {
      const owner = present(states.get(part.sid), 'owner')
      // A later part may have extended the bucket.
      const bucket = owner.buckets.find(({ id }) => id === done.bucket?.id) ?? null
      return lineOf(part, { ...done, owner, bucket }, nowMs)
    }),
  }
  return commitOf(operation.aid, owners, committed, hintMs)
}

/** `before`: the version that was read. */
interface ChangedOwner {
  owner: OwnerState
  before: number
}

function commitOf(
  aid: number,
  changed: readonly ChangedOwner[],
  operation: CommittedOperation,
  hintMs: number,
): AccountCommit {
  const own = changed.filter(({ owner }) => owner.sid !== 0)
  const shared = changed.find(({ owner }) => owner.sid === 0)
  return {
    aid,
    owners: own.map(({ owner }) => ({ state: owner, fence: -1, sessions: [] })),
    shared:
      shared === undefined
        ? { expectedVersion: -1, state: null }
        : { expectedVersion: shared.before, state: shared.owner },
    registrations: [],
    operation,
    lines: [],
    backoffHintMs: hintMs,
  }
}

/** Stamp of the line of an operation: `op-ACCOUNT-ID`. */
export function operationStamp(aid: number, operationId: string): string {
  return `op-${aid}-${operationId}`
}

/** Unused fields are omitted, as in older lines; MessagePack would store an undefined one. */
function lineOf(operation: CreditOperation, done: OperationResult, nowMs: number): OperationLine {
  const { aid, sid, operationId, mode, note } = operation
  const { owner, bucket, amount, before, after, repaid, normalized, counted } = done
  const asked = 'amount' in operation ? operation.amount : amount
  return {
    stamp: operationStamp(aid, operationId),
    aid,
    sid,
    operationId,
    operation: mode,
    bucketId: bucket?.id ?? 0,
    prepaidIncludeId: bucket?.prepaidIncludeId ?? 0,
    kind: bucket?.kind === 'units' ? 'units' : 'money',
    usaget: bucket?.usaget ?? '',
    amount,
    before,
    after,
    repaid,
    atMs: nowMs,
    version: owner.version,
    priority: bucket?.priority ?? 0,
    fromMs: bucket?.fromMs ?? nowMs,
    toMs: bucket?.toMs ?? nowMs,
    ...(asked === amount ? {} : { asked }),
    ...(normalized === 0 ? {} : { normalized }),
    ...(bucket === null || bucket.counter === ''
      ? {}
      : { counter: bucket.counter, limit: bucket.limit, counted }),
    ...note,
  }
}

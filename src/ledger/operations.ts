/** Balance operations outside the hot path, idempotent by operation id. */
import {
  type BalanceOperation,
  type OperationResult,
  operate,
} from '../domain/balance-operations.ts'
import { BalanceRefusal } from '../domain/credit.ts'
import type { OperationLine, OperationNote } from '../domain/line.ts'
import { publishSessionEvent } from '../store/session-events.ts'
import type { AccountCommit } from './commit-layout.ts'
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
  const { aid, sid } = operation
  let loaded = await loadOne(ledger, aid, sid)
  let waitedMs = 0
  for (let attempt = 1; attempt <= settings.attemptsMax; ) {
    const commit = tryCreditCommit(loaded, operation, nowMs, attempt > 2)
    if (commit instanceof Error) {
      // The operation may have been executed before and be refused because of its own effect.
      const done = await ledger.findOperation(aid, operation.operationId)
      if (done !== null) return sameOperation(operation, done)
      throw commit
    }
    // The time must advance while this waits: otherwise another worker's back-off hint would never
    // expire.
    const [reply] = await ledger.commit([commit], nowMs + waitedMs)
    switch (reply?.kind) {
      case 'committed':
        // Not awaited: it only notifies open sessions of the credit sooner.
        void publishSessionEvent(ledger.redis, { cause: 'credit', aid, sid })
        return commit.operation!.result
      case 'repeated':
        return sameOperation(operation, reply.result)
      case 'conflict':
        attempt += 1
        loaded = await loadOne(ledger, aid, sid)
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

async function loadOne(ledger: Ledger, aid: number, sid: number): Promise<LoadedOwner> {
  const [loaded] = await ledger.load([{ aid, sid, sessionKeys: [] }])
  if (loaded === undefined || loaded instanceof CorruptValueError) {
    throw loaded ?? new CorruptValueError('an owner is missing', { aid, sid })
  }
  return loaded
}

function tryCreditCommit(
  ...draft: Parameters<typeof creditCommit>
): AccountCommit | BalanceRefusal {
  try {
    return creditCommit(...draft)
  } catch (error) {
    if (error instanceof BalanceRefusal) return error
    throw error
  }
}

function creditCommit(
  { state }: LoadedOwner,
  operation: CreditOperation,
  nowMs: number,
  setsBackoffHint: boolean,
): AccountCommit {
  const { aid, sid, operationId } = operation
  const done = operate(state, operation, nowMs)
  const result = lineOf(operation, done, nowMs)
  const { owner } = done
  return {
    aid,
    owners: sid === 0 ? [] : [{ state: owner, fence: -1, sessions: [] }],
    shared:
      sid === 0
        ? { expectedVersion: state.version, state: owner }
        : { expectedVersion: -1, state: null },
    registrations: [],
    operation: { id: operationId, result },
    lines: [],
    setsBackoffHint,
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

/** Operations on balances from outside the hot path: idempotent by their id (design.md §3). */
import {
  BalanceRangeError,
  type Credit,
  credit,
  InsufficientBalanceError,
} from '../domain/credit.ts'
import type { OperationLine } from '../domain/line.ts'
import { publishHint } from '../store/hints.ts'
import type { AccountCommit } from './commit-layout.ts'
import { homeText, type Ledger, type LoadedOwner } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'

/** Others kept committing: nothing has moved, and the operation may be repeated under its id. */
export class ContentionError extends Error {
  override name = 'ContentionError'
}

/** The operation id was used for something else: nothing has moved. */
export class OperationReusedError extends Error {
  override name = 'OperationReusedError'
}

export interface CreditOperation extends Credit {
  /** Chosen by the caller; the same id again gives the stored result and moves nothing. */
  operationId: string
  aid: number
  /** 0 for a bucket that the account shares. */
  sid: number
}

export interface OperationSettings {
  attemptsMax: number
}

/**
 * Credits or adjusts a bucket, and hints at it where it moved. Throws `InsufficientBalanceError`,
 * `BalanceRangeError`, `OperationReusedError`, `ContentionError`, `CorruptValueError` or
 * `StoreDownError`; after the last the outcome is unknown until the id is repeated.
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
    const commit = draftCredit(loaded, operation, nowMs, attempt > 2)
    if (commit instanceof Error) {
      // What stands against it may be what it did itself, the first time.
      const done = await ledger.findOperation(aid, operation.operationId)
      if (done !== null) return sameOperation(operation, done)
      throw commit
    }
    // Time goes on while it waits, or the turn of another would never end.
    const [reply] = await ledger.commit([commit], nowMs + waitedMs)
    switch (reply?.kind) {
      case 'committed':
        // Nobody waits for it: open sessions only learn of the credit sooner.
        void publishHint(ledger.redis, { cause: 'credit', aid, sid })
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
  throw new ContentionError(`owner ${homeText({ aid, sid })} is contended`)
}

/** The stored result, if it is of the same operation. Throws `OperationReusedError`. */
function sameOperation(operation: CreditOperation, done: OperationLine): OperationLine {
  const { operationId, sid, amount, include } = operation
  if (done.sid === sid && done.amount === amount && done.prepaidIncludeId === include.externalId) {
    return done
  }
  throw new OperationReusedError(`operation id ${operationId} was used for another operation`)
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

function draftCredit(
  ...draft: Parameters<typeof creditCommit>
): AccountCommit | InsufficientBalanceError | BalanceRangeError {
  try {
    return creditCommit(...draft)
  } catch (error) {
    if (error instanceof InsufficientBalanceError || error instanceof BalanceRangeError)
      return error
    throw error
  }
}

function creditCommit(
  { state }: LoadedOwner,
  operation: CreditOperation,
  nowMs: number,
  wantsTurn: boolean,
): AccountCommit {
  const { aid, sid, operationId, include } = operation
  const { owner, bucket, before, after, repaid } = credit(state, operation, nowMs)
  const result: OperationLine = {
    stamp: `op-${aid}-${operationId}`,
    aid,
    sid,
    operationId,
    operation: operation.mode,
    bucketId: bucket.id,
    prepaidIncludeId: include.externalId,
    kind: bucket.kind === 'units' ? 'units' : 'money',
    usaget: bucket.usaget,
    amount: operation.amount,
    before,
    after,
    repaid,
    atMs: nowMs,
    version: owner.version,
    priority: bucket.priority,
    fromMs: bucket.fromMs,
    toMs: bucket.toMs,
  }
  return {
    aid,
    owners: sid === 0 ? [] : [{ state: owner, fence: -1, sessions: [] }],
    shared:
      sid === 0
        ? { expectedVersion: state.version, state: owner }
        : { expectedVersion: -1, state: null },
    claims: [],
    operation: { id: operationId, result },
    lines: [],
    wantsTurn,
  }
}

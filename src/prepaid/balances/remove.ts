/** Deletes a balance: releases the sessions' reservations, then removes the available amount. */
import {
  type BalanceLineDocument,
  balanceLineDocument,
} from '../../catalog/records/usage/documents.ts'
import { BucketReservedError } from '../../domain/balance-operations.ts'
import type { OwnerSlot } from '../../domain/bucket.ts'
import type { OperationLine } from '../../domain/line.ts'
import type { Session } from '../../domain/session.ts'
import type { Ledger, SessionLocation } from '../../ledger/ledger.ts'
import { openSessionsOf } from '../../ledger/open-sessions.ts'
import { creditBucket, OperationReusedError } from '../../ledger/operations.ts'
import { releaseSession } from '../../ledger/release.ts'
import { EntityRuleError, TargetError } from '../../requests/errors.ts'
import { publishSessionEvent } from '../../store/session-events.ts'
import { bucketAt, includeNames, locateBalance } from './live.ts'
import { type BalanceDeps, toEntityError } from './loads.ts'

export interface BalanceDeletion {
  /** Text or ObjectId; nothing is found if absent. */
  id: unknown
  operationId: string
}

export interface BalanceDeleted {
  /** False if the balance does not exist. */
  details: boolean
  line: BalanceLineDocument | null
  /** Operations executed by the ledger. */
  operations: readonly OperationLine[]
}

const NOT_FOUND: BalanceDeleted = { details: false, line: null, operations: [] }

/** Sessions may reserve again as fast as they are released; their network elements are notified. */
const ATTEMPTS_MAX = 8
/** Sessions over Diameter can be ended at their network element. */
const DIAMETER = 'diameter:'

/**
 * Throws `EntityRuleError` for a counter, which ends with its period, `TargetError` if the balance
 * keeps being reserved, `ContentionError`, `CorruptValueError`, `StoreDownError` or
 * `CatalogUnavailableError`. Repeating the call under its operation id completes it.
 */
export async function deleteBalance(
  deps: BalanceDeps,
  { id, operationId }: BalanceDeletion,
): Promise<BalanceDeleted> {
  const { ledger, catalog } = deps
  const location = await locateBalance(catalog, String(id ?? ''))
  if (location === null) return NOT_FOUND
  const found = await bucketAt(ledger, location)
  if (found === null) {
    // This call may already have deleted it.
    const done = await ledger.findOperation(location.aid, operationId)
    const isSame = done?.operation === 'close' && done.bucketId === location.bucketId
    return isSame && done.sid === location.sid ? deleted(deps, done) : NOT_FOUND
  }
  if (found.bucket.counter !== '') {
    throw new EntityRuleError(
      `balance ${String(id)} counts usage: it ends with its period`,
      'refused',
    )
  }
  const { aid, sid, bucketId } = location
  const operation = { mode: 'close', aid, sid, bucketId, operationId } as const
  const settings = { attemptsMax: deps.config.ledger.commitAttemptsMax }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    try {
      const note = { chargingType: 'Id' } as const
      const nowMs = deps.clock.nowMs()
      const closing = { ...operation, note }
      return await deleted(deps, await creditBucket(ledger, closing, settings, nowMs))
    } catch (error) {
      if (error instanceof OperationReusedError) throw new EntityRuleError(error.message, 'refused')
      if (!(error instanceof BucketReservedError)) throw toEntityError(error)
    }
    await releaseHolders(deps, location, bucketId)
  }
  throw new TargetError(`sessions keep using balance ${String(id)}: try again`)
}

async function deleted({ catalog }: BalanceDeps, line: OperationLine): Promise<BalanceDeleted> {
  const nameOf = await includeNames(catalog, [line.prepaidIncludeId])
  const document = balanceLineDocument(line, nameOf(line.prepaidIncludeId))
  return { details: true, line: document, operations: [line] }
}

async function releaseHolders(
  { ledger, config, clock }: BalanceDeps,
  { aid, sid }: SessionLocation,
  bucketId: number,
): Promise<void> {
  const { commitAttemptsMax: attemptsMax, replayMs } = config.ledger
  const slot = sid === 0 ? 1 : 0
  for await (const found of openSessionsOf(ledger, { aid, sid })) {
    if (!holds(found.session, slot, bucketId)) continue
    const settings = { attemptsMax, replayMs }
    const released = await releaseSession(ledger, found, settings, clock.nowMs())
    if (released !== null) await publishRelease(ledger, released)
  }
}

function holds({ services }: Session, owner: OwnerSlot, id: number): boolean {
  const isIt = (bucket: { owner: OwnerSlot; id: number } | null) =>
    bucket?.owner === owner && bucket.id === id
  return services.some(({ reservation: { slices, money } }) => {
    const isHeld = slices.some(({ bucket, units }) => units > 0 && isIt(bucket))
    return isHeld || money.some(({ source }) => isIt(source) || isIt(source.limitCounter))
  })
}

/** Notifies a Diameter network element; otherwise it detects the release with its next request. */
async function publishRelease({ redis }: Ledger, { origin, sessionId }: Session): Promise<void> {
  if (!origin.startsWith(DIAMETER)) return
  await publishSessionEvent(redis, { cause: 'release', origin, sessionId })
}

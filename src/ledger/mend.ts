/**
 * Corrects the owners of an account: from the record where the ledger has lost data (cli/audit), or
 * with new prices of recorded lines (billing/rerate). The caller decides what is correct; here the
 * correction is committed as a whole or not at all.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import { sessionField, stateField } from './keys.ts'
import type { Ledger } from './ledger.ts'
import { packOwner } from './owner-packing.ts'
import { packRecord, packResult } from './record-packing.ts'
import { REPLY } from './replies.ts'
import type { StoredOperation } from './restore.ts'
import { runScript } from './script.ts'
import { mendOwnersScript } from './scripts.ts'
import { packSession } from './session-packing.ts'

export interface OwnerMend {
  /** Version at the time of reading; 0 if the owner did not exist. */
  before: number
  /** Its version is newer than `before` and than every recorded version. */
  state: OwnerState
  /** Sessions whose segments change or must be recorded again. */
  sessions: readonly { sessionKey: string; session: Session }[]
}

export interface AccountMend {
  aid: number
  /** Repeating the id changes nothing. */
  operationId: string
  owners: readonly OwnerMend[]
  /** One line per corrected bucket. */
  lines: readonly OperationLine[]
  /** New versions of recorded lines, of sessions that the ledger has forgotten. */
  usage: readonly Line[]
  /**
   * Operations whose results the ledger has lost. They are stored again, so that repeating one
   * moves nothing.
   */
  lostOperations: readonly StoredOperation[]
}

/** Returns `conflict` if an owner has changed since it was read. Throws `StoreDownError`. */
export async function mendAccount(
  { redis, epochs, keys }: Ledger,
  { aid, operationId, owners, lines, usage, lostOperations }: AccountMend,
  ttlMs: number,
): Promise<'mended' | 'conflict' | 'repeated'> {
  const partition = keys.partitionOf(aid)
  const code = await epochs.withEpoch(partition, (epoch) =>
    runScript(redis, mendOwnersScript, {
      epoch,
      stream: keys.stream(partition),
      operation: {
        key: keys.operation(aid, operationId),
        ttlMs,
        result: packResult(lines[0] as OperationLine),
      },
      record: packRecord({ lines: [...usage], operations: [...lines] }),
      account: keys.account(aid),
      owners: owners.map(({ before, state, sessions }) => ({
        name: `${aid}:${state.sid}`,
        field: stateField(state.sid),
        before,
        state: packOwner(state),
        sessions: sessions.map(({ sessionKey, session }) => ({
          field: sessionField(state.sid, sessionKey),
          packed: packSession(session),
        })),
      })),
      lostResults: lostOperations.map(({ line, ttlMs }) => ({
        key: keys.operation(aid, line.operationId),
        ttlMs,
        result: packResult(line),
      })),
    }),
  )
  if (code === REPLY.COMMITTED) return 'mended'
  return code === REPLY.REPEATED ? 'repeated' : 'conflict'
}

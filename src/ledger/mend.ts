/**
 * Corrects the owners of an account where the record has what the ledger has lost. What is right is
 * decided by the caller (cli/audit); here it becomes true at once, or not at all.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { OperationLine } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { Ledger } from './ledger.ts'
import { packOwner } from './owner-packing.ts'
import { packRecord, packResult } from './record-packing.ts'
import { REPLY } from './replies.ts'
import type { StoredOperation } from './restore.ts'
import { runScript } from './script.ts'
import { mendOwnersScript } from './scripts.ts'
import { packSession } from './session-packing.ts'

export interface OwnerMend {
  /** Version that it was read with; 0 if it was not there. */
  before: number
  /** Newer than `before`, and than all that is recorded. */
  state: OwnerState
  /** Sessions whose segments change, or have to be recorded again. */
  sessions: readonly { sessionKey: string; session: Session }[]
}

export interface AccountMend {
  aid: number
  /** The same id again changes nothing. */
  operationId: string
  owners: readonly OwnerMend[]
  /** A line per bucket that is corrected. */
  lines: readonly OperationLine[]
  /** Operations that the ledger has lost: their repetition must move nothing. */
  lostOperations: readonly StoredOperation[]
}

/** `conflict`: an owner has changed since it was read. Throws `StoreDownError`. */
export async function mendAccount(
  { redis, epochs, keys }: Ledger,
  { aid, operationId, owners, lines, lostOperations }: AccountMend,
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
      record: packRecord({ lines: [], operations: [...lines] }),
      owners: owners.map(({ before, state, sessions }) => ({
        key: keys.owner(aid, state.sid),
        name: `${aid}:${state.sid}`,
        before,
        state: packOwner(state),
        sessions: sessions.map(({ sessionKey, session }) => ({
          sessionKey,
          packed: packSession(session, sessionKey),
        })),
      })),
      kept: lostOperations.map(({ line, ttlMs }) => ({
        key: keys.operation(aid, line.operationId),
        ttlMs,
        result: packResult(line),
      })),
    }),
  )
  if (code === REPLY.COMMITTED) return 'mended'
  return code === REPLY.REPEATED ? 'repeated' : 'conflict'
}

/** Lays out a batch of commits as keys and arguments of lua/commit.lua, and reads its replies. */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session, SessionState } from '../domain/session.ts'
import { indexMember, type LedgerKeys } from './keys.ts'
import { packOwner } from './owner-packing.ts'
import type { ScriptArgument } from './script.ts'
import type { CommitCall } from './scripts.ts'
import { packRecord, packResult, packSession } from './session-packing.ts'

/** One owner that a commit writes; `state.version` is one more than was read. */
export interface OwnerCommit {
  state: OwnerState
  /** Profile fence that the rating relied on; -1 if on none. */
  fence: number
  /** Sessions whose current value a conflict has to report. */
  reported: readonly string[]
}

export interface SessionCommit {
  sessionKey: string
  session: Session
  /** What stands in the ledger before; null if nothing. */
  before: SessionState | null
}

/**
 * Puts a session at home in an account. Fails if it is at home elsewhere, unless that is
 * `expected`.
 */
export interface ClaimCommit {
  sessionKey: string
  home: string
  expected: string
  /** How long the directory remembers, ms. */
  ttlMs: number
}

/** The account's shared buckets within a commit. */
export interface SharedCommit {
  /** -1: whatever it is. */
  expectedVersion: number
  /** Null if it is only compared. */
  state: OwnerState | null
}

/** Everything of one account that becomes true together or not at all. */
export interface AccountCommit {
  aid: number
  owners: OwnerCommit[]
  shared: SharedCommit
  sessions: SessionCommit[]
  claims: ClaimCommit[]
  operation: { id: string; result: OperationLine } | null
  lines: Line[]
  /** Asks for the turn on the account if the commit meets a conflict. */
  wantsTurn: boolean
}

export interface LayoutSettings {
  keys: LedgerKeys
  operationKeepMs: number
  /** Tells this worker from all others. */
  token: number
}

/** The call for a batch. All keys of a cluster call must be of one slot: the caller groups. */
export function layOut(
  batch: readonly AccountCommit[],
  settings: LayoutSettings,
  nowMs: number,
): CommitCall {
  const keys = new KeyTable()
  const args: ScriptArgument[] = [doubles(nowMs, batch.length)]
  for (const commit of batch) layOutAccount(commit, settings, keys, args)
  return { keys: keys.list, args, accounts: batch.length }
}

/** Numbers the keys of a call, each once. */
class KeyTable {
  readonly list: string[] = []
  private readonly indexes = new Map<string, number>()

  index(key: string): number {
    const known = this.indexes.get(key)
    if (known !== undefined) return known
    const index = this.list.push(key)
    this.indexes.set(key, index)
    return index
  }
}

function layOutAccount(
  commit: AccountCommit,
  settings: LayoutSettings,
  table: KeyTable,
  args: ScriptArgument[],
): void {
  const { aid, owners, shared, sessions, claims, operation } = commit
  const { keys } = settings
  const partition = keys.partitionOf(aid)
  const headerAt = args.push('') - 1
  const names: string[] = []
  for (const { state, fence, reported } of owners) {
    const key = table.index(keys.owner(aid, state.sid))
    args.push(doubles(key, state.version - 1, fence, reported.length), packOwner(state))
    for (const sessionKey of reported) args.push(sessionKey)
    names.push(`${aid}:${state.sid}`)
  }
  if (shared.state !== null) {
    args.push(packOwner(shared.state))
    names.push(`${aid}:0`)
  }
  for (const session of sessions) layOutSession(session, aid, keys, table, args)
  for (const { sessionKey, home, expected, ttlMs } of claims) {
    const key = table.index(keys.directory(sessionKey))
    args.push(doubles(key, ttlMs), home, expected)
  }
  if (operation !== null) {
    const key = table.index(keys.operation(aid, operation.id))
    args.push(doubles(key, settings.operationKeepMs), packResult(operation.result))
  }
  const operations = operation === null ? [] : [operation.result]
  args.push(names.join(' '), packRecord({ lines: commit.lines, operations }))
  args[headerAt] = doubles(
    args.length - headerAt - 1,
    table.index(keys.owner(aid, 0)),
    shared.expectedVersion,
    shared.state === null ? 0 : 1,
    table.index(keys.expiry(partition)),
    table.index(keys.tombstones(partition)),
    table.index(keys.stream(partition)),
    owners.length,
    sessions.length,
    claims.length,
    operations.length,
    commit.wantsTurn ? -settings.token : settings.token,
  )
}

function layOutSession(
  { sessionKey, session, before }: SessionCommit,
  aid: number,
  keys: LedgerKeys,
  table: KeyTable,
  args: ScriptArgument[],
): void {
  const { expiresMs, sid } = session
  const key = table.index(keys.owner(aid, sid))
  const open = session.state === 'open'
  const wasOpen = before === 'open'
  const wasTombstone = before !== null && !wasOpen
  // An open session that lives on keeps its place: the sweep moves it when it comes due too early.
  const expiry = open ? (wasOpen ? 0 : expiresMs) : wasOpen ? -1 : 0
  const tombstone = open ? (wasTombstone ? -1 : 0) : expiresMs
  args.push(
    doubles(key, expiry, tombstone),
    sessionKey,
    indexMember(aid, sid, sessionKey),
    packSession(session),
  )
}

function doubles(...values: number[]): Buffer {
  const packed = Buffer.allocUnsafe(values.length * 8)
  for (let index = 0; index < values.length; index += 1) {
    packed.writeDoubleLE(values[index] ?? 0, index * 8)
  }
  return packed
}

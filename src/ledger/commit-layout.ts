/** Lays out a batch of commits as keys and arguments of lua/commit.lua, and reads its replies. */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session, SessionState } from '../domain/session.ts'
import type { LedgerKeys } from './keys.ts'
import { packOwner } from './owner-packing.ts'
import { packRecord, packResult } from './record-packing.ts'
import type { CommitCall, Epoch } from './scripts.ts'
import { packSession } from './session-packing.ts'
import { Writer } from './writer.ts'

/** One owner that a commit writes; `state.version` is one more than was read. */
export interface OwnerCommit {
  state: OwnerState
  /** Profile fence that the rating relied on; -1 if on none. */
  fence: number
  /** Its sessions that change; a conflict reports how they stand. */
  sessions: SessionCommit[]
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
  /** Fence of the account's own profile that the rating relied on; without it on none. */
  fence?: number
}

/** Everything of one account that becomes true together or not at all. */
export interface AccountCommit {
  aid: number
  owners: OwnerCommit[]
  shared: SharedCommit
  claims: ClaimCommit[]
  operation: { id: string; result: OperationLine } | null
  /** Lines of segments that ended. Those of open ones are read off the sessions. */
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

/** The call for a batch: on a single Redis of any partitions, in a cluster of one. */
export function layOut(
  batch: readonly AccountCommit[],
  settings: LayoutSettings,
  epoch: Epoch,
  nowMs: number,
): CommitCall {
  const table = new KeyTable()
  table.index(epoch.key)
  const writer = new Writer(batch.length * ACCOUNT_BYTES)
  writer.f64(nowMs)
  writer.u16(batch.length)
  for (const commit of batch) {
    const openedAt = writer.openLength()
    writeAccount(commit, settings, table, writer)
    writer.closeLength(openedAt)
  }
  return { keys: table.list, args: [epoch.text, writer.bytes()], accounts: batch.length }
}

/** What the packed commit of one account usually takes. */
const ACCOUNT_BYTES = 1024

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

function writeAccount(
  commit: AccountCommit,
  settings: LayoutSettings,
  table: KeyTable,
  writer: Writer,
): void {
  const { aid, owners, shared, claims, operation } = commit
  const { keys, token } = settings
  const partition = keys.partitionOf(aid)
  writer.f64(shared.expectedVersion)
  writer.f64(shared.fence ?? -1)
  writer.f64(commit.wantsTurn ? -token : token)
  writer.u16(table.index(keys.owner(aid, 0)))
  writer.u16(table.index(keys.expiry(partition)))
  writer.u16(table.index(keys.tombstones(partition)))
  writer.u16(table.index(keys.stream(partition)))
  writer.u16(owners.length)
  writer.u16(claims.length)
  writer.u16(operation === null ? 0 : 1)
  writer.u16(shared.state === null ? 0 : 1)
  for (const owner of owners) writeOwner(owner, aid, keys, table, writer)
  if (shared.state !== null) {
    writer.text(`${aid}:0`)
    writer.block(packOwner(shared.state))
  }
  for (const { sessionKey, home, expected, ttlMs } of claims) {
    writer.u16(table.index(keys.directory(sessionKey)))
    writer.f64(ttlMs)
    writer.text(home)
    writer.text(expected)
  }
  if (operation !== null) {
    writer.u16(table.index(keys.operation(aid, operation.id)))
    writer.f64(settings.operationKeepMs)
    writer.block(packResult(operation.result))
  }
  const operations = operation === null ? [] : [operation.result]
  if (commit.lines.length + operations.length === 0) writer.text('')
  else writer.block(packRecord({ lines: commit.lines, operations }))
}

function writeOwner(
  { state, fence, sessions }: OwnerCommit,
  aid: number,
  keys: LedgerKeys,
  table: KeyTable,
  writer: Writer,
): void {
  writer.u16(table.index(keys.owner(aid, state.sid)))
  writer.f64(state.version - 1)
  writer.f64(fence)
  writer.u16(sessions.length)
  writer.text(`${aid}:${state.sid}`)
  writer.block(packOwner(state))
  for (const { sessionKey, session, before } of sessions) {
    const open = session.state === 'open'
    const wasOpen = before === 'open'
    // An open session that lives on keeps its place: the sweep moves it when it comes due early.
    writer.f64(open ? (wasOpen ? 0 : session.expiresMs) : wasOpen ? -1 : 0)
    // A tombstone may be left of an earlier opening that nobody remembers.
    writer.f64(open ? (wasOpen ? 0 : -1) : session.expiresMs)
    writer.text(sessionKey)
    writer.block(packSession(session))
  }
}

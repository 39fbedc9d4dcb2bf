/** Lays out a batch of commits as keys and arguments of lua/commit.lua, and reads its replies. */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session, SessionState } from '../domain/session.ts'
import { indexMember, type LedgerKeys } from './keys.ts'
import { writeOwnerBlock } from './owner-packing.ts'
import { packResult, writeRecordBlock } from './record-packing.ts'
import type { CommitCall, Epoch } from './scripts.ts'
import { writeSessionBlock } from './session-packing.ts'
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
export interface RegistrationCommit {
  sessionKey: string
  location: string
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
  registrations: RegistrationCommit[]
  operation: { id: string; result: OperationLine } | null
  /** Whether what is credited to buckets may change without an operation; by default not. */
  mayChangeCredit?: boolean
  /** Lines of segments that ended. Those of open ones are read off the sessions. */
  lines: Line[]
  /** Asks for the turn on the account if the commit meets a conflict. */
  setsBackoffHint: boolean
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
  const { keys, token } = settings
  const table = new KeyTable()
  table.index(epoch.key)
  table.index(keys.stream(keys.partitionOf(batch[0]?.aid ?? 0)))
  const absent = indexAbsent(batch, keys, table)
  const writer = new Writer(batch.length * ACCOUNT_BYTES)
  writer.f64(nowMs)
  writer.f64(token)
  writer.u16(batch.length)
  writer.u16(absent)
  for (const commit of batch) {
    const openedAt = writer.openLength()
    writeAccount(commit, settings, table, writer)
    writer.closeLength(openedAt)
  }
  return { keys: table.list, args: [epoch.text, writer.bytes()], accounts: batch.length }
}

/** Fewer than a script may name in one command; owners beyond that are looked at one by one. */
const ABSENT_MAX = 1000

/**
 * Most accounts have nothing in common: that their shared owners are not there is found out by one
 * command for all of them. Gives how many keys it has numbered.
 */
function indexAbsent(batch: readonly AccountCommit[], keys: LedgerKeys, table: KeyTable): number {
  const before = table.list.length
  for (const { aid, shared } of batch) {
    const isAbsent = shared.expectedVersion === 0 && (shared.fence ?? -1) <= 0
    if (isAbsent && table.list.length < ABSENT_MAX) table.index(keys.owner(aid, 0))
  }
  return table.list.length - before
}

/** What the packed commit of one account usually takes. */
const ACCOUNT_BYTES = 1024

/** Numbers the keys of a call, each once. */
class KeyTable {
  readonly list: string[] = []
  readonly #indexes = new Map<string, number>()

  index(key: string): number {
    const known = this.#indexes.get(key)
    if (known !== undefined) return known
    const index = this.list.push(key)
    this.#indexes.set(key, index)
    return index
  }
}

/** In the place of the count of operations. */
const [OPERATION, CREDITED] = [1, 2] as const

function writeAccount(
  commit: AccountCommit,
  settings: LayoutSettings,
  table: KeyTable,
  writer: Writer,
): void {
  const { aid, owners, shared, registrations, operation, lines } = commit
  const { keys } = settings
  writer.f64(shared.expectedVersion)
  writer.f64(shared.fence ?? -1)
  writer.u16(table.index(keys.owner(aid, 0)))
  writer.u16(owners.length)
  const moves = countIndexWrites(owners)
  const hasRecord = operation !== null || lines.length > 0
  const more =
    moves + registrations.length > 0 || hasRecord || shared.state !== null || commit.setsBackoffHint
  writer.u16(more ? 1 : 0)
  if (more) {
    writer.u16(commit.setsBackoffHint ? 1 : 0)
    writer.u16(shared.state === null ? 0 : 1)
    writer.u16(operation !== null ? OPERATION : commit.mayChangeCredit === true ? CREDITED : 0)
    writer.u16(moves)
    writer.u16(registrations.length)
    writer.u16(hasRecord ? 1 : 0)
  }
  for (const owner of owners) writeOwner(owner, aid, keys, table, writer)
  if (shared.state !== null) {
    writer.text(`${aid}:0`)
    writeOwnerBlock(writer, shared.state)
  }
  if (operation !== null) {
    writer.u16(table.index(keys.operation(aid, operation.id)))
    writer.text(wholeMs(settings.operationKeepMs))
    writer.block(packResult(operation.result))
  }
  for (const { state, sessions } of owners) {
    for (const session of sessions) writeIndexWrites(session, aid, state.sid, keys, table, writer)
  }
  for (const { sessionKey, location, expected, ttlMs } of registrations) {
    writer.u16(table.index(keys.directory(sessionKey)))
    writer.text(wholeMs(ttlMs))
    writer.text(location)
    writer.text(expected)
  }
  const operations = operation === null ? [] : [operation.result]
  if (hasRecord) writeRecordBlock(writer, { lines, operations })
}

function writeOwner(
  { state, fence, sessions }: OwnerCommit,
  aid: number,
  keys: LedgerKeys,
  table: KeyTable,
  writer: Writer,
): void {
  writer.u16(table.index(keys.owner(aid, state.sid)))
  writer.f64(fence)
  writer.u16(sessions.length)
  writer.text(`${aid}:${state.sid}`)
  writeOwnerBlock(writer, state)
  for (const { sessionKey, session } of sessions) {
    writer.text(sessionKey)
    writeSessionBlock(writer, session, sessionKey)
  }
}

/** An open session that lives on keeps its place: the sweep moves it when it comes due early. */
function keepsIndexEntry({ session, before }: SessionCommit): boolean {
  return session.state === 'open' && before === 'open'
}

function indexWritesOf(change: SessionCommit): number {
  if (keepsIndexEntry(change)) return 0
  return change.session.state === 'open' || change.before === 'open' ? 2 : 1
}

function countIndexWrites(owners: readonly OwnerCommit[]): number {
  let moves = 0
  for (const { sessions } of owners) for (const change of sessions) moves += indexWritesOf(change)
  return moves
}

function writeIndexWrites(
  change: SessionCommit,
  aid: number,
  sid: number,
  keys: LedgerKeys,
  table: KeyTable,
  writer: Writer,
): void {
  const moves = indexWritesOf(change)
  if (moves === 0) return
  const { session, sessionKey } = change
  const partition = keys.partitionOf(aid)
  const isOpen = session.state === 'open'
  const member = indexMember(aid, sid, sessionKey)
  writer.u16(table.index(isOpen ? keys.expiry(partition) : keys.tombstones(partition)))
  writer.text(wholeMs(session.expiresMs))
  writer.text(member)
  if (moves === 1) return
  // A tombstone may be left of an earlier opening that nobody remembers.
  writer.u16(table.index(isOpen ? keys.tombstones(partition) : keys.expiry(partition)))
  writer.text('')
  writer.text(member)
}

/** As Redis wants it; a script would pay more for making it. */
function wholeMs(ms: number): string {
  return String(Math.trunc(ms))
}

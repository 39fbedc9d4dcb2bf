/** Encodes a batch of commits as the keys and arguments of lua/commit.lua. */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session, SessionState } from '../domain/session.ts'
import { indexMember, type LedgerKeys } from './keys.ts'
import { writeOwnerBlock } from './owner-packing.ts'
import { packResult, writeRecordBlock } from './record-packing.ts'
import type { CommitCall, Epoch } from './scripts.ts'
import { writeSessionBlock } from './session-packing.ts'
import { Writer } from './writer.ts'

/** An owner that a commit writes; `state.version` is the version that was read, plus one. */
export interface OwnerCommit {
  state: OwnerState
  /** Profile fence that the rating relied on; -1 if it relied on none. */
  fence: number
  /** The sessions that change; a conflict reports their current states. */
  sessions: SessionCommit[]
}

export interface SessionCommit {
  sessionKey: string
  session: Session
  /** State of the session in the ledger before the commit; null if it is new. */
  before: SessionState | null
}

/**
 * Registers a session in an account. Fails if it is registered in another account, unless that
 * registration is `expected`.
 */
export interface RegistrationCommit {
  sessionKey: string
  location: string
  expected: string
  /** Time to live of the directory entry, ms. */
  ttlMs: number
}

/** The account's shared owner within a commit. */
export interface SharedCommit {
  /** -1 for any version. */
  expectedVersion: number
  /** Null if the version is only compared. */
  state: OwnerState | null
  /** Fence of the account's own profile that the rating relied on; absent if it relied on none. */
  fence?: number
}

/** All changes of one account, committed as a whole or not at all. */
export interface AccountCommit {
  aid: number
  owners: OwnerCommit[]
  shared: SharedCommit
  registrations: RegistrationCommit[]
  operation: { id: string; result: OperationLine } | null
  /** Whether the credit of buckets may change without an operation; false by default. */
  mayChangeCredit?: boolean
  /** Lines of segments that ended. Lines of open segments are read from the sessions. */
  lines: Line[]
  /**
   * Sets a back-off hint on the account if the commit meets a conflict: other workers receive BUSY
   * until it expires.
   */
  setsBackoffHint: boolean
}

export interface LayoutSettings {
  keys: LedgerKeys
  operationKeepMs: number
  /** Unique for each worker. */
  token: number
}

/** The call for a batch: of any partitions on a single Redis, of one partition in a cluster. */
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

/**
 * Below the number of arguments that a script may pass to one command. Shared owners beyond it are
 * read one by one.
 */
const ABSENT_MAX = 1000

/**
 * Most accounts have no shared owner: one EXISTS checks that for all of them. Returns the number of
 * keys that it covers.
 */
function indexAbsent(batch: readonly AccountCommit[], keys: LedgerKeys, table: KeyTable): number {
  const before = table.list.length
  for (const { aid, shared } of batch) {
    const isAbsent = shared.expectedVersion === 0 && (shared.fence ?? -1) <= 0
    if (isAbsent && table.list.length < ABSENT_MAX) table.index(keys.owner(aid, 0))
  }
  return table.list.length - before
}

/** Usual size of the packed commit of one account. */
const ACCOUNT_BYTES = 1024

/** Assigns each distinct key of a call an index. */
class KeyTable {
  readonly list: string[] = []
  readonly #indexes = new Map<string, number>()

  index(key: string): number {
    const existing = this.#indexes.get(key)
    if (existing !== undefined) return existing
    const index = this.list.push(key)
    this.#indexes.set(key, index)
    return index
  }
}

/** Values of the field that counts operations in lua/commit.lua. */
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
  const indexWrites = countIndexWrites(owners)
  const hasRecord = operation !== null || lines.length > 0
  const more =
    indexWrites + registrations.length > 0 ||
    hasRecord ||
    shared.state !== null ||
    commit.setsBackoffHint
  writer.u16(more ? 1 : 0)
  if (more) {
    writer.u16(commit.setsBackoffHint ? 1 : 0)
    writer.u16(shared.state === null ? 0 : 1)
    writer.u16(operation !== null ? OPERATION : commit.mayChangeCredit === true ? CREDITED : 0)
    writer.u16(indexWrites)
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

/**
 * An open session that stays open keeps its index entry: the sweep moves an entry that is due
 * before the session expires.
 */
function keepsIndexEntry({ session, before }: SessionCommit): boolean {
  return session.state === 'open' && before === 'open'
}

function indexWritesOf(change: SessionCommit): number {
  if (keepsIndexEntry(change)) return 0
  return change.session.state === 'open' || change.before === 'open' ? 2 : 1
}

function countIndexWrites(owners: readonly OwnerCommit[]): number {
  let indexWrites = 0
  for (const { sessions } of owners)
    for (const change of sessions) indexWrites += indexWritesOf(change)
  return indexWrites
}

function writeIndexWrites(
  change: SessionCommit,
  aid: number,
  sid: number,
  keys: LedgerKeys,
  table: KeyTable,
  writer: Writer,
): void {
  const indexWrites = indexWritesOf(change)
  if (indexWrites === 0) return
  const { session, sessionKey } = change
  const partition = keys.partitionOf(aid)
  const isOpen = session.state === 'open'
  const member = indexMember(aid, sid, sessionKey)
  writer.u16(table.index(isOpen ? keys.expiry(partition) : keys.tombstones(partition)))
  writer.text(wholeMs(session.expiresMs))
  writer.text(member)
  if (indexWrites === 1) return
  // A tombstone of an earlier session with the same id may still exist.
  writer.u16(table.index(isOpen ? keys.tombstones(partition) : keys.expiry(partition)))
  writer.text('')
  writer.text(member)
}

/** Text as Redis expects it: converting it in the script would cost more. */
function wholeMs(ms: number): string {
  return String(Math.trunc(ms))
}

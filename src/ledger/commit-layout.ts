/** Encodes a batch of commits as the keys and arguments of lua/commit.lua. */
import { assert } from '../domain/assert.ts'
import type { OwnerState } from '../domain/bucket.ts'
import type { BalanceEvent } from '../domain/events/event.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type { Session, SessionState } from '../domain/session.ts'
import { FENCE_PREFIX, indexMember, type LedgerKeys, STATE_PREFIX } from './keys.ts'
import { writeOwnerState } from './owner-packing.ts'
import { packResult, writeRecordBlock } from './record-packing.ts'
import type { CommitCall, Epoch } from './scripts.ts'
import { writeSession } from './session-packing.ts'
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

/** A balance operation; its results are stored under their operation ids. */
export interface CommittedOperation {
  result: OperationLine
  /** Results of the operations under a heading, each with an id of its own; none if absent. */
  parts?: readonly OperationLine[]
}

/** All changes of one account, committed as a whole or not at all. */
export interface AccountCommit {
  aid: number
  owners: OwnerCommit[]
  shared: SharedCommit
  registrations: RegistrationCommit[]
  operation: CommittedOperation | null
  /** Whether the credit of buckets may change without an operation; false by default. */
  mayChangeCredit?: boolean
  /** Lines of segments that ended. Lines of open segments are read from the sessions. */
  lines: Line[]
  /** Events that follow from the new states; none if absent. */
  events?: readonly BalanceEvent[]
  /** Receives the packed states; absent if nobody needs them. */
  packed?: PackedStates
  /**
   * Duration of the back-off hint that a conflict sets on the account: other workers receive BUSY
   * until it expires; 0 sets none. See `backoffHintMs`.
   */
  backoffHintMs: number
}

const FIRST_HINT_MS = 50
const HINT_MS_MAX = 1600

/**
 * The back-off hint of a commit attempt, counted from 1: from the third attempt on, and twice as
 * long with each further one. On a machine with more processes than cores, the time from a conflict
 * to the next commit is longer than a short hint lasts. The last attempt sets none, because nobody
 * would use it.
 */
export function backoffHintMs(attempt: number, attemptsMax: number): number {
  if (attempt < 3 || attempt >= attemptsMax) return 0
  return Math.min(FIRST_HINT_MS * 2 ** (attempt - 3), HINT_MS_MAX)
}

/** A packed value within the arguments of a call; valid as long as they are. */
export interface PackedValue {
  bytes: Buffer
  from: number
  end: number
}

/**
 * Where the arguments of the latest call contain the packed states of a commit: of each owner,
 * followed by its sessions, then the shared one if it is written.
 */
export class PackedStates {
  #bytes: Buffer = NO_BYTES
  /** Room for an owner with a session. */
  readonly #bounds = [0, 0, 0, 0]
  #length = 0
  #read = 0
  readonly #value: PackedValue = { bytes: NO_BYTES, from: 0, end: 0 }

  /** A call may be repeated. */
  clear(): void {
    this.#length = 0
  }

  add(from: number, end: number): void {
    this.#bounds[this.#length] = from
    this.#bounds[this.#length + 1] = end
    this.#length += 2
  }

  complete(bytes: Buffer): void {
    this.#bytes = bytes
    this.#read = 0
  }

  /** The next value; valid until the next call of this method. */
  next(): PackedValue {
    const value = this.#value
    assert(this.#read < this.#length, 'there is another packed value')
    value.bytes = this.#bytes
    value.from = this.#bounds[this.#read] as number
    value.end = this.#bounds[this.#read + 1] as number
    this.#read += 2
    return value
  }
}

const NO_BYTES = Buffer.alloc(0)

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
  const writer = new Writer(batch.length * ACCOUNT_BYTES)
  const states = new Writer(batch.length * STATES_BYTES)
  writer.f64(nowMs)
  writer.f64(token)
  writer.u16(batch.length)
  let count = 0
  for (const commit of batch) {
    const openedAt = writer.openLength()
    count += writeAccount(commit, settings, table, { writer, states })
    writer.closeLength(openedAt)
  }
  const bytes = states.bytes()
  for (const { packed } of batch) packed?.complete(bytes)
  const args = [epoch.text, writer.bytes(), { bytes, count }]
  return { keys: table.list, args, accounts: batch.length }
}

/** Usual size of the packed commit of one account, and of its states. */
const ACCOUNT_BYTES = 256
const STATES_BYTES = 1024

/** Assigns each distinct key of a call an index, in ascending order: the script relies on it. */
class KeyTable {
  readonly list: string[] = []
  readonly #indexes = new Map<string, number>()
  /** By number: most keys are those of accounts, and hashing their texts would cost more. */
  readonly #accounts = new Map<number, number>()

  account(aid: number, keys: LedgerKeys): number {
    const existing = this.#accounts.get(aid)
    if (existing !== undefined) return existing
    const index = this.list.push(keys.account(aid))
    this.#accounts.set(aid, index)
    return index
  }

  index(key: string): number {
    const existing = this.#indexes.get(key)
    if (existing !== undefined) return existing
    const index = this.list.push(key)
    this.#indexes.set(key, index)
    return index
  }
}

/** Kind of an account in lua/commit.lua whose counts follow. */
const WITH_COUNTS = 255

/** In place of the number of operations in lua/commit.lua. */
const CREDITED = 0xff_ff

/** The packed batch, and the states, which are arguments of their own. */
interface Writers {
  writer: Writer
  states: Writer
}

/** Returns the number of arguments with states. */
function writeAccount(
  commit: AccountCommit,
  settings: LayoutSettings,
  table: KeyTable,
  writers: Writers,
): number {
  const { aid, owners, shared, registrations, operation, lines, events = NO_EVENTS } = commit
  const { keys } = settings
  const { packed } = commit
  const { writer, states } = writers
  packed?.clear()
  assert(owners.length > 0 || shared.state !== null, 'a commit writes a state')
  const moved = countIndexWrites(owners)
  const operations = resultsOf(operation)
  const hasRecord = operations.length > 0 || lines.length > 0 || events.length > 0
  const isCredited = operation === null && commit.mayChangeCredit === true
  let count = shared.state === null ? 0 : 2
  for (const { sessions } of owners) count += 2 + 2 * sessions.length
  const records = hasRecord ? 1 : 0
  const isUsual = needsNoCounts(commit)
  writer.u16(count)
  writer.u8(isUsual ? moved + 4 * registrations.length + 8 * records : WITH_COUNTS)
  writer.f64(shared.expectedVersion)
  writer.f64(shared.fence ?? -1)
  writer.u16(table.account(aid, keys))
  if (!isUsual) {
    writer.u16(owners.length)
    writer.u16(commit.backoffHintMs)
    writer.u16(shared.state === null ? 0 : 1)
    writer.u16(isCredited ? CREDITED : operations.length)
    writer.u16(moved)
    writer.u16(registrations.length)
    writer.u16(records)
  }
  for (const owner of owners) writeOwner(owner, aid, writers, packed)
  if (shared.state !== null) {
    writer.text(`${aid}:0`)
    states.bulkTexts(STATE_PREFIX, '0')
    writeState(shared.state, states, packed)
  }
  for (const result of operations) {
    writer.u16(table.index(keys.operation(aid, result.operationId)))
    writer.text(wholeMs(settings.operationKeepMs))
    writer.block(packResult(result))
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
  if (hasRecord) writeRecordBlock(writer, { lines, operations, events })
  return count
}

/** Whether an account has one owner with one session, and at most what its kind can tell. */
function needsNoCounts(commit: AccountCommit): boolean {
  const { owners, shared, operation, registrations } = commit
  return (
    owners.length === 1 &&
    owners[0]?.sessions.length === 1 &&
    shared.state === null &&
    operation === null &&
    commit.mayChangeCredit !== true &&
    registrations.length < 2 &&
    commit.backoffHintMs === 0
  )
}

const NO_EVENTS: readonly BalanceEvent[] = []

function resultsOf(operation: CommittedOperation | null): readonly OperationLine[] {
  return operation === null ? [] : [operation.result, ...(operation.parts ?? [])]
}

function writeOwner(
  { state, fence, sessions }: OwnerCommit,
  aid: number,
  { writer, states }: Writers,
  packed: PackedStates | undefined,
): void {
  const sid = String(state.sid)
  writer.f64(fence)
  writer.u16(sessions.length)
  writer.texts(String(aid), ':', sid)
  writer.texts(FENCE_PREFIX, sid)
  states.bulkTexts(STATE_PREFIX, sid)
  writeState(state, states, packed)
  for (const { sessionKey, session } of sessions) {
    states.bulkTexts(sid, ':', sessionKey)
    const openedAt = states.openBulk()
    writeSession(states, session)
    const from = states.closeBulk(openedAt)
    packed?.add(from, states.length - 2)
  }
}

function writeState(state: OwnerState, states: Writer, packed: PackedStates | undefined): void {
  const openedAt = states.openBulk()
  writeOwnerState(states, state)
  const from = states.closeBulk(openedAt)
  packed?.add(from, states.length - 2)
}

/**
 * An open session that stays open keeps its index entry: the sweep moves an entry that is due
 * before the session expires.
 */
function keepsIndexEntry({ session, before }: SessionCommit): boolean {
  return session.state === 'open' && before === 'open'
}

/** A tombstone of an earlier session with the same id stays until it is due; see lua/forget.lua. */
function indexWritesOf(change: SessionCommit): number {
  if (keepsIndexEntry(change)) return 0
  return change.session.state !== 'open' && change.before === 'open' ? 2 : 1
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
  writer.u16(table.index(keys.expiry(partition)))
  writer.text('')
  writer.text(member)
}

/** Text as Redis expects it: converting it in the script would cost more. */
function wholeMs(ms: number): string {
  return String(Math.trunc(ms))
}

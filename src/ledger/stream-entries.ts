/**
 * Resolves the entries of a stream. An entry names the owners and sessions that a commit wrote;
 * their states are absolute and versioned, so the current states are read. Only data that no state
 * contains any more, such as the line of an ended segment, is in the entry itself.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf } from '../domain/lines.ts'
import type { Session } from '../domain/session.ts'
import { StoreDownError } from '../store/redis.ts'
import type { Ledger, LoadedOwner, OwnerQuery } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'
import { type StreamRecord, unpackRecord } from './record-packing.ts'

/**
 * The part of an entry that belongs to one account. The accounts of one call share an entry and its
 * id.
 */
export interface AccountPart {
  partition: number
  id: string
  /** Undefined if the entry does not name it. */
  aid: number | undefined
  /** Alternating names and values, as stored in the stream. */
  fields: Buffer[]
  /** Whether the entry also has parts of other accounts. */
  isShared: boolean
}

/** The changes of one commit of one account. */
export interface StreamEntry extends StreamRecord, AccountPart {
  /** States of the written owners, as of that commit or a later one. */
  owners: OwnerState[]
}

/** A part that cannot be read: it is kept in the stream for an operator, and reported. */
export interface UnreadableEntry extends AccountPart {
  reason: string
}

export interface ResolvedEntries {
  entries: StreamEntry[]
  unreadable: UnreadableEntry[]
}

export interface StreamBatch extends ResolvedEntries {
  /** Whether the limit of bytes ended the read, so that more entries may follow. */
  isFull: boolean
}

export interface RawEntry {
  partition: number
  id: string
  /** Null if the entry was deleted while it was still pending. */
  fields: Buffer[] | null
}

/** An owner named by an entry, with the sessions that the commit wrote. */
interface WrittenOwner {
  aid: number
  sid: number
  sessionKeys: Set<string>
  /** Once loaded. */
  state?: State | UnreadableState
}

/** Entries between two rests; one may have the accounts of some hundred requests. */
const PARSED_AT_ONCE = 50
const RESOLVED_AT_ONCE = 100
/** States and sessions loaded by one script call: more would block Redis for charging. */
const VALUES_PER_CALL = 200

/**
 * Reads each state that the entries name once. In a cluster an entry whose account is unavailable
 * stays pending and does not delay the others. Throws `StoreDownError` if nothing could be read.
 */
export async function resolveEntries(
  ledger: Ledger,
  raw: readonly RawEntry[],
  rest: () => Promise<void>,
): Promise<ResolvedEntries> {
  const batch: ResolvedEntries = { entries: [], unreadable: [] }
  const written = new Map<string, WrittenOwner>()
  const parsed: EntryPart[][] = []
  for (const entry of raw) {
    parsed.push(parseEntry(entry, written))
    if (parsed.length % PARSED_AT_ONCE === 0) await rest()
  }
  await loadStates(ledger, written.values(), rest)
  let outage: StoreDownError | undefined
  for (const [index, parts] of parsed.entries()) {
    const unavailable = failureIn(parts, StoreDownError)
    outage ??= unavailable
    // All parts or none: an entry is acknowledged as a whole.
    if (unavailable === undefined) for (const part of parts) resolvePart(part, batch)
    if (index % RESOLVED_AT_ONCE === RESOLVED_AT_ONCE - 1) await rest()
  }
  if (outage !== undefined && batch.entries.length === 0) throw outage
  return batch
}

/** The first state of the parts that cannot be read for this kind of reason. */
function failureIn<E extends UnreadableState>(
  parts: readonly EntryPart[],
  kind: new (...args: never[]) => E,
): E | undefined {
  for (const { written } of parts) {
    for (const { state } of written) if (state instanceof kind) return state
  }
  return undefined
}

function resolvePart(part: EntryPart, batch: ResolvedEntries): void {
  const { entry, written, damage } = part
  const corrupt = failureIn([part], CorruptValueError)
  const reason = damage ?? corrupt?.message
  if (reason !== undefined) {
    const { partition, id, aid, fields, isShared } = entry
    batch.unreadable.push({ partition, id, aid, fields, isShared, reason })
  }
  const isAllDamage = damage !== undefined && written.length === 0 && isEmptyRecord(entry)
  if (corrupt !== undefined || isAllDamage) return
  const states = written.map(({ state }) => state as State)
  entry.owners = states.map(({ owner }) => owner)
  const [first] = states
  if (states.length === 1 && entry.lines.length === 0) entry.lines = (first as State).lines
  else entry.lines = [...entry.lines, ...states.flatMap(({ lines }) => lines)]
  batch.entries.push(entry)
}

function isEmptyRecord({ lines, operations, events = [] }: StreamRecord): boolean {
  return lines.length === 0 && operations.length === 0 && events.length === 0
}

interface State {
  owner: OwnerState
  /** Lines of the segments in its sessions: open, or kept after they ended. */
  lines: Line[]
}

interface EntryPart {
  entry: StreamEntry
  /** The owners that it names. */
  written: WrittenOwner[]
  /** Why one of its fields cannot be read. */
  damage: string | undefined
}

/** Splits an entry by account. A part that cannot be read is marked as damaged. */
function parseEntry(raw: RawEntry, written: Map<string, WrittenOwner>): EntryPart[] {
  const { partition, id, fields } = raw
  const parts = new EntryParts(partition, id, written)
  for (let index = 0; fields !== null && index + 1 < fields.length; index += 2) {
    parts.add(fields[index] as Buffer, fields[index + 1] as Buffer)
  }
  const isShared = parts.list.length > 1
  for (const { entry } of parts.list) entry.isShared = isShared
  return parts.list
}

/**
 * Collects the fields of an entry, which are grouped by account: `aid:sid` with the fields of the
 * written sessions for each of its owners, then a record if it has one: `r`, or `r+` if the entry
 * already has an `r` (lua/commit.lua).
 */
class EntryParts {
  readonly list: EntryPart[] = []
  readonly #partition: number
  readonly #id: string
  readonly #written: Map<string, WrittenOwner>
  /** Part of the current account; it ends with its record. */
  #part: EntryPart | undefined

  constructor(partition: number, id: string, written: Map<string, WrittenOwner>) {
    this.#partition = partition
    this.#id = id
    this.#written = written
  }

  add(field: Buffer, value: Buffer): void {
    const name = field.toString()
    const isRecord = name === 'r' || name === 'r+'
    const known = isRecord ? undefined : this.#written.get(name)
    const aid = isRecord ? this.#part?.entry.aid : (known?.aid ?? accountOf(name))
    const isSame = this.#part !== undefined && this.#part.entry.aid === aid
    const part = isSame ? (this.#part as EntryPart) : this.#begin(aid)
    // An array that grows from empty has room for 16 more, in each of tens of thousands of parts.
    if (part.entry.fields.length === 0) part.entry.fields = [field, value]
    else part.entry.fields.push(field, value)
    try {
      if (isRecord) readRecord(part, value)
      else this.#readOwner(part, name, value)
    } catch (error) {
      part.damage ??= error instanceof Error ? error.message : String(error)
    }
    this.#part = isRecord ? undefined : part
  }

  #readOwner(part: EntryPart, name: string, value: Buffer): void {
    if (part.entry.aid === undefined) throw new CorruptValueError(`unknown field ${name}`)
    const owner = addWritten(this.#written, name, value.toString())
    if (part.written.length === 0) part.written = [owner]
    else part.written.push(owner)
  }

  #begin(aid: number | undefined): EntryPart {
    const partition = this.#partition
    const id = this.#id
    const entry: StreamEntry = {
      partition,
      id,
      aid,
      fields: [],
      isShared: false,
      owners: [],
      lines: [],
      operations: [],
    }
    const part = { entry, written: [], damage: undefined }
    this.list.push(part)
    return part
  }
}

/** Throws `CorruptValueError`. */
function readRecord({ entry }: EntryPart, packed: Buffer): void {
  const { lines, operations, events = [] } = unpackRecord(packed)
  entry.lines.push(...lines)
  entry.operations.push(...operations)
  if (events.length > 0) entry.events = [...(entry.events ?? []), ...events]
}

function accountOf(name: string): number | undefined {
  return /^\d+:\d+$/.test(name) ? Number(name.slice(0, name.indexOf(':'))) : undefined
}

/** The keys of sessions whose fields (`sid:key`) an entry lists, separated by spaces. */
export function sessionKeysIn(fields: string): string[] {
  if (fields === '') return []
  return fields.split(' ').map((field) => field.slice(field.indexOf(':') + 1))
}

/** `fields`: as in `sessionKeysIn`. */
function addWritten(
  written: Map<string, WrittenOwner>,
  name: string,
  fields: string,
): WrittenOwner {
  let owner = written.get(name)
  if (owner === undefined) {
    const [aid, sid] = name.split(':').map(Number)
    owner = { aid: aid as number, sid: sid as number, sessionKeys: new Set() }
    written.set(name, owner)
  }
  for (const sessionKey of sessionKeysIn(fields)) owner.sessionKeys.add(sessionKey)
  return owner
}

/** The reason why a state cannot be read. */
type UnreadableState = CorruptValueError | StoreDownError

async function loadStates(
  ledger: Ledger,
  written: Iterable<WrittenOwner>,
  rest: () => Promise<void>,
): Promise<void> {
  for (const queries of callsFor(written)) {
    for (const [index, loaded] of (await ledger.loadEach(queries)).entries()) {
      const { owner, sessionKeys } = queries[index] as StateQuery
      const state = loaded instanceof Error ? loaded : stateOf(loaded, sessionKeys)
      owner.state = mergeStates(owner.state, state)
    }
    await rest()
  }
}

interface StateQuery extends OwnerQuery {
  owner: WrittenOwner
}

/** Splits owners and their sessions into calls of a bounded size. */
function callsFor(written: Iterable<WrittenOwner>): StateQuery[][] {
  const calls: StateQuery[][] = []
  let call: StateQuery[] = []
  let values = 0
  const add = (query: StateQuery) => {
    call.push(query)
    values += 1 + query.sessionKeys.length
    if (values < VALUES_PER_CALL) return
    calls.push(call)
    call = []
    values = 0
  }
  for (const owner of written) {
    const { aid, sid } = owner
    const keys = [...owner.sessionKeys]
    for (let from = 0; from === 0 || from < keys.length; from += VALUES_PER_CALL) {
      add({ aid, sid, sessionKeys: keys.slice(from, from + VALUES_PER_CALL), owner })
    }
  }
  if (call.length > 0) calls.push(call)
  return calls
}

function mergeStates(
  previous: State | UnreadableState | undefined,
  part: State | UnreadableState,
): State | UnreadableState {
  if (previous === undefined || part instanceof Error) return part
  if (previous instanceof Error) return previous
  const owner = part.owner.version > previous.owner.version ? part.owner : previous.owner
  return { owner, lines: [...previous.lines, ...part.lines] }
}

function stateOf(loaded: LoadedOwner, sessionKeys: readonly string[]): State {
  const lines = loaded.sessions.flatMap((session, index) =>
    session === null ? [] : segmentLines(session, sessionKeys[index] as string),
  )
  return { owner: loaded.state, lines }
}

/** The complete lines of the segments in a session, as the recorder writes them. */
export function segmentLines(session: Session, sessionKey: string): Line[] {
  // A completed event keeps its segments so that it can be refunded.
  const state = session.state === 'denied' ? 'closed' : session.state
  return session.services.flatMap((service, index) => {
    const { segment } = service
    if (segment === null || segment.counts.used === 0) return []
    // The remainder of an event after refunds: its line is already recorded and stays unchanged.
    if (segment.number < service.segmentsEnded) return []
    const tag = serviceTagOf(sessionKey, session, index)
    return [lineOf(session, service, { segment, state }, tag)]
  })
}

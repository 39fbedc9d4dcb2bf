/**
 * What stands behind the entries of a stream. An entry names the owners and sessions that a commit
 * wrote; their states are absolute and versioned, so they are read as they are by now. Only what
 * stands in no state any more, such as the line of a segment that ended, is in the entry itself.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf } from '../domain/lines.ts'
import type { Session } from '../domain/session.ts'
import { StoreDownError } from '../store/redis.ts'
import type { Ledger, LoadedOwner, OwnerWanted } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'
import { type StreamRecord, unpackRecord } from './record-packing.ts'

/** What one commit of one account changed. */
export interface StreamEntry extends StreamRecord {
  partition: number
  id: string
  /** States of the owners that were written, as of that commit or a later one. */
  owners: OwnerState[]
}

/** An entry that cannot be read: kept in the stream for a person, and reported. */
export interface UnreadableEntry {
  partition: number
  id: string
  reason: string
}

export interface StreamBatch {
  entries: StreamEntry[]
  unreadable: UnreadableEntry[]
}

export interface RawEntry {
  partition: number
  id: string
  /** Null: deleted, although it was still pending. */
  fields: Buffer[] | null
}

/** An owner that an entry names, with the sessions that were written. */
interface Touched {
  aid: number
  sid: number
  sessionKeys: Set<string>
}

/** States and sessions that one script call loads: it must not keep Redis from charging. */
const VALUES_PER_CALL = 500

/**
 * Reads the states that the entries name, each once. In a cluster an entry whose account is away
 * stays pending, and keeps no other waiting. Throws `StoreDownError` if nothing could be read.
 */
export async function resolveEntries(
  ledger: Ledger,
  raw: readonly RawEntry[],
): Promise<StreamBatch> {
  const batch: StreamBatch = { entries: [], unreadable: [] }
  const touched = new Map<string, Touched>()
  const parsed = raw.flatMap((entry) => parseEntry(entry, touched, batch))
  const states = await loadStates(ledger, [...touched.values()])
  let outage: StoreDownError | undefined
  for (const { entry, names } of parsed) {
    const found = names.map((name) => states.get(name))
    const away = found.find((state) => state instanceof StoreDownError)
    outage ??= away
    if (away !== undefined) continue
    const damage = found.find((state) => state instanceof CorruptValueError)
    if (damage !== undefined) {
      const { partition, id } = entry
      batch.unreadable.push({ partition, id, reason: damage.message })
      continue
    }
    for (const state of found as State[]) {
      entry.owners.push(state.owner)
      entry.lines.push(...state.lines)
    }
    batch.entries.push(entry)
  }
  if (outage !== undefined && batch.entries.length === 0) throw outage
  return batch
}

interface State {
  owner: OwnerState
  /** Lines of the segments that its sessions have: open, or kept after they ended. */
  lines: Line[]
}

interface ParsedEntry {
  entry: StreamEntry
  names: string[]
}

/** Fields: `aid:sid` with its session keys, and `r`, the record (lua/commit.lua). */
function parseEntry(
  { partition, id, fields }: RawEntry,
  touched: Map<string, Touched>,
  batch: StreamBatch,
): ParsedEntry[] {
  if (fields === null) return []
  const entry: StreamEntry = { partition, id, owners: [], lines: [], operations: [] }
  const named: [string, string[]][] = []
  try {
    for (let index = 0; index + 1 < fields.length; index += 2) {
      const name = String(fields[index])
      const value = fields[index + 1] as Buffer
      if (name === 'r') Object.assign(entry, unpackRecord(value))
      else named.push([checkedName(name), value.toString().split(' ').filter(isNotEmpty)])
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    batch.unreadable.push({ partition, id, reason })
    return []
  }
  for (const [name, sessionKeys] of named) touch(touched, name, sessionKeys)
  return [{ entry, names: named.map(([name]) => name) }]
}

function checkedName(name: string): string {
  if (!/^\d+:\d+$/.test(name)) throw new CorruptValueError(`unknown field ${name}`)
  return name
}

function isNotEmpty(text: string): boolean {
  return text !== ''
}

function touch(touched: Map<string, Touched>, name: string, sessionKeys: string[]): void {
  let owner = touched.get(name)
  if (owner === undefined) {
    const [aid, sid] = name.split(':').map(Number)
    owner = { aid: aid as number, sid: sid as number, sessionKeys: new Set() }
    touched.set(name, owner)
  }
  for (const sessionKey of sessionKeys) owner.sessionKeys.add(sessionKey)
}

/** What stands in the place of a state that cannot be read. */
type Unread = CorruptValueError | StoreDownError

async function loadStates(
  ledger: Ledger,
  touched: readonly Touched[],
): Promise<Map<string, State | Unread>> {
  const states = new Map<string, State | Unread>()
  for (const wanted of callsFor(touched)) {
    for (const [index, loaded] of (await ledger.loadEach(wanted)).entries()) {
      const { aid, sid, sessionKeys } = wanted[index] as OwnerWanted
      const name = `${aid}:${sid}`
      const state = loaded instanceof Error ? loaded : stateOf(loaded, sessionKeys)
      states.set(name, merged(states.get(name), state))
    }
  }
  return states
}

/** Parts of an owner's sessions, gathered into calls of a bounded size. */
function callsFor(touched: readonly Touched[]): OwnerWanted[][] {
  const calls: OwnerWanted[][] = []
  let call: OwnerWanted[] = []
  let values = 0
  const add = (wanted: OwnerWanted) => {
    call.push(wanted)
    values += 1 + wanted.sessionKeys.length
    if (values < VALUES_PER_CALL) return
    calls.push(call)
    call = []
    values = 0
  }
  for (const { aid, sid, sessionKeys } of touched) {
    const keys = [...sessionKeys]
    for (let from = 0; from === 0 || from < keys.length; from += VALUES_PER_CALL) {
      add({ aid, sid, sessionKeys: keys.slice(from, from + VALUES_PER_CALL) })
    }
  }
  if (call.length > 0) calls.push(call)
  return calls
}

function merged(known: State | Unread | undefined, part: State | Unread): State | Unread {
  if (known === undefined || part instanceof Error) return part
  if (known instanceof Error) return known
  const owner = part.owner.version > known.owner.version ? part.owner : known.owner
  return { owner, lines: [...known.lines, ...part.lines] }
}

function stateOf(loaded: LoadedOwner, sessionKeys: readonly string[]): State {
  const lines = loaded.sessions.flatMap((session, index) =>
    session === null ? [] : standingLines(session, sessionKeys[index] as string),
  )
  return { owner: loaded.state, lines }
}

/** The lines of the segments that stand in a session: whole, and as the record has them. */
function standingLines(session: Session, sessionKey: string): Line[] {
  // An event that is over keeps its segments, so that it can be refunded.
  const state = session.state === 'denied' ? 'closed' : session.state
  return session.services.flatMap((service, index) => {
    const { segment } = service
    if (segment === null || segment.used === 0) return []
    const tag = serviceTagOf(sessionKey, session, index)
    return [lineOf(session, service, { segment, state }, tag)]
  })
}

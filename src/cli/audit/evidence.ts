/** Collects the state of an account whose audit failed, from the ledger and from MongoDB. */
import type { BalanceDocument } from '../../catalog/records/usage/balance-document.ts'
import type { BalanceLineDocument, LineDocument } from '../../catalog/records/usage/documents.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import {
  addCarried,
  addLine,
  type CarriedDocument,
  emptySums,
  type OwnerSums,
} from '../../catalog/records/usage/line-sums.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { Line } from '../../domain/line.ts'
import { sessionTagOf } from '../../domain/lines.ts'
import type { Session } from '../../domain/session.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import type { LoadedOwner } from '../../ledger/ledger.ts'
import { segmentLines } from '../../ledger/stream-entries.ts'
import type { AuditStores } from './account.ts'
import type { FoundAccount } from './accounts.ts'
import { OpenSegmentLines } from './open-lines.ts'
import { readAll } from './read-all.ts'

export interface LedgerSession {
  sessionKey: string
  session: Session
}

export interface OwnerEvidence {
  state: OwnerState
  sessions: LedgerSession[]
  projected: BalanceDocument[]
  /** Sums over the recorded lines. */
  sums: OwnerSums
}

/** The line of a segment in a ledger session, and the recorded line with the same stamp. */
export interface SegmentLine {
  ledgerLine: Line
  /** Null if the line is not recorded. */
  recorded: RealtimeLineDocument | null
}

/** A recorded line of a segment that the ledger has not begun, or that has no usage there. */
export interface LaterLine extends LedgerSession {
  /** Index of its service in the session; the session may not have that service. */
  service: number
  /** Number of its segment within the service. */
  segment: number
  recorded: RealtimeLineDocument
}

export interface AccountEvidence {
  aid: number
  /** The account's owner (sid 0) first. */
  owners: OwnerEvidence[]
  /** Segments whose recorded line differs from the ledger. */
  different: SegmentLine[]
  /** Recorded lines of open sessions for segments that the ledger does not have yet. */
  later: LaterLine[]
  /** The newest recorded lines of sessions that are not in the ledger, newest first. */
  unknown: RealtimeLineDocument[]
  /** Recorded operations that the ledger no longer has, on buckets with less credit there. */
  lost: BalanceLineDocument[]
}

const UNKNOWN_MAX = 1_000

/**
 * Null if an owner cannot be read, or if the recorder has not caught up. Throws `StoreDownError` or
 * `CatalogUnavailableError`.
 */
export async function gatherEvidence(
  stores: AuditStores,
  { aid, sids }: FoundAccount,
  operationsSinceMs: number,
): Promise<AccountEvidence | null> {
  const loaded = await loadAll(stores, aid, [0, ...sids])
  if (loaded === null || !(await stores.recording.waitUntilRecorded(aid))) return null
  const { catalog, ledger } = stores
  const projected = await catalog.balances.find({ aid }).toArray()
  const carried = await catalog.carried.find({ aid }).toArray()
  const book = await readAll(
    catalog,
    'read the lines of an account',
    (options) => catalog.unguarded.lines.find({ aid }, options),
    () => new LineIndex(loaded, projected, carried),
    (index, line) => index.add(line),
  )
  const { owners, later } = book
  const lost: BalanceLineDocument[] = []
  for (const line of book.operations) {
    if (line.urt.getTime() < operationsSinceMs || !lacksCredit(owners, line)) continue
    if ((await ledger.findOperation(aid, line.operation_id)) === null) lost.push(line)
  }
  return { aid, owners, different: book.different(), later, unknown: book.unknown(), lost }
}

/** Whether the recorded lines credit more to the bucket than the ledger has. */
function lacksCredit(owners: readonly OwnerEvidence[], line: BalanceLineDocument): boolean {
  const owner = owners.find(({ state }) => state.sid === line.sid)
  const bucket = owner?.state.buckets.find(({ id }) => id === line.bucket_id)
  return (owner?.sums.buckets.get(line.bucket_id)?.credited ?? 0) > (bucket?.credited ?? 0)
}

interface LoadedSessions {
  state: OwnerState
  sessions: LedgerSession[]
}

async function loadAll(
  { ledger }: AuditStores,
  aid: number,
  sids: readonly number[],
): Promise<LoadedSessions[] | null> {
  const [fields] = await readAccountFields(ledger, [aid])
  const sessionKeys = fields === undefined || fields instanceof Error ? null : fields.sessionKeys
  const requests = sids.map((sid) => {
    return { aid, sid, sessionKeys: sessionKeys?.get(sid) ?? [] }
  })
  const loaded = await ledger.load(requests)
  if (loaded.some((owner) => owner instanceof Error)) return null
  return (loaded as LoadedOwner[]).map(({ state, sessions }, index) => ({
    state,
    sessions: sessions.flatMap((session, at) => {
      const sessionKey = requests[index]?.sessionKeys[at]
      return session === null || sessionKey === undefined ? [] : [{ sessionKey, session }]
    }),
  }))
}

/** Matches recorded lines with the sessions of the ledger. */
class LineIndex {
  readonly operations: BalanceLineDocument[] = []
  readonly later: LaterLine[] = []
  /** The account's owner (sid 0) first. */
  readonly owners: OwnerEvidence[]
  readonly #owners: ReadonlyMap<number, OwnerEvidence>
  readonly #segmentLines = new Map<string, SegmentLine>()
  readonly #openLines = new OpenSegmentLines()
  /** Sessions of the ledger by session tag (the prefix of their stamps). */
  readonly #ledgerSessions = new Map<string, LedgerSession>()
  #unknown: RealtimeLineDocument[] = []

  constructor(
    loaded: readonly LoadedSessions[],
    projected: readonly BalanceDocument[],
    carried: readonly CarriedDocument[],
  ) {
    this.owners = loaded.map((owner) => ({
      ...owner,
      sums: emptySums(),
      projected: projected.filter(({ sid }) => sid === owner.state.sid),
    }))
    this.#owners = new Map(this.owners.map((owner) => [owner.state.sid, owner]))
    for (const sums of carried) {
      const owner = this.#owners.get(sums.sid)
      const shared = this.#owners.get(0)
      if (owner !== undefined && shared !== undefined) addCarried(sums, owner.sums, shared.sums)
    }
    for (const known of this.owners.flatMap(({ sessions }) => sessions)) {
      const { sessionKey, session } = known
      this.#ledgerSessions.set(sessionTagOf(sessionKey, session), known)
      this.#openLines.add(session, sessionKey)
      for (const standing of segmentLines(session, sessionKey)) {
        this.#segmentLines.set(standing.stamp, { ledgerLine: standing, recorded: null })
      }
    }
  }

  add(line: LineDocument): void {
    const owner = this.#owners.get(line.sid)
    const shared = this.#owners.get(0)
    if (owner === undefined || shared === undefined) return
    // Credits move no balance.
    if (line.type === 'credit') {
      addLine(line, owner.sums, shared.sums)
      return
    }
    addLine(this.#openLines.newest(line), owner.sums, shared.sums)
    if (line.type === 'balance') {
      // Ids of correction lines are derived from the id of their ledger operation, so they cannot
      // be looked up.
      if (line.mended === undefined) this.operations.push(line)
      return
    }
    const found = this.#segmentLines.get(line.stamp)
    if (found !== undefined) found.recorded = line
    else this.#addStray(line)
  }

  /** A line without a matching segment; usually of a segment that has ended. */
  #addStray(recorded: RealtimeLineDocument): void {
    const { opening, service, segment } = partsOf(recorded.stamp)
    const known = this.#ledgerSessions.get(opening)
    if (known === undefined) {
      this.#addUnknown(recorded)
      return
    }
    const later = { ...known, service, segment, recorded }
    if (known.session.state === 'open' && isLater(later)) this.later.push(later)
  }

  #addUnknown(line: RealtimeLineDocument): void {
    this.#unknown.push(line)
    if (this.#unknown.length > 2 * UNKNOWN_MAX) this.#unknown = this.unknown()
  }

  unknown(): RealtimeLineDocument[] {
    const newestFirst = this.#unknown.sort((a, b) => openedMsOf(b.stamp) - openedMsOf(a.stamp))
    return newestFirst.slice(0, UNKNOWN_MAX)
  }

  different(): SegmentLine[] {
    return [...this.#segmentLines.values()].filter(({ ledgerLine, recorded }) => {
      if (recorded === null) return true
      const { v, usagev, aprice_micros } = recorded
      const { version, counts } = ledgerLine
      if (this.#openLines.newest(recorded) !== recorded) return false
      return v !== version || usagev !== counts.used || aprice_micros !== counts.charged
    })
  }
}

function isLater({ session, service, segment }: LaterLine): boolean {
  const found = session.services[service]
  if (found === undefined) return true
  if (found.segment === null) return segment > found.segmentsEnded
  return found.segment.counts.used === 0 && segment >= found.segment.number
}

/** Session key (22 characters, may contain dashes) and time of opening (domain/lines.ts). */
const STAMP = /^(.{22}-([0-9a-z]+))-(\d+)-(\d+)$/

function partsOf(stamp: string): { opening: string; service: number; segment: number } {
  const [, opening = '', , service, segment] = STAMP.exec(stamp) ?? []
  return { opening, service: Number(service) - 1, segment: Number(segment) }
}

function openedMsOf(stamp: string): number {
  return Number.parseInt(STAMP.exec(stamp)?.[2] ?? '0', 36)
}

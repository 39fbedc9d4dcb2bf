/**
 * Removes lines older than `retention.linesDays` and keeps their sums in one document per owner. A
 * transaction adds a batch to the sums and deletes its lines.
 */
import type { ClientSession } from '../../catalog/collections.ts'
import type { LineDocument } from '../../catalog/records/usage/documents.ts'
import {
  addCarried,
  addLine,
  type CarriedDocument,
  carriedId,
  carriedSums,
  emptySums,
} from '../../catalog/records/usage/line-sums.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import { type RecorderProgress, watchRecorderProgress } from '../../ledger/recorder-progress.ts'
import type { Removal } from './removal.ts'

const BATCH = 500
/** Margin beyond the times for which the ledger stores operations and sessions. */
const MARGIN_MS = 24 * 3_600_000

interface Owner {
  aid: number
  sid: number
}

interface Candidate extends Owner {
  stamp: string
  urt: Date
}

export async function removeLines(removal: Removal): Promise<void> {
  const { ledger, clock, config, signal } = removal
  const { operationKeepMs, replayMs } = config.ledger
  const keptMs = Math.max(operationKeepMs, replayMs) + MARGIN_MS
  const before = new Date(Math.min(removal.beforeMs, clock.nowMs() - keptMs))
  const recording = watchRecorderProgress(ledger)
  let after: Candidate | null = null
  while (!signal.aborted) {
    const found: Candidate[] = await candidates(removal, before, after)
    const last = found.at(-1)
    if (last === undefined) return
    after = last
    const owners = await ownersOf(removal, recording, found)
    await removal.removeBatch((session) => carrySums(removal, session, owners, before))
  }
}

/** The next lines that are old enough, in the order of subscribers. */
async function candidates(
  { catalog }: Removal,
  before: Date,
  after: Candidate | null,
): Promise<Candidate[]> {
  const projection = { stamp: 1, aid: 1, sid: 1, urt: 1 }
  const read = (filter: object, limit: number) =>
    catalog.lines
      .find(filter, { projection })
      .sort({ sid: 1, urt: 1 })
      .limit(limit)
      .toArray() as Promise<Candidate[]>
  const rest =
    after === null
      ? []
      : await read({ sid: after.sid, urt: { $gt: after.urt, $lt: before } }, BATCH)
  if (rest.length === BATCH) return rest
  const next = await read(
    { sid: { $gt: after?.sid ?? -1 }, urt: { $lt: before } },
    BATCH - rest.length,
  )
  return [...rest, ...next]
}

/** Lines of one owner that may be removed. */
interface OwnerBatch extends Owner {
  stamps: Set<string>
  /** Sessions of the owner in the ledger. */
  sessions: ReadonlySet<string>
}

/** The batch by owner, without accounts that the recorder has not caught up with. */
async function ownersOf(
  removal: Removal,
  recording: RecorderProgress,
  found: readonly Candidate[],
): Promise<OwnerBatch[]> {
  const owners = new Map<string, Owner & { stamps: Set<string> }>()
  for (const { aid, sid, stamp } of found) {
    const owner = owners.get(carriedId({ aid, sid })) ?? { aid, sid, stamps: new Set() }
    owner.stamps.add(stamp)
    owners.set(carriedId(owner), owner)
  }
  // The sessions are read before the recording check, so that lines already in the streams at that
  // time are recorded.
  const sessions = await knownSessions(removal, [...owners.values()])
  const aids = [...new Set([...owners.values()].map(({ aid }) => aid))]
  const recorded = new Set(await recording.waitForEach(aids))
  return [...owners].flatMap(([id, owner]) =>
    recorded.has(owner.aid) ? [{ ...owner, sessions: sessions.get(id) ?? new Set() }] : [],
  )
}

/** Session keys of each owner, open or ended: charging may still write their lines. */
async function knownSessions(
  { ledger }: Removal,
  owners: readonly Owner[],
): Promise<Map<string, Set<string>>> {
  const aids = [...new Set(owners.map(({ aid }) => aid))]
  const found = await readAccountFields(ledger, aids)
  const sessionKeys = new Map<number, ReadonlyMap<number, string[]>>()
  for (const [index, fields] of found.entries()) {
    if (fields instanceof Error) throw fields
    sessionKeys.set(aids[index] as number, fields.sessionKeys)
  }
  return new Map(
    owners.map((owner) => [
      carriedId(owner),
      new Set(sessionKeys.get(owner.aid)?.get(owner.sid) ?? []),
    ]),
  )
}

/** The stamp of a usage line begins with the key of its session. */
const SESSION_KEY_LENGTH = 22

function isFinal(line: LineDocument, known: ReadonlySet<string>, before: Date): boolean {
  if (line.type !== 'realtime') return true
  if (line.state === 'open' || line.last_urt >= before) return false
  return !known.has(line.stamp.slice(0, SESSION_KEY_LENGTH))
}

/** Returns the number of removed lines. */
async function carrySums(
  { catalog }: Removal,
  session: ClientSession,
  owners: readonly OwnerBatch[],
  before: Date,
): Promise<number> {
  const ids = owners.map(carriedId)
  const found = await catalog.carried.find({ _id: { $in: ids } }, { session }).toArray()
  const carried = new Map(found.map((one) => [one._id, one]))
  const stamps = owners.flatMap((owner) => [...owner.stamps])
  const lines = await catalog.lines.find({ stamp: { $in: stamps } }, { session }).toArray()
  const gone: LineDocument[] = []
  const sums: CarriedDocument[] = []
  for (const owner of owners) {
    const id = carriedId(owner)
    const final = lines.filter(
      (line) => owner.stamps.has(line.stamp) && isFinal(line, owner.sessions, before),
    )
    if (final.length === 0) continue
    gone.push(...final)
    sums.push(sumsWith(owner, carried.get(id) ?? null, final))
  }
  if (gone.length === 0) return 0
  const replacements = sums.map((one) => ({
    replaceOne: { filter: { _id: one._id }, replacement: one, upsert: true },
  }))
  await catalog.carried.bulkWrite(replacements, { session })
  const removed = gone.map(({ stamp }) => stamp)
  await catalog.lines.deleteMany({ stamp: { $in: removed } }, { session })
  return gone.length
}

function sumsWith(
  { aid, sid }: Owner,
  found: CarriedDocument | null,
  lines: readonly LineDocument[],
): CarriedDocument {
  const [own, shared] = [emptySums(), emptySums()]
  if (found !== null) addCarried(found, own, shared)
  // Lines of the account itself count as its own.
  for (const line of lines) addLine(line, own, sid === 0 ? own : shared)
  return {
    _id: carriedId({ aid, sid }),
    aid,
    sid,
    rev: (found?.rev ?? 0) + 1,
    lines: (found?.lines ?? 0) + lines.length,
    own: carriedSums(own),
    shared: carriedSums(shared),
  }
}

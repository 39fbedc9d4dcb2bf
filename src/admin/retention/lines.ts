/**
 * Removes lines older than `retention.linesDays` and keeps their sums in one document per owner. A
 * single write adds a batch to the sums and lists its lines as pending. Readers add these sums and
 * skip pending lines, so that a crash before the deletion changes nothing.
 */
import type { LineDocument } from '../../catalog/records/documents.ts'
import {
  addCarried,
  addLine,
  type CarriedDocument,
  carriedId,
  carriedSums,
  emptySums,
} from '../../catalog/records/line-sums.ts'
import { isDuplicate } from '../../catalog/transactions/duplicate.ts'
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
  const { ledger, clock, config, signal, onBatch } = removal
  const { operationKeepMs, replayMs } = config.ledger
  const keptMs = Math.max(operationKeepMs, replayMs) + MARGIN_MS
  const before = new Date(Math.min(removal.beforeMs, clock.nowMs() - keptMs))
  const recording = watchRecorderProgress(ledger)
  await finishPending(removal)
  let after: Candidate | null = null
  while (!signal.aborted) {
    const found: Candidate[] = await candidates(removal, before, after)
    const last = found.at(-1)
    if (last === undefined) return
    after = last
    await onBatch(await removeOf(removal, recording, found, before))
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
    catalog.run('find old lines', () =>
      catalog.lines.find(filter, { projection }).sort({ sid: 1, urt: 1 }).limit(limit).toArray(),
    ) as Promise<Candidate[]>
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

/** Returns the number of removed lines. */
async function removeOf(
  removal: Removal,
  recording: RecorderProgress,
  found: readonly Candidate[],
  before: Date,
): Promise<number> {
  const owners = new Map<string, Owner & { stamps: string[] }>()
  for (const { aid, sid, stamp } of found) {
    const owner = owners.get(carriedId({ aid, sid })) ?? { aid, sid, stamps: [] }
    owner.stamps.push(stamp)
    owners.set(carriedId(owner), owner)
  }
  // The sessions are read before the recording check, so that lines already in the streams at that
  // time are recorded.
  const sessions = await knownSessions(removal, [...owners.values()])
  const aids = [...new Set([...owners.values()].map(({ aid }) => aid))]
  const recorded = new Set(await recording.waitForEach(aids))
  let removed = 0
  for (const [id, owner] of owners) {
    if (!recorded.has(owner.aid)) continue
    const lines = await removal.catalog.run('read old lines', () =>
      removal.catalog.lines.find({ stamp: { $in: owner.stamps } }).toArray(),
    )
    const known = sessions.get(id) ?? new Set()
    const gone = lines.filter((line) => isFinal(line, known, before))
    if (gone.length > 0) removed += await carrySums(removal, owner, gone)
  }
  return removed
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

async function carrySums(
  { catalog }: Removal,
  { aid, sid }: Owner,
  lines: readonly LineDocument[],
): Promise<number> {
  const _id = carriedId({ aid, sid })
  const found = await catalog.run('read carried sums', () => catalog.carried.findOne({ _id }))
  if (found !== null && found.pending.length > 0) await dropPending(catalog, found)
  const [own, shared] = [emptySums(), emptySums()]
  if (found !== null) addCarried(found, own, shared)
  // Lines of the account itself count as its own.
  for (const line of lines) addLine(line, own, sid === 0 ? own : shared)
  const rev = found?.rev ?? 0
  const carried: Omit<CarriedDocument, '_id'> = {
    aid,
    sid,
    rev: rev + 1,
    lines: (found?.lines ?? 0) + lines.length,
    own: carriedSums(own),
    shared: carriedSums(shared),
    pending: lines.map(({ stamp }) => stamp),
  }
  const isCarried = await catalog.run('write carried sums', async () => {
    try {
      const same = { _id, rev }
      const { matchedCount, upsertedCount } = await catalog.carried.updateOne(
        same,
        { $set: carried },
        { upsert: rev === 0 },
      )
      return matchedCount + upsertedCount === 1
    } catch (error) {
      if (isDuplicate(error)) return false
      throw error
    }
  })
  // Another process has claimed the job and updated the sums.
  if (!isCarried) return 0
  await dropPending(catalog, { _id, ...carried })
  return lines.length
}

async function dropPending(
  catalog: Removal['catalog'],
  { _id, rev, pending }: CarriedDocument,
): Promise<void> {
  await catalog.run('delete old lines', () => catalog.lines.deleteMany({ stamp: { $in: pending } }))
  await catalog.run('clear pending lines', () =>
    catalog.carried.updateOne({ _id, rev }, { $set: { pending: [] } }),
  )
}

/** Completes batches that a dead process has begun. */
async function finishPending({ catalog }: Removal): Promise<void> {
  for (;;) {
    const found = await catalog.run('find carried sums', () =>
      catalog.carried.findOne({ 'pending.0': { $exists: true } }),
    )
    if (found === null) return
    await dropPending(catalog, found)
  }
}

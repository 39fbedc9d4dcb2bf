/**
 * Finds sessions for operators; the hot path never scans. The index of a partition is read in steps
 * so that Redis is not blocked, so changes made meanwhile may be missed.
 */
import type { Session } from '../domain/session.ts'
import { indexMember, parseMember, sessionField, sessionKeyOf } from './keys.ts'
import type { Ledger, SessionLocation } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'
import { unpackSession } from './session-packing.ts'

export interface LocatedSession extends SessionLocation {
  sessionKey: string
}

export interface FoundSession extends LocatedSession {
  session: Session
}

/** Members read in one step of an index scan, and sessions read in one call. */
const SCAN_COUNT = 500

/**
 * Open sessions of a subscriber, or of its whole account if `sid` is 0. Throws `CorruptValueError`
 * or `StoreDownError`.
 */
export async function* openSessionsOf(
  ledger: Ledger,
  { aid, sid }: SessionLocation,
): AsyncGenerator<FoundSession> {
  const expiry = ledger.keys.expiry(ledger.keys.partitionOf(aid))
  const pattern = sid === 0 ? `${aid}:*` : `${aid}:${sid}:*`
  for await (const sessions of scanIndex(ledger, expiry, pattern)) {
    for (const found of await readSessions(ledger, sessions)) {
      if (found.session.state === 'open') yield found
    }
  }
}

/**
 * All open sessions of a partition, in chunks; damaged ones are skipped. Throws `StoreDownError`.
 */
export async function* openSessionsIn(
  ledger: Ledger,
  partition: number,
): AsyncGenerator<FoundSession[]> {
  for await (const sessions of scanIndex(ledger, ledger.keys.expiry(partition), '*')) {
    const found = await readSessions(ledger, sessions, true)
    yield found.filter(({ session }) => session.state === 'open')
  }
}

/** A session of one network element, open or closed; null if it does not exist. */
export async function findSession(
  ledger: Ledger,
  origin: string,
  sessionId: string,
): Promise<FoundSession | null> {
  const sessionKey = sessionKeyOf(origin, sessionId)
  const [location = null] = await ledger.findLocations([sessionKey])
  if (location instanceof Error) throw location
  if (location === null) return null
  const { aid, sid } = location
  const [found = null] = await readSessions(ledger, [{ aid, sid, sessionKey }])
  return found
}

/**
 * Sessions of any network element with this id: the open ones, otherwise the closed ones. Reads all
 * sessions, in chunks.
 */
export async function findSessionsById(ledger: Ledger, sessionId: string): Promise<FoundSession[]> {
  const { keys } = ledger
  for (const indexOf of [keys.expiry, keys.tombstones]) {
    const found: FoundSession[] = []
    for (let partition = 0; partition < keys.partitions; partition += 1) {
      for await (const sessions of scanIndex(ledger, indexOf(partition), '*')) {
        found.push(...(await filterById(ledger, sessions, sessionId)))
      }
    }
    if (found.length > 0) return found
  }
  return []
}

/** Sessions in an index, each once. */
async function* scanIndex(
  { redis }: Ledger,
  index: string,
  pattern: string,
): AsyncGenerator<LocatedSession[]> {
  const seen = new Set<string>()
  let cursor = '0'
  do {
    const scan = redis.client.zscan(index, cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    const [next, entries] = await redis.guard(scan)
    cursor = next
    const sessions: LocatedSession[] = []
    // The reply alternates members and scores.
    for (let at = 0; at < entries.length; at += 2) {
      const member = entries[at] ?? ''
      const located = seen.has(member) ? null : parseMember(member)
      seen.add(member)
      if (located !== null) sessions.push(located)
    }
    if (sessions.length > 0) yield sessions
  } while (cursor !== '0')
}

/** Throws `CorruptValueError`, unless `skipsDamaged` is set. */
async function readSessions(
  ledger: Ledger,
  sessions: readonly LocatedSession[],
  skipsDamaged = false,
): Promise<FoundSession[]> {
  const queries = sessions.map(({ aid, sid, sessionKey }) => ({
    aid,
    sid,
    sessionKeys: [sessionKey],
  }))
  const loaded = await ledger.load(queries)
  return sessions.flatMap((located, index) => {
    const owner = loaded[index]
    if (owner instanceof CorruptValueError) {
      if (skipsDamaged) return []
      throw owner
    }
    const session = owner?.sessions[0] ?? null
    return session === null ? [] : [{ ...located, session }]
  })
}

/** Only sessions that contain the bytes of the id are decoded; damaged sessions are skipped. */
async function filterById(
  { keys, redis }: Ledger,
  sessions: readonly LocatedSession[],
  sessionId: string,
): Promise<FoundSession[]> {
  const pipeline = redis.client.pipeline()
  for (const { aid, sid, sessionKey } of sessions) {
    pipeline.hgetBuffer(keys.account(aid), sessionField(sid, sessionKey))
  }
  const replies = (await redis.guard(pipeline.exec())) ?? []
  const bytes = Buffer.from(sessionId)
  return sessions.flatMap((located, index) => {
    const [failure, packed] = replies[index] ?? [null, null]
    if (failure !== null && failure.name !== 'ReplyError') throw failure
    if (!Buffer.isBuffer(packed) || !packed.includes(bytes)) return []
    const session = tryUnpack(located, packed)
    return session?.identity.sessionId === sessionId ? [{ ...located, session }] : []
  })
}

function tryUnpack({ aid, sid, sessionKey }: LocatedSession, packed: Buffer): Session | null {
  try {
    return unpackSession(aid, sid, sessionKey, packed)
  } catch (error) {
    if (error instanceof CorruptValueError) return null
    throw error
  }
}

/** A place among the open sessions of all partitions: after the session `member`. */
export interface SessionPosition {
  readonly partition: number
  /** Expiry of that session, epoch ms. */
  readonly score: number
  /** Empty at the begin of a partition. */
  readonly member: string
}

const beginOf = (partition: number): SessionPosition => ({ partition, score: 0, member: '' })

export const FIRST_SESSION = beginOf(0)

/**
 * One step through the open sessions of all partitions, by expiry within a partition: reads at most
 * `SCAN_COUNT` sessions; damaged ones are skipped. `next` is null at the end. A session that is
 * renewed meanwhile may be found again. Throws `StoreDownError`.
 */
export async function stepOpenSessions(
  ledger: Ledger,
  from: SessionPosition,
): Promise<{ readonly found: readonly PlacedSession[]; readonly next: SessionPosition | null }> {
  const { places, next } = await placesFrom(ledger, from)
  const read = await readSessions(
    ledger,
    places.flatMap(({ member }) => parseMember(member) ?? []),
    true,
  )
  const byMember = new Map(places.map((place) => [place.member, place]))
  const found = read.flatMap((each) => {
    const place = byMember.get(indexMember(each.aid, each.sid, each.sessionKey))
    return place === undefined || each.session.state !== 'open' ? [] : [{ ...each, place }]
  })
  return { found, next }
}

export interface PlacedSession extends FoundSession {
  readonly place: SessionPosition
}

/** The rest of a partition, and the following ones as long as each fits as a whole. */
async function placesFrom(ledger: Ledger, from: SessionPosition) {
  const { places, isEnd } = await placesAfter(ledger, from)
  if (!isEnd) return { places, next: places.at(-1) ?? from }
  let partition = from.partition + 1
  let count = places.length
  const whole: number[] = []
  for (const size of await partitionSizes(ledger, partition)) {
    count += size
    if (count > SCAN_COUNT) break
    if (size > 0) whole.push(partition)
    partition += 1
  }
  places.push(...(await placesIn(ledger, whole)))
  return { places, next: partition < ledger.keys.partitions ? beginOf(partition) : null }
}

/** Partitions whose sizes are read in one step. */
const SIZES_MAX = 128

/** Numbers of sessions in a partition and its followers. */
async function partitionSizes({ keys, redis }: Ledger, first: number): Promise<number[]> {
  const pipeline = redis.client.pipeline()
  const end = Math.min(first + SIZES_MAX, keys.partitions)
  for (let partition = first; partition < end; partition += 1) {
    pipeline.zcard(keys.expiry(partition))
  }
  return (await repliesOf(redis.guard(pipeline.exec()))).map(Number)
}

async function placesIn(
  { keys, redis }: Ledger,
  partitions: readonly number[],
): Promise<SessionPosition[]> {
  const pipeline = redis.client.pipeline()
  for (const partition of partitions) {
    pipeline.zrange(keys.expiry(partition), '0', String(SCAN_COUNT - 1), 'WITHSCORES')
  }
  const replies = await repliesOf(redis.guard(pipeline.exec()))
  return partitions.flatMap((partition, index) => positions(partition, replies[index] as string[]))
}

/** Throws the first failure. */
async function repliesOf(
  executing: Promise<readonly [Error | null, unknown][] | null>,
): Promise<unknown[]> {
  return ((await executing) ?? []).map(([failure, reply]) => {
    if (failure !== null) throw failure
    return reply
  })
}

/** `entries`: members of a partition, each followed by its score. */
function positions(partition: number, entries: readonly string[]): SessionPosition[] {
  const places: SessionPosition[] = []
  for (let at = 0; at < entries.length; at += 2) {
    places.push({ partition, score: Number(entries[at + 1]), member: entries[at] ?? '' })
  }
  return places
}

/** Members of equal score are in the order of their bytes. `isEnd`: the partition has no more. */
async function placesAfter(
  { keys, redis }: Ledger,
  { partition, score: least, member: after }: SessionPosition,
): Promise<{ places: SessionPosition[]; isEnd: boolean }> {
  const index = keys.expiry(partition)
  const limit = SCAN_COUNT
  for (let offset = 0; ; offset += limit) {
    const entries = await redis.guard(
      redis.client.zrangebyscore(index, least, '+inf', 'WITHSCORES', 'LIMIT', offset, limit),
    )
    const places = positions(partition, entries).filter(({ score, member }) => {
      return score > least || member > after
    })
    const isEnd = entries.length < 2 * limit
    if (places.length > 0 || isEnd) return { places, isEnd }
  }
}

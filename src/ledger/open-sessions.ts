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
    return session?.sessionId === sessionId ? [{ ...located, session }] : []
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
  const { partition } = from
  const places = await placesAfter(ledger, from)
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
  const last = places.at(-1)
  if (last !== undefined) return { found, next: last }
  const following = partition + 1
  return { found, next: following < ledger.keys.partitions ? beginOf(following) : null }
}

export interface PlacedSession extends FoundSession {
  readonly place: SessionPosition
}

/** Members of equal score are in the order of their bytes. */
async function placesAfter(
  { keys, redis }: Ledger,
  { partition, score: least, member: after }: SessionPosition,
): Promise<SessionPosition[]> {
  const index = keys.expiry(partition)
  for (let offset = 0; ; offset += SCAN_COUNT) {
    const reading = redis.client.zrangebyscore(
      index,
      least,
      '+inf',
      'WITHSCORES',
      'LIMIT',
      offset,
      SCAN_COUNT,
    )
    const entries = await redis.guard(reading)
    const places: SessionPosition[] = []
    for (let at = 0; at < entries.length; at += 2) {
      const member = entries[at] ?? ''
      const score = Number(entries[at + 1])
      if (score > least || member > after) places.push({ partition, score, member })
    }
    if (places.length > 0 || entries.length < 2 * SCAN_COUNT) return places
  }
}

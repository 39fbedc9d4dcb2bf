/**
 * Sessions in Redis. Each key stands alone, so that a cluster may place it on any node. The record
 * of a session is written once and only ever removed: an ended session stays ended, whatever runs
 * concurrently. The ids in cookies refer to it; the time of last use is a separate key.
 */
import { createHash, randomBytes } from 'node:crypto'
import { SECURITY, type SecuritySettings } from '../catalog/settings/access/security-settings.ts'
import type { ExpiringKeys } from '../store/expiring.ts'
import type { AuthDeps } from './auth-deps.ts'
import type { FoundLoginSession, LoginSession, LoginSessions, SessionUse } from './sessions.ts'

/** Record of a cookie's id. */
interface CookieRecord {
  readonly session: string
  readonly issuedMs: number
  /** When a new id replaced it; null if it is current. */
  readonly replacedMs: number | null
}

interface SessionRecord extends LoginSession {
  /** Id of the latest `endAll` of the user before the login; empty if there was none. */
  readonly generation: string
}

interface Generation {
  readonly id: string
  /** The one older session that remains valid. */
  readonly except: string | null
}

/** How long a replaced id is accepted, for concurrent requests. */
export const REPLACED_MS = 20_000
/** Exceeds the lifetime of every session. */
const GENERATION_MS = 366 * 24 * 3600 * 1000
/** The time of last use is written at most once per this part of the idle time. */
const SEEN_PARTS = 20
const SEEN_MAX_MS = 60_000
const MINUTE_MS = 60_000

const COOKIE_BYTES = 32
const COOKIE = /^[A-Za-z0-9_-]{43}$/

export function createSessions(deps: Pick<AuthDeps, 'keys' | 'settings' | 'clock'>): LoginSessions {
  const { keys, clock } = deps
  const terms = async () => termsOf(await deps.settings.get(SECURITY))
  return {
    async open(user, protocol) {
      const { idleMs, absoluteMs } = await terms()
      const nowMs = clock.nowMs()
      const id = randomText(16)
      const generation = (await readRecord<Generation>(keys, generationKey(user.id)))?.id ?? ''
      const record: SessionRecord = { user, protocol, createdMs: nowMs, generation }
      await keys.set(sessionKey(id), JSON.stringify(record), absoluteMs)
      await keys.set(seenKey(id), String(nowMs), idleMs)
      return issue(keys, id, nowMs, absoluteMs)
    },

    async find(cookie, use = 'active') {
      const known = await readCookie(keys, cookie)
      if (known === null) return null
      const nowMs = clock.nowMs()
      const { session: id, replacedMs } = known
      if (replacedMs !== null && nowMs - replacedMs >= REPLACED_MS) return null
      const limits = await terms()
      const active = await findActive(keys, id, limits, nowMs, use)
      if (active === null) return null
      const session = plainSession(active.record)
      const absoluteEndMs = session.createdMs + limits.absoluteMs
      const idleEndMs = Math.min(absoluteEndMs, active.seenMs + limits.idleMs)
      const found = { id, session, idleEndMs, absoluteEndMs }
      const isOld = replacedMs === null && nowMs - known.issuedMs >= limits.rotateMs
      if (!isOld || use === 'passive') return { ...found, renewed: null }
      const leftMs = absoluteEndMs - nowMs
      const renewed = await replace(keys, cookie, known, { nowMs, leftMs })
      return { ...found, renewed } satisfies FoundLoginSession
    },

    async look(id) {
      const active = await findActive(keys, id, await terms(), clock.nowMs(), 'passive')
      return active === null ? null : plainSession(active.record)
    },

    async end(cookie) {
      const known = await readCookie(keys, cookie)
      if (known === null) return
      await keys.remove(sessionKey(known.session))
      await keys.remove(cookieKey(cookie))
    },

    async endAll(userId, exceptCookie) {
      const exception = exceptCookie === undefined ? null : await readCookie(keys, exceptCookie)
      const generation: Generation = { id: randomText(16), except: exception?.session ?? null }
      await keys.set(generationKey(userId), JSON.stringify(generation), GENERATION_MS)
    },
  }
}

interface Terms {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly rotateMs: number
}

function termsOf({ session }: SecuritySettings): Terms {
  return {
    idleMs: session.idle_minutes * MINUTE_MS,
    absoluteMs: session.absolute_minutes * MINUTE_MS,
    rotateMs: session.rotate_minutes * MINUTE_MS,
  }
}

function plainSession({ user, protocol, createdMs }: SessionRecord): LoginSession {
  return { user, protocol, createdMs }
}

/** A session that has not ended; updates its time of last use. */
async function findActive(
  keys: ExpiringKeys,
  id: string,
  { idleMs, absoluteMs }: Terms,
  nowMs: number,
  use: SessionUse,
): Promise<{ record: SessionRecord; seenMs: number } | null> {
  const [record, seen] = await Promise.all([
    readRecord<SessionRecord>(keys, sessionKey(id)),
    keys.get(seenKey(id)),
  ])
  if (record === null || seen === null) return null
  const unusedMs = nowMs - Number(seen)
  if (unusedMs >= idleMs || nowMs - record.createdMs >= absoluteMs) {
    await keys.remove(sessionKey(id))
    return null
  }
  const generation = await readRecord<Generation>(keys, generationKey(record.user.id))
  const isOfNow = generation === null || generation.id === record.generation
  if (!isOfNow && generation.except !== id) return null
  if (use === 'active' && unusedMs >= Math.min(SEEN_MAX_MS, idleMs / SEEN_PARTS)) {
    await keys.set(seenKey(id), String(nowMs), idleMs)
    return { record, seenMs: nowMs }
  }
  return { record, seenMs: Number(seen) }
}

/** Returns a new id for the session; null if a concurrent request has just replaced the old one. */
async function replace(
  keys: ExpiringKeys,
  cookie: string,
  known: CookieRecord,
  { nowMs, leftMs }: { nowMs: number; leftMs: number },
): Promise<string | null> {
  if (!(await keys.setOnce(`replacing:${hashOf(cookie)}`, '1', REPLACED_MS))) return null
  const renewed = await issue(keys, known.session, nowMs, leftMs)
  const replaced: CookieRecord = { ...known, replacedMs: nowMs }
  await keys.set(cookieKey(cookie), JSON.stringify(replaced), REPLACED_MS)
  return renewed
}

async function issue(
  keys: ExpiringKeys,
  session: string,
  issuedMs: number,
  leftMs: number,
): Promise<string> {
  const cookie = randomText(COOKIE_BYTES)
  const record: CookieRecord = { session, issuedMs, replacedMs: null }
  await keys.set(cookieKey(cookie), JSON.stringify(record), leftMs)
  return cookie
}

function readCookie(keys: ExpiringKeys, cookie: string): Promise<CookieRecord | null> {
  if (!COOKIE.test(cookie)) return Promise.resolve(null)
  return readRecord<CookieRecord>(keys, cookieKey(cookie))
}

async function readRecord<T>(keys: ExpiringKeys, key: string): Promise<T | null> {
  const text = await keys.get(key)
  return text === null ? null : (JSON.parse(text) as T)
}

/** Keys contain hashes only, so that read access to Redis does not disclose usable ids. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

const cookieKey = (cookie: string) => `cookie:${hashOf(cookie)}`
const sessionKey = (id: string) => `session:${id}`
const seenKey = (id: string) => `seen:${id}`
const generationKey = (userId: string) => `generation:${hashOf(userId)}`

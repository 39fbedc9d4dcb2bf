/**
 * How often a password may be tried. Whoever guesses waits longer and longer; the user, who comes
 * from elsewhere, does not wait for that.
 */
import { createHash } from 'node:crypto'
import { SECURITY, type SecuritySettings } from '../../catalog/security-settings.ts'
import type { ExpiringKeys } from '../../store/expiring.ts'
import type { AuthDeps } from './auth-deps.ts'

export interface Attempt {
  /** The password was right: the count begins anew. */
  succeeded(): Promise<void>
  failed(): Promise<void>
  /** It was not found out: a store or a directory is away. */
  withdrawn(): Promise<void>
}

export interface Refused {
  /** `address`: too many of it; `locked`: too many wrong ones; `slowed`: of many addresses. */
  readonly reason: 'address' | 'locked' | 'slowed'
  readonly retryAfterMs: number
  /** First of its kind: what follows need not be written down. */
  readonly isFirst: boolean
}

/** Each rejects with `StoreDownError`: without a count nobody gets in. */
export interface Attempts {
  /** Counts a call of an address; null: it may go on. */
  admit(address: string): Promise<Refused | null>
  /** After `admit`: one try of a user's password. */
  begin(username: string, address: string): Promise<Attempt | { readonly refused: Refused }>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Wrong ones in a row are counted for at least so long. */
const KEPT_MIN_MS = HOUR_MS / 4
/** From where a user has logged in lately the tries of others do not matter. */
const FAMILIAR_MS = 30 * 24 * HOUR_MS
/** So many times `lockout.attempts` an hour, of all addresses, before all others are slowed. */
const SLOWED_TIMES = 4
/** Then one try in so long. */
const SLOWED_MS = 2000

export function createAttempts({ keys, settings }: Pick<AuthDeps, 'keys' | 'settings'>): Attempts {
  return {
    async admit(address) {
      const { rate_limits: limits } = await settings.of(SECURITY)
      const key = `logins:${hashOf(networkOf(address))}`
      const counted = await keys.count(key, MINUTE_MS)
      const isFirst = counted === limits.logins_per_minute + 1
      return counted <= limits.logins_per_minute
        ? null
        : { reason: 'address', retryAfterMs: await keys.leftMs(key), isFirst }
    },

    async begin(username, address) {
      const { lockout } = await settings.of(SECURITY)
      const of = keysOf(username, networkOf(address))
      const refused =
        (await lockedFor(keys, of.lock)) ??
        (await slowed(keys, of, lockout.attempts * SLOWED_TIMES))
      if (refused !== null) return { refused }
      const keptMs = Math.max(KEPT_MIN_MS, 2000 * lockout.seconds_max)
      // Counted before it is looked at: however many come at once, only so many are.
      const tries = await keys.count(of.tries, keptMs)
      await keys.prolong(of.tries, keptMs)
      const waitMs = backOffMs(tries, lockout)
      if (waitMs > 0 && !(await keys.setOnce(of.lock, '1', waitMs))) {
        return { refused: (await lockedFor(keys, of.lock)) ?? lockedOf(1) }
      }
      return attemptOf(keys, of, waitMs > 0)
    },
  }
}

type AttemptKeys = ReturnType<typeof keysOf>

function attemptOf(keys: ExpiringKeys, of: AttemptKeys, isLocking: boolean): Attempt {
  const unlock = async () => {
    if (isLocking) await keys.remove(of.lock)
  }
  return {
    withdrawn: unlock,
    async failed() {
      await keys.count(of.wrong, HOUR_MS)
    },
    async succeeded() {
      await unlock()
      await keys.remove(of.tries)
      await keys.set(of.familiar, '1', FAMILIAR_MS)
    },
  }
}

async function lockedFor(keys: ExpiringKeys, lock: string): Promise<Refused | null> {
  const leftMs = await keys.leftMs(lock)
  return leftMs > 0 ? lockedOf(leftMs) : null
}

function lockedOf(retryAfterMs: number): Refused {
  return { reason: 'locked', retryAfterMs, isFirst: true }
}

/** Where a user's password is guessed from many addresses: one try after the other. */
async function slowed(
  keys: ExpiringKeys,
  of: AttemptKeys,
  wrongMax: number,
): Promise<Refused | null> {
  const [wrong, familiar] = await Promise.all([keys.get(of.wrong), keys.get(of.familiar)])
  if (Number(wrong) < wrongMax || familiar !== null) return null
  if (await keys.setOnce(of.pace, '1', SLOWED_MS)) return null
  return { reason: 'slowed', retryAfterMs: await keys.leftMs(of.pace), isFirst: true }
}

/** How long the user waits, from that address, if try number `tries` is wrong, too. */
export function backOffMs(tries: number, lockout: SecuritySettings['lockout']): number {
  if (tries < lockout.attempts) return 0
  const doubled = lockout.seconds * 2 ** Math.min(30, tries - lockout.attempts)
  return 1000 * Math.min(doubled, lockout.seconds_max)
}

function keysOf(username: string, network: string) {
  const user = hashOf(username)
  const both = hashOf(`${network}\0${username}`)
  return {
    tries: `tries:${both}`,
    lock: `lock:${both}`,
    familiar: `familiar:${both}`,
    wrong: `wrong:${user}`,
    pace: `pace:${user}`,
  }
}

/** Who has one address of IPv6 has a whole network of them. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/s, '')
  return plain.includes(':') ? ipv6Network(plain) : plain
}

/** The first 64 bits, written in full. */
function ipv6Network(address: string): string {
  const [before = '', after] = address.toLowerCase().split('::')
  const first = before === '' ? [] : before.split(':')
  const last = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last]
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

/** Names are typed by anybody, and may be passwords. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * Limits on password attempts. The delay of an attacker grows with each wrong attempt; it does not
 * affect the user, who logs in from another network or a known device.
 *
 * Not by `rate-limiter-flexible`: its windows are fixed, so two of them next to each other allow
 * twice the failures per hour, and it admits as many concurrent attempts after a lock as before it,
 * not one.
 */
import { createHash, randomBytes } from 'node:crypto'
import { SECURITY, type SecuritySettings } from '../catalog/settings/access/security-settings.ts'
import type { ExpiringKeys } from '../store/expiring.ts'
import type { AuthDeps } from './auth-deps.ts'
import { type Network, networksOf } from './networks.ts'

export interface Attempt {
  /** The password was correct: resets the count. */
  succeeded(): Promise<void>
  failed(): Promise<void>
  /** Does not count: a store or a directory is unavailable, or the result proves nothing. */
  cancelled(): Promise<void>
}

/** Origin of an attempt. */
export interface AttemptSource {
  readonly address: string
  /**
   * Id of a device from which the account has logged in before; null if the device is not known.
   */
  readonly device: string | null
}

export interface RefusedAttempt {
  /**
   * `address`: too many logins from this address; `locked`: too many wrong passwords from this
   * source; `slowed`, `account`: many, or too many, wrong passwords from all addresses together.
   */
  readonly reason: 'address' | 'locked' | 'slowed' | 'account'
  readonly retryAfterMs: number
}

/** Each rejects with `StoreDownError`: without a working count every login is refused. */
export interface LoginAttempts {
  /** Counts a login from a source. Null if it is allowed. */
  admit(source: AttemptSource): Promise<RefusedAttempt | null>
  /** Starts one password attempt for an account, after `admit`. */
  begin(
    account: string,
    source: AttemptSource,
  ): Promise<Attempt | { readonly refused: RefusedAttempt }>
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Exceeds the lifetime of every count and lock. */
const UNLOCKED_MS = 366 * 24 * HOUR_MS
/** Consecutive wrong attempts are counted for at least this long. */
const KEPT_MIN_MS = HOUR_MS / 4
/**
 * Each source is slowed after this many times `lockout.attempts` failures per hour from all
 * addresses.
 */
const SLOWED_TIMES = 4
/** A slowed source has one attempt per this interval. */
const SLOWED_MS = 2000

export function createAttempts({
  keys,
  settings,
}: Pick<AuthDeps, 'keys' | 'settings'>): LoginAttempts {
  return {
    async admit(source) {
      const { rate_limits: limits } = await settings.get(SECURITY)
      // An attempt refused by a smaller network's limit does not count towards the larger networks.
      for (const { name, times } of networksOfSource(source)) {
        const key = `logins:${hashOf(name)}`
        const counted = await keys.count(key, MINUTE_MS)
        if (counted > times * limits.logins_per_minute) {
          return { reason: 'address', retryAfterMs: await keys.remainingMs(key) }
        }
      }
      return null
    },

    async begin(account, source) {
      const { lockout } = await settings.get(SECURITY)
      const user = hashOf(account)
      const generation = (await keys.get(unlockedKey(user))) ?? ''
      const tries = networksOfSource(source).map((network) => triesOf(network, user, generation))
      const slot = source.device === null ? failureSlotOf(user, generation) : null
      return beginTries(keys, lockout, { tries, slot })
    },
  }
}

/**
 * Starts an attempt at a secret that many callers may try: further ones for the same `subject` are
 * delayed by the settings `lockout.attempts`, `seconds` and `seconds_max`, from any caller.
 * Those of a `caller` that fail are limited to `lockout.card_failures_per_hour`, over all
 * subjects.
 */
export async function beginGuess(
  { keys, settings }: Pick<AuthDeps, 'keys' | 'settings'>,
  { subject, caller }: { readonly subject: string; readonly caller: string },
): Promise<Attempt | { readonly refused: RefusedAttempt }> {
  const { lockout } = await settings.get(SECURITY)
  const terms = { ...lockout, failures_per_hour: lockout.card_failures_per_hour }
  const slot = failureSlotOf(hashOf(caller), '')
  return beginTries(keys, terms, { tries: [guessesOf(subject)], slot })
}

/** Forgets the wrong attempts for a `subject`; those of callers stay counted. */
export async function forgetGuesses(keys: ExpiringKeys, subject: string): Promise<void> {
  await keys.remove(guessesOf(subject).tries)
}

function guessesOf(subject: string): Tries {
  return triesOf({ name: 'guess', times: 1 }, hashOf(subject), '')
}

async function beginTries(
  keys: ExpiringKeys,
  lockout: SecuritySettings['lockout'],
  { tries, slot }: Omit<StartedAttempt, 'locks'>,
): Promise<Attempt | { readonly refused: RefusedAttempt }> {
  const locked = await lockedFor(keys, tries)
  if (locked !== null) return { refused: locked }
  if (slot !== null) {
    const refused = await reserveFailureSlot(keys, slot, tries, lockout)
    if (refused !== null) return { refused }
  }
  const begun = await countTries(keys, tries, lockout)
  if ('refused' in begun) {
    await releaseFailureSlot(keys, slot)
    return begun
  }
  return attemptOf(keys, { tries, slot, locks: begun.locks })
}

/** Clears all counts and locks of an account, including those of its known devices. */
export async function unlockAccount(keys: ExpiringKeys, account: string): Promise<void> {
  await keys.set(unlockedKey(hashOf(account)), randomBytes(8).toString('hex'), UNLOCKED_MS)
}

/** A known device is a separate source, whatever its address. */
function networksOfSource({ address, device }: AttemptSource): readonly Network[] {
  return device === null ? networksOf(address) : [{ name: `device ${device}`, times: 1 }]
}

/** Keys of the wrong attempts for an account from one network. */
interface Tries {
  readonly tries: string
  readonly lock: string
  readonly pace: string
  readonly times: number
}

function triesOf({ name, times }: Network, user: string, generation: string): Tries {
  const both = hashOf([name, user, generation].join('\0'))
  return { tries: `tries:${both}`, lock: `lock:${both}`, pace: `pace:${both}`, times }
}

/** One of the failed attempts that an account may have per hour. */
interface FailureSlot {
  readonly key: string
  readonly id: string
}

function failureSlotOf(user: string, generation: string): FailureSlot {
  const id = randomBytes(12).toString('base64url')
  return { key: `failures:${hashOf(`${user}\0${generation}`)}`, id }
}

async function releaseFailureSlot(keys: ExpiringKeys, slot: FailureSlot | null): Promise<void> {
  if (slot !== null) await keys.releaseSlot(slot.key, slot.id)
}

/**
 * Reserves the slot before the password is compared, so that concurrent attempts cannot exceed the
 * limit.
 */
async function reserveFailureSlot(
  keys: ExpiringKeys,
  slot: FailureSlot,
  [smallest]: readonly Tries[],
  lockout: SecuritySettings['lockout'],
): Promise<RefusedAttempt | null> {
  const terms = { id: slot.id, max: lockout.failures_per_hour, windowMs: HOUR_MS }
  const found = await keys.acquireSlot(slot.key, terms)
  if ('leftMs' in found) return { reason: 'account', retryAfterMs: found.leftMs }
  if (smallest === undefined || found.taken <= lockout.attempts * SLOWED_TIMES) return null
  // Paced per network: a shared pace would let a fast attacker lock out the user.
  if (await keys.setOnce(smallest.pace, '1', SLOWED_MS)) return null
  await releaseFailureSlot(keys, slot)
  return { reason: 'slowed', retryAfterMs: await keys.remainingMs(smallest.pace) }
}

async function countTries(
  keys: ExpiringKeys,
  tries: readonly Tries[],
  lockout: SecuritySettings['lockout'],
): Promise<{ readonly locks: readonly string[] } | { readonly refused: RefusedAttempt }> {
  const keptMs = Math.max(KEPT_MIN_MS, 2000 * lockout.seconds_max)
  const locks: string[] = []
  for (const { tries: key, lock, times } of tries) {
    const counted = await keys.count(key, keptMs)
    await keys.extend(key, keptMs)
    const waitMs = backOffMs(counted, { ...lockout, attempts: times * lockout.attempts })
    if (waitMs === 0) continue
    if (!(await keys.setOnce(lock, '1', waitMs))) {
      for (const each of locks) await keys.remove(each)
      return { refused: (await lockedFor(keys, tries)) ?? { reason: 'locked', retryAfterMs: 1 } }
    }
    locks.push(lock)
  }
  return { locks }
}

interface StartedAttempt {
  readonly tries: readonly Tries[]
  readonly slot: FailureSlot | null
  /** Locks that stay unless the password is correct. */
  readonly locks: readonly string[]
}

function attemptOf(keys: ExpiringKeys, { tries, slot, locks }: StartedAttempt): Attempt {
  const release = async () => {
    for (const lock of locks) await keys.remove(lock)
    await releaseFailureSlot(keys, slot)
  }
  return {
    failed: async () => undefined,
    async cancelled() {
      await release()
      for (const each of tries) await keys.uncount(each.tries)
    },
    async succeeded() {
      await release()
      for (const each of tries) await keys.remove(each.tries)
    },
  }
}

async function lockedFor(
  keys: ExpiringKeys,
  tries: readonly Tries[],
): Promise<RefusedAttempt | null> {
  const left = await Promise.all(tries.map(({ lock }) => keys.remainingMs(lock)))
  const retryAfterMs = Math.max(0, ...left)
  return retryAfterMs > 0 ? { reason: 'locked', retryAfterMs } : null
}

/** Delay of a source if attempt number `tries` is wrong as well. */
export function backOffMs(
  tries: number,
  lockout: Pick<SecuritySettings['lockout'], 'attempts' | 'seconds' | 'seconds_max'>,
): number {
  if (tries < lockout.attempts) return 0
  const doubled = lockout.seconds * 2 ** Math.min(30, tries - lockout.attempts)
  return 1000 * Math.min(doubled, lockout.seconds_max)
}

const unlockedKey = (user: string) => `unlocked:${user}`

/** Names are untrusted input and may be mistyped passwords, so keys contain only a hash. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

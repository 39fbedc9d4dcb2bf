/** Tokens of OAuth 2.0: of each Redis has a digest, and whom it was given to. */
import { createHash, randomBytes } from 'node:crypto'
import type { ExpiringKeys } from './expiring.ts'

/** Whom a token was given to. */
export interface TokenHolder {
  /** Name of the client. */
  readonly client: string
  /** Of the client as it was then: another one ends the token. */
  readonly fingerprint: string
  /** Whose password gave it; null: nobody's, it is the client's own. */
  readonly user: { readonly id: string; readonly name: string } | null
  /** How it was first got, such as `client_credentials`. */
  readonly grant: string
  readonly scope: string | null
  /** Of all tokens that came from one login; null: it has no others. */
  readonly family: string | null
  readonly expiresMs: number
}

export interface TokenKind {
  /** A new token, 40 hex. */
  issue(holder: TokenHolder, ttlMs: number): Promise<string>
  /** Null: unknown, revoked, or gone. Whether it still holds at a time is for the caller. */
  find(token: string): Promise<TokenHolder | null>
  revoke(token: string): Promise<void>
}

/** Each call rejects with `StoreDownError` where Redis is away. */
export interface Tokens {
  readonly access: TokenKind
  /** Of refresh tokens; each may be used once. */
  readonly refresh: TokenKind
  /** False: it was used before, so that it is in two hands. */
  claim(refreshToken: string, ttlMs: number): Promise<boolean>
  /** As if it had not been claimed: nothing came of it. */
  release(refreshToken: string): Promise<void>
  /** Ends all tokens of a login. */
  endFamily(family: string): Promise<void>
  /** Ends all tokens that the password of a user gave, such as after a change of it. */
  endUser(userId: string): Promise<void>
}

interface Stored {
  readonly holder: TokenHolder
  /** As it stood for the user then. */
  readonly mark: string | null
}

const TOKEN_BYTES = 20
const TOKEN = /^[0-9a-f]{40}$/
/** Longer than any token lives. */
const LONGEST_MS = 366 * 24 * 3600 * 1000

export function createTokens(keys: ExpiringKeys): Tokens {
  return {
    access: tokenKind(keys, 'token'),
    refresh: tokenKind(keys, 'refresh'),
    claim: (token, ttlMs) => keys.setOnce(usedKey(token), '1', Math.max(1, ttlMs)),
    release: (token) => keys.remove(usedKey(token)),
    endFamily: (family) => keys.set(familyKey(family), '1', LONGEST_MS),
    endUser: (userId) => keys.set(userKey(userId), newFamily(), LONGEST_MS),
  }
}

/** For the tokens of one login. */
export function newFamily(): string {
  return randomBytes(12).toString('hex')
}

function tokenKind(keys: ExpiringKeys, kind: string): TokenKind {
  const keyOf = (token: string) => `${kind}:${digest(token)}`
  const markOf = async (user: TokenHolder['user']) =>
    user === null ? null : keys.get(userKey(user.id))
  return {
    async issue(holder, ttlMs) {
      const token = randomBytes(TOKEN_BYTES).toString('hex')
      const stored: Stored = { holder, mark: await markOf(holder.user) }
      await keys.set(keyOf(token), JSON.stringify(stored), ttlMs)
      return token
    },
    async find(token) {
      if (!TOKEN.test(token)) return null
      const text = await keys.get(keyOf(token))
      if (text === null) return null
      const { holder, mark } = JSON.parse(text) as Stored
      const [ended, markNow] = await Promise.all([
        holder.family === null ? null : keys.get(familyKey(holder.family)),
        markOf(holder.user),
      ])
      return ended === null && markNow === mark ? holder : null
    },
    revoke: (token) => keys.remove(keyOf(token)),
  }
}

function usedKey(token: string): string {
  return `refresh-used:${digest(token)}`
}

function familyKey(family: string): string {
  return `family-ended:${family}`
}

function userKey(id: string): string {
  return `token-user:${digest(id)}`
}

/** A token has 160 random bits, so a plain digest tells nothing of it. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

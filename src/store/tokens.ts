/** OAuth 2.0 tokens: Redis stores a digest of each token and its holder. */
import { createHash, randomBytes } from 'node:crypto'
import type { ExpiringKeys } from './expiring.ts'

export interface TokenUser {
  readonly id: string
  readonly name: string
  /** Fingerprint of the password at issue time: a changed password ends the token. */
  readonly passwordMark: string
}

/** The holder of a token. */
export interface TokenHolder {
  /** Name of the client. */
  readonly client: string
  /** Fingerprint of the client at issue time: a changed client ends the token. */
  readonly fingerprint: string
  /** The user whose password was used; null for the client's own token. */
  readonly user: TokenUser | null
  /** Original grant type, such as `client_credentials`. */
  readonly grant: string
  readonly scope: string | null
  /** Shared by all tokens of one login; null if there are no others. */
  readonly family: string | null
  readonly expiresMs: number
}

export interface TokenKind {
  /** Issues a new token of 40 hex digits. */
  issue(holder: TokenHolder, ttlMs: number): Promise<string>
  /**
   * Null if the token is unknown, revoked or expired. The caller checks its validity at an instant.
   */
  find(token: string): Promise<TokenHolder | null>
  revoke(token: string): Promise<void>
}

/** Each call rejects with `StoreDownError` if Redis is unavailable. */
export interface Tokens {
  readonly access: TokenKind
  /** Refresh tokens; each may be used once. */
  readonly refresh: TokenKind
  /** Marks a refresh token as used. Returns false if it was used before: then it has leaked. */
  claim(refreshToken: string, ttlMs: number): Promise<boolean>
  /** Reverts a claim whose request failed. */
  release(refreshToken: string): Promise<void>
  /** Revokes all tokens of a login. */
  endFamily(family: string): Promise<void>
}

const TOKEN_BYTES = 20
const TOKEN = /^[0-9a-f]{40}$/
/** Longer than the longest life of a token. */
const LONGEST_MS = 366 * 24 * 3600 * 1000

export function createTokens(keys: ExpiringKeys): Tokens {
  return {
    access: tokenKind(keys, 'token'),
    refresh: tokenKind(keys, 'refresh'),
    claim: (token, ttlMs) => keys.setOnce(usedKey(token), '1', Math.max(1, ttlMs)),
    release: (token) => keys.remove(usedKey(token)),
    endFamily: (family) => keys.set(familyKey(family), '1', LONGEST_MS),
  }
}

/** A new family id for the tokens of one login. */
export function newFamily(): string {
  return randomBytes(12).toString('hex')
}

function tokenKind(keys: ExpiringKeys, kind: string): TokenKind {
  const keyOf = (token: string) => `${kind}:${digest(token)}`
  return {
    async issue(holder, ttlMs) {
      const token = randomBytes(TOKEN_BYTES).toString('hex')
      await keys.set(keyOf(token), JSON.stringify(holder), ttlMs)
      return token
    },
    async find(token) {
      if (!TOKEN.test(token)) return null
      const text = await keys.get(keyOf(token))
      if (text === null) return null
      const holder = JSON.parse(text) as TokenHolder
      const ended = holder.family === null ? null : await keys.get(familyKey(holder.family))
      return ended === null ? holder : null
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

/** A token has 160 random bits, so a plain digest reveals nothing. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

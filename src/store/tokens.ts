/** Tokens of OAuth 2.0: of each Redis has a digest, and whom it was given to. */
import { createHash, randomBytes } from 'node:crypto'
import type { ExpiringKeys } from './expiring.ts'

export interface TokenUser {
  readonly id: string
  readonly name: string
  /** Of the password as it was then: another one ends the token. */
  readonly passwordMark: string
}

/** Whom a token was given to. */
export interface TokenHolder {
  /** Name of the client. */
  readonly client: string
  /** Of the client as it was then: another one ends the token. */
  readonly fingerprint: string
  /** Whose password gave it; null: nobody's, it is the client's own. */
  readonly user: TokenUser | null
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
  }
}

/** For the tokens of one login. */
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

/** A token has 160 random bits, so a plain digest tells nothing of it. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

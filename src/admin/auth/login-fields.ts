/** The fields of a login: plain texts, in the body, and nothing else. */
import { queryParameters } from '../entities/requests/body.ts'
import type { RawParameters } from '../entities/requests/raw-parameters.ts'
import { badText, PASSWORD_CHARACTERS_MAX } from './password-rules.ts'
import { AuthRefusal } from './refusal.ts'

/** Also the longest name of the users collection. */
const USERNAME_CHARACTERS_MAX = 254
const PROVIDER_CHARACTERS_MAX = 128
const TOTP_CHARACTERS_MAX = 64

export interface LoginFields {
  /** Null: not given, or empty. */
  readonly username: string | null
  readonly password: string | null
  /** In small letters. */
  readonly protocol: string
  readonly provider: string | undefined
  /** Code of the second factor; null: not given, or empty. */
  readonly totp: string | null
}

/** As answers repeat it. */
export interface LoginInput {
  readonly username?: string
  readonly protocol?: string
  readonly provider?: string
}

/** Throws `AuthRefusal` that names the field; 400 where the protocol can be none. */
export function loginFields(values: RawParameters): LoginFields {
  const protocol = (plainText(values, 'protocol', 32) ?? 'internal').toLowerCase()
  if (!/^[a-z0-9]+$/.test(protocol)) {
    throw new AuthRefusal('protocol must be letters and digits', { httpStatus: 400 })
  }
  return {
    username: usernameIn(values),
    password: passwordIn(values, 'password'),
    protocol,
    provider: lineOf(values, 'provider', PROVIDER_CHARACTERS_MAX) ?? undefined,
    totp: totpIn(values),
  }
}

export function usernameIn(values: RawParameters): string | null {
  return lineOf(values, 'username', USERNAME_CHARACTERS_MAX)
}

export function passwordIn(values: RawParameters, name: string): string | null {
  return plainText(values, name, PASSWORD_CHARACTERS_MAX)
}

/** A code, or a recovery code. */
export function totpIn(values: RawParameters): string | null {
  return lineOf(values, 'totp', TOTP_CHARACTERS_MAX)
}

export function inputOf({ username, protocol, provider }: LoginFields): LoginInput {
  return {
    ...(username !== null && { username }),
    protocol: protocolLabel(protocol),
    ...(provider !== undefined && { provider }),
  }
}

/** As clients know it: `Internal`. */
export function protocolLabel(protocol: string): string {
  return protocol.charAt(0).toUpperCase() + protocol.slice(1)
}

const CREDENTIALS: ReadonlySet<string> = new Set(['username', 'password', 'new_password', 'totp'])

/** The first credential in an address, where logs and histories keep it; null: none. */
export function credentialIn(url: string): string | null {
  const names = [...queryParameters(url).keys()].map((name) => name.toLowerCase().trim())
  return names.find((name) => CREDENTIALS.has(name.replace(/\[.*$/s, ''))) ?? null
}

/** Without control characters: it comes to logs, headers and records of others. */
function lineOf(values: RawParameters, name: string, charactersMax: number): string | null {
  const text = plainText(values, name, charactersMax)
  if (text === null || !/\p{Cc}/u.test(text)) return text
  throw new AuthRefusal(`${name} must have no control characters`)
}

/** An object, such as an operator of the store, is no text; a number is none either. */
function plainText(values: RawParameters, name: string, charactersMax: number): string | null {
  const value = values.get(name)
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new AuthRefusal(`${name} must be a plain text`)
  if (value.length > 2 * charactersMax || [...value].length > charactersMax) {
    throw new AuthRefusal(`${name} must have at most ${charactersMax} characters`)
  }
  const reason = badText(value)
  if (reason !== null) throw new AuthRefusal(`${name} ${reason}`)
  return value
}

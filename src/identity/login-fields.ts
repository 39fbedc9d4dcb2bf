/** Fields of a login: plain texts in the body. */
import { about } from '../domain/field-errors.ts'
import type { RawParameters } from '../requests/raw-parameters.ts'
import { badText, PASSWORD_CHARACTERS_MAX } from './password-rules.ts'
import { AuthRefusal } from './refusal.ts'

/** Also the maximum length of a name in the users collection. */
const USERNAME_CHARACTERS_MAX = 254
const PROVIDER_CHARACTERS_MAX = 128
const TOTP_CHARACTERS_MAX = 64

export interface LoginFields {
  /** Null if missing or empty. */
  readonly username: string | null
  readonly password: string | null
  /** In lower case. */
  readonly protocol: string
  readonly provider: string | undefined
  /** Code of the second factor; null if missing or empty. */
  readonly totp: string | null
}

/** Input as repeated in answers. */
export interface LoginInput {
  readonly username?: string
  readonly protocol?: string
  readonly provider?: string
}

/** Throws `AuthRefusal` with the name of the field; 400 for a malformed protocol. */
export function loginFields(values: RawParameters): LoginFields {
  const protocol = (plainText(values, 'protocol', 32) ?? 'internal').toLowerCase()
  if (!/^[a-z0-9]+$/.test(protocol)) {
    throw new AuthRefusal(...about('protocol', 'must be letters and digits'), { httpStatus: 400 })
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

/** A TOTP code or a recovery code. */
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

/** Spelling used by clients: `Internal`. */
export function protocolLabel(protocol: string): string {
  return protocol.charAt(0).toUpperCase() + protocol.slice(1)
}

/** Rejects control characters: the text is written to logs, headers and audit records. */
function lineOf(values: RawParameters, name: string, charactersMax: number): string | null {
  const text = plainText(values, name, charactersMax)
  if (text === null || !/\p{Cc}/u.test(text)) return text
  throw new AuthRefusal(...about(name, 'must have no control characters'))
}

/** Only strings are accepted: an object could be a query operator of MongoDB. */
function plainText(values: RawParameters, name: string, charactersMax: number): string | null {
  const value = values.get(name)
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new AuthRefusal(...about(name, 'must be a plain text'))
  if (value.length > 2 * charactersMax || [...value].length > charactersMax) {
    throw new AuthRefusal(...about(name, `must have at most ${charactersMax} characters`))
  }
  const reason = badText(value)
  if (reason !== null) throw new AuthRefusal(...about(name, reason))
  return value
}

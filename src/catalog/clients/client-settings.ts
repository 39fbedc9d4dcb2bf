/** Stored clients, and the input to change one. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { FieldError } from '../../domain/fields.ts'
import { oneOf } from '../settings/settings-schema.ts'

/** Category of the stored configuration. */
export const CLIENTS_CATEGORY = 'shared_secret'

/** OAuth 2.0 grants that a client can be allowed. */
export const CLIENT_GRANTS = ['client_credentials', 'password', 'refresh_token'] as const
export type ClientGrant = (typeof CLIENT_GRANTS)[number]

/** For clients without configured grants. */
export const DEFAULT_GRANTS: readonly ClientGrant[] = ['client_credentials']

/** The name is the client id, appears in logs, and is not changed by form encoding. */
const Name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' })
const Roles = Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
  maxItems: 32,
  uniqueItems: true,
})
const Grants = Type.Array(oneOf(...CLIENT_GRANTS), {
  minItems: 1,
  uniqueItems: true,
})
const Time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })

const StoredSchema = Type.Object(
  {
    name: Name,
    /** SHA-256 of the key in hexadecimal, compared with the key that a client presents (OAuth). */
    hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
    /** The sealed key of a client that may sign: verifying signatures needs the key itself. */
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
    /** Only in clients stored before `hash` existed. */
    crc: Type.Optional(Type.String({ pattern: '^[0-9a-f]{8}$' })),
    /** Validity: from (inclusive), to (exclusive). */
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    roles: Roles,
    grants: Type.Optional(Grants),
    created_at: Time,
    /** Author of the client. */
    created_by: Type.String({ maxLength: 256 }),
    disabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export type StoredClient = Static<typeof StoredSchema>

const IgnoredText = Type.String({ maxLength: 256 })
const InputTime = Type.Union([Type.String({ maxLength: 64 }), Type.Null()])

/**
 * Input of a client. Keys consist of characters that form encoding does not change (RFC 6749
 * section 2.3.1); generated keys have 32.
 */
export const ClientInputSchema = Type.Object(
  {
    name: Name,
    from: Type.Optional(InputTime),
    to: Type.Optional(InputTime),
    key: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_.-]{32,256}$' })),
    roles: Type.Optional(Roles),
    grants: Type.Optional(Grants),
    /** Whether it may sign; true if absent. If false, only a hash of the key is stored. */
    signature: Type.Optional(Type.Boolean()),
    disabled: Type.Optional(Type.Boolean()),
    /** Ignored: clients send back fields that they have read. */
    crc: Type.Optional(IgnoredText),
    created_at: Type.Optional(IgnoredText),
    created_by: Type.Optional(IgnoredText),
  },
  { additionalProperties: false },
)

export type ClientInput = Static<typeof ClientInputSchema>

const REASONS: Readonly<Record<string, string>> = {
  name: 'must be 1 to 64 letters, digits, _, - and .',
  key: 'must be 32 to 256 letters, digits, _, - and .',
  roles: 'must be a list of different names in lower case',
  grants: `must be a list of different values of ${CLIENT_GRANTS.join(', ')}`,
  from: 'must be a date',
  to: 'must be a date',
  signature: 'must be true or false',
  disabled: 'must be true or false',
}

/** Throws `FieldError` with a path that begins with `path` and without the value. */
export function storedClient(value: unknown, path: string): StoredClient {
  const client = checked(StoredSchema, value, path)
  if (client.hash === undefined && client.key === undefined) {
    throw new FieldError(`${path}.hash`, 'is missing', 'missing')
  }
  return client
}

/** Throws `FieldError` with the name of the field. */
export function checkClientInput(value: unknown): ClientInput {
  return checked(ClientInputSchema, value, '')
}

function checked<T extends TSchema>(schema: T, value: unknown, path: string): Static<T> {
  const problem = Value.Errors(schema, value).First()
  if (problem === undefined) return value as Static<T>
  const fields = problem.path.slice(1).split('/')
  const at = [path, ...fields].filter((step) => step !== '').join('.')
  const [field = ''] = fields
  if (problem.message === 'Expected required property')
    throw new FieldError(at, 'is missing', 'missing')
  if (problem.message === 'Unexpected property') throw new FieldError(at, 'is not known', 'unknown')
  throw new FieldError(at, REASONS[field] ?? 'has an invalid value')
}

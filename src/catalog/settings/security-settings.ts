/** Category `security` of the stored configuration: how users and clients get in. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { StoredSetting } from './current-settings.ts'

const integer = (minimum: number, maximum: number, byDefault: number) =>
  Type.Integer({ minimum, maximum, default: byDefault })

const closed = { additionalProperties: false, default: {} } as const

const MINUTES_MAX = 60 * 24 * 365
const SECONDS_MAX = 60 * MINUTES_MAX

/** What may be stored; whatever is left out has its default. */
export const SecuritySchema = Type.Object(
  {
    session: Type.Object(
      {
        /** A session ends when nothing was asked for so long, and at the latest after the other. */
        idle_minutes: integer(1, MINUTES_MAX, 60),
        absolute_minutes: integer(1, MINUTES_MAX, 12 * 60),
        /** A session gets a new id so often. */
        rotate_minutes: integer(1, MINUTES_MAX, 15),
      },
      closed,
    ),
    password: Type.Object(
      {
        characters_min: integer(8, 128, 12),
        /** Who gets a password from somebody else has to change it at the next login. */
        change_given: Type.Boolean({ default: true }),
      },
      closed,
    ),
    totp: Type.Object(
      {
        /** Who has one of these roles needs a second factor. */
        required_roles: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
          maxItems: 32,
          uniqueItems: true,
          default: [],
        }),
        /** Under which authenticator apps list it. */
        issuer: Type.String({ pattern: '^[^:\\p{Cc}]{1,64}$', default: 'Tollgate' }),
      },
      closed,
    ),
    lockout: Type.Object(
      {
        /** Failures in a row after which a user, from an address, has to wait. */
        attempts: integer(1, 100, 5),
        /** For how long; twice as long with each further failure, up to the other. */
        seconds: integer(1, SECONDS_MAX, 30),
        seconds_max: integer(1, SECONDS_MAX, 3600),
        /**
         * Failures of a user within an hour, from all addresses. Beyond it only known devices may
         * try, until an operator unlocks the user.
         */
        failures_per_hour: integer(1, 1_000_000, 100),
      },
      closed,
    ),
    rate_limits: Type.Object(
      {
        /** Of one address; of IPv6 of a /64, twice as many of a /56, four times of a /48. */
        logins_per_minute: integer(1, 1_000_000, 60),
        tokens_per_minute: integer(1, 1_000_000, 120),
      },
      closed,
    ),
    oauth: Type.Object(
      {
        grants: Type.Array(
          Type.Union([
            Type.Literal('client_credentials'),
            Type.Literal('password'),
            Type.Literal('refresh_token'),
          ]),
          { uniqueItems: true, default: ['client_credentials'] },
        ),
        access_token_seconds: integer(60, SECONDS_MAX, 3600),
        refresh_token_seconds: integer(60, SECONDS_MAX, 14 * 24 * 3600),
      },
      closed,
    ),
    signature: Type.Object(
      {
        enabled: Type.Boolean({ default: true }),
        /** How far the time of a request may be from the node's, and how long it is remembered. */
        window_seconds: integer(1, 24 * 3600, 300),
      },
      closed,
    ),
    cors: Type.Object(
      {
        /** Sites whose pages may use the control plane, as in `https://crm.example.net`. */
        origins: Type.Array(Type.String({ pattern: '^https?://[^/\\s]+$' }), {
          maxItems: 100,
          uniqueItems: true,
          default: [],
        }),
      },
      closed,
    ),
  },
  closed,
)

export type SecuritySettings = Static<typeof SecuritySchema>

/** Defaults stand in for all that cannot be used. */
export const SECURITY: StoredSetting<SecuritySettings> = {
  category: 'security',
  read(value) {
    const whole: unknown = Value.Default(SecuritySchema, structuredClone(value ?? {}))
    if (Value.Check(SecuritySchema, whole)) return whole
    return Value.Create(SecuritySchema)
  },
}

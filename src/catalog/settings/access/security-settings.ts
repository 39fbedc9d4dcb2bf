/** Category `security` of the stored configuration: authentication of users and clients. */
import { type Static, Type } from '@sinclair/typebox'
import type { StoredSetting } from '../current-settings.ts'
import { oneOf, storedOrDefaults } from '../settings-schema.ts'

const integer = (minimum: number, maximum: number, byDefault: number) =>
  Type.Integer({ minimum, maximum, default: byDefault })

const closed = { additionalProperties: false, default: {} } as const

const MINUTES_MAX = 60 * 24 * 365
const SECONDS_MAX = 60 * MINUTES_MAX

/** The stored value; absent members have defaults. */
export const SecuritySchema = Type.Object(
  {
    session: Type.Object(
      {
        /**
         * A session ends after `idle_minutes` without a request, and at the latest after
         * `absolute_minutes`.
         */
        idle_minutes: integer(1, MINUTES_MAX, 60),
        absolute_minutes: integer(1, MINUTES_MAX, 12 * 60),
        /** Interval after which a session gets a new id. */
        rotate_minutes: integer(1, MINUTES_MAX, 15),
      },
      closed,
    ),
    password: Type.Object(
      {
        characters_min: integer(8, 128, 12),
        /** Users whose password was set by someone else must change it at the next login. */
        change_given: Type.Boolean({ default: true }),
      },
      closed,
    ),
    totp: Type.Object(
      {
        /** Users with one of these roles need a second factor. */
        required_roles: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
          maxItems: 32,
          uniqueItems: true,
          default: [],
        }),
        /** Issuer shown in authenticator apps. */
        issuer: Type.String({ pattern: '^[^:\\p{Cc}]{1,64}$', default: 'Tollgate' }),
      },
      closed,
    ),
    lockout: Type.Object(
      {
        /** Consecutive failures of a user from an address before further attempts are delayed. */
        attempts: integer(1, 100, 5),
        /** Duration of the delay, doubled with each further failure up to `seconds_max`. */
        seconds: integer(1, SECONDS_MAX, 30),
        seconds_max: integer(1, SECONDS_MAX, 3600),
        /**
         * Failures of a user per hour, from all addresses. Beyond it, only known devices may log in
         * until an operator unlocks the user.
         */
        failures_per_hour: integer(1, 1_000_000, 100),
        /** Wrong secrets of prepaid cards of one caller per hour, over all subscribers. */
        card_failures_per_hour: integer(1, 1_000_000, 1000),
      },
      closed,
    ),
    rate_limits: Type.Object(
      {
        /**
         * Per client address. For IPv6, per /64; twice as many per /56, four times as many per /48.
         */
        logins_per_minute: integer(1, 1_000_000, 60),
        tokens_per_minute: integer(1, 1_000_000, 120),
      },
      closed,
    ),
    oauth: Type.Object(
      {
        grants: Type.Array(oneOf('client_credentials', 'password', 'refresh_token'), {
          uniqueItems: true,
          default: ['client_credentials'],
        }),
        access_token_seconds: integer(60, SECONDS_MAX, 3600),
        refresh_token_seconds: integer(60, SECONDS_MAX, 14 * 24 * 3600),
      },
      closed,
    ),
    signature: Type.Object(
      {
        enabled: Type.Boolean({ default: true }),
        /**
         * Permitted difference between the time of a request and the node's, and how long
         * signatures are remembered.
         */
        window_seconds: integer(1, 24 * 3600, 300),
      },
      closed,
    ),
    cors: Type.Object(
      {
        /** Web origins that may use the control plane, as in `https://crm.example.net`. */
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

/** An invalid stored value is replaced by the defaults. */
export const SECURITY: StoredSetting<SecuritySettings> = {
  category: 'security',
  read: (value) => storedOrDefaults(SecuritySchema, value),
}

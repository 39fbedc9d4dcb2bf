/**
 * Category `auth` of the stored configuration: directories and identity providers that authenticate
 * users (docs/ACCESS.md). Passwords of service accounts are stored sealed.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { FieldError } from '../../domain/fields.ts'
import { ldapProblem, samlProblem } from './auth-rules.ts'
import type { StoredSetting } from './current-settings.ts'

const closed = { additionalProperties: false } as const

const text = (maxLength = 1024) => Type.String({ minLength: 1, maxLength })

/** Part of URLs, log messages and user ids. */
const nameFields = {
  name: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,31}$' }),
  /** Label on the login page; `name` if absent. */
  label: Type.Optional(text(100)),
}

const Roles = Type.Array(
  Type.Union([
    Type.Literal('read'),
    Type.Literal('write'),
    Type.Literal('admin'),
    Type.Literal('reports'),
  ]),
  { uniqueItems: true },
)

/** Users with the value get the roles. A list, because a DN is not a valid field name. */
const RoleMap = Type.Array(Type.Object({ value: text(), roles: Roles }, closed), {
  maxItems: 1000,
  default: [],
})

const rolesFrom = (attribute: string) => ({
  attribute: Type.String({ minLength: 1, maxLength: 256, default: attribute }),
  map: RoleMap,
  /** Roles of users for whom the map has no entry. If empty, they cannot log in. */
  default: Type.Array(Roles.items, { uniqueItems: true, default: [] }),
})

const LdapSchema = Type.Object(
  {
    type: Type.Literal('ldap'),
    ...nameFields,
    /** `ldaps://host[:port]`, or `ldap://host[:port]`. */
    url: text(),
    start_tls: Type.Boolean({ default: false }),
    /** Permits passwords over a connection without TLS to a host other than loopback. */
    allow_plaintext: Type.Boolean({ default: false }),
    /** PEM of the CA certificates of the directory; the CAs of Node.js if absent. */
    ca: Type.Optional(text(65_536)),
    /** Bind DN for searches; an anonymous bind if absent. */
    bind_dn: Type.Optional(text()),
    /** Stored sealed. */
    bind_password: Type.Optional(text(4096)),
    /** Base of the search for users... */
    base_dn: Type.Optional(text()),
    user_filter: Type.String({ minLength: 1, maxLength: 1024, default: '(uid={username})' }),
    /**
     * ... or, without a search, the template of the user's DN, as in
     * `uid={username},ou=people,dc=...`.
     */
    user_dn: Type.Optional(text()),
    /** Attribute that identifies a user uniquely and permanently. */
    id_attribute: Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-]{0,63}$', default: 'uid' }),
    timeout_ms: Type.Integer({ minimum: 100, maximum: 60_000, default: 5000 }),
    roles: Type.Object(
      {
        ...rolesFrom('memberOf'),
        /**
         * For directories in which groups list their members, instead of entries listing their
         * groups.
         */
        groups: Type.Optional(
          Type.Object(
            {
              base_dn: text(),
              filter: Type.String({ minLength: 1, maxLength: 1024, default: '(member={dn})' }),
            },
            closed,
          ),
        ),
      },
      { ...closed, default: {} },
    ),
  },
  closed,
)

const SamlSchema = Type.Object(
  {
    type: Type.Literal('saml'),
    ...nameFields,
    /** URL of the identity provider for requests (binding HTTP-Redirect). */
    entry_point: text(),
    /** Entity id of this service provider. */
    issuer: text(),
    /** Assertion consumer URL, as browsers reach this node; ends in `/auth/saml/NAME/acs`. */
    callback_url: text(),
    /** PEM, or only its base64 content. Several during a key rollover of the provider. */
    idp_certs: Type.Array(text(16_384), { minItems: 1, maxItems: 10 }),
    /** Entity id of the provider; not checked if absent. */
    idp_issuer: Type.Optional(text()),
    /** Required audience of assertions; `issuer` if absent. */
    audience: Type.Optional(text()),
    name_id_format: Type.Optional(text(256)),
    /** `nameID`, or the name of an attribute. */
    username_attribute: Type.String({ minLength: 1, maxLength: 256, default: 'nameID' }),
    roles: Type.Object(rolesFrom('Role'), { ...closed, default: {} }),
    /** If false, a signed response with an unsigned assertion is accepted. */
    want_assertions_signed: Type.Boolean({ default: true }),
    want_response_signed: Type.Boolean({ default: false }),
    /** Whether IdP-initiated logins are accepted; these are not bound to the browser. */
    allow_unsolicited: Type.Boolean({ default: false }),
    clock_skew_ms: Type.Integer({ minimum: 0, maximum: 600_000, default: 60_000 }),
    /** Path on this node to which the browser is redirected after the login. */
    return_url: Type.String({ minLength: 1, maxLength: 512, default: '/' }),
  },
  closed,
)

export type LdapSettings = Static<typeof LdapSchema>
export type SamlSettings = Static<typeof SamlSchema>
export type ProtocolSettings = LdapSettings | SamlSettings
export type RoleSettings = Pick<LdapSettings['roles'], 'map' | 'default'>

export interface AuthSettings {
  readonly protocols: readonly ProtocolSettings[]
  /** Invalid entries, which are left out. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/** Leaves out invalid entries and lists them. */
export const AUTH: StoredSetting<AuthSettings> = {
  category: 'auth',
  read(value) {
    const protocols: ProtocolSettings[] = []
    const skipped: { path: string; reason: string }[] = []
    for (const [index, each] of entriesOf(value).entries()) {
      try {
        protocols.push(protocolAt(each, `protocols.${index}`, protocols))
      } catch (error) {
        if (!(error instanceof FieldError)) throw error
        skipped.push({ path: error.path, reason: error.reason })
      }
    }
    return { protocols, skipped }
  },
}

/** Fills in defaults. Throws `FieldError` for the first invalid value. */
export function checkAuthSettings(value: unknown): { protocols: ProtocolSettings[] } {
  const protocols: ProtocolSettings[] = []
  if (!isObject(value)) throw new FieldError('', 'must be an object with protocols')
  for (const name of Object.keys(value)) {
    if (name !== 'protocols') throw new FieldError(name, 'is not known')
  }
  const list = value['protocols'] ?? []
  if (!Array.isArray(list)) throw new FieldError('protocols', 'must be a list')
  if (list.length > 50) throw new FieldError('protocols', 'must have at most 50 entries')
  for (const [index, each] of list.entries()) {
    protocols.push(protocolAt(each, `protocols.${index}`, protocols))
  }
  return { protocols }
}

/** For `GET /auth/options`: the public fields, in the order of the settings. */
export function publicProviders(
  settings: AuthSettings,
): { type: string; label: string; name: string }[] {
  return settings.protocols.map(({ type, name, label = name }) => ({ type, label, name }))
}

function protocolAt(
  value: unknown,
  path: string,
  others: readonly ProtocolSettings[],
): ProtocolSettings {
  if (!isObject(value)) throw new FieldError(path, 'must be an object')
  const { type } = value
  if (type !== 'ldap' && type !== 'saml') {
    throw new FieldError(`${path}.type`, 'must be ldap or saml')
  }
  const settings =
    type === 'ldap' ? withDefaults(LdapSchema, value, path) : withDefaults(SamlSchema, value, path)
  if (others.some((other) => other.type === type && other.name === settings.name)) {
    throw new FieldError(`${path}.name`, `'${settings.name}' is there twice`)
  }
  const problem = settings.type === 'ldap' ? ldapProblem(settings) : samlProblem(settings)
  if (problem !== null) throw new FieldError(`${path}.${problem.path}`, problem.reason)
  return settings
}

function withDefaults<Schema extends TSchema>(
  schema: Schema,
  value: object,
  path: string,
): Static<Schema> {
  const whole: unknown = Value.Default(schema, structuredClone(value))
  if (Value.Check(schema, whole)) return whole
  const first = Value.Errors(schema, whole).First()
  const inside = (first?.path ?? '').replaceAll('/', '.')
  // The value is not quoted: it may be a password.
  throw new FieldError(`${path}${inside}`, reasonOf(first?.message))
}

function reasonOf(message = 'is not valid'): string {
  return `is refused: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
}

function entriesOf(value: unknown): unknown[] {
  const list = isObject(value) ? value['protocols'] : undefined
  return Array.isArray(list) ? list.slice(0, 50) : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Schemas of directories (LDAP) and identity providers (SAML) in the category `auth`. */
import { type Static, Type } from '@sinclair/typebox'
import { closed, oneOf } from '../settings-schema.ts'

const text = (maxLength = 1024) => Type.String({ minLength: 1, maxLength })

/** Part of URLs, log messages and user ids. */
const nameFields = {
  name: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,31}$' }),
  /** Label on the login page; `name` if absent. */
  label: Type.Optional(text(100)),
}

const Roles = Type.Array(oneOf('read', 'write', 'admin', 'reports'), { uniqueItems: true })

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

export const LdapSchema = Type.Object(
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

export const SamlSchema = Type.Object(
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

import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { isLocalPath } from '../../../../src/catalog/settings/access/auth-rules.ts'
import { mergeAuth, redactAuth } from '../../../../src/catalog/settings/access/auth-secrets.ts'
import {
  AUTH,
  checkAuthSettings,
  publicProviders,
} from '../../../../src/catalog/settings/access/auth-settings.ts'
import { SECURITY } from '../../../../src/catalog/settings/access/security-settings.ts'

type Fields = Record<string, unknown>

/**
 * Certificates of authorities known to Node: one with an RSA key, one with an elliptic-curve key.
 */
const [RSA, EC] = ['rsa', 'ec'].map((type) =>
  rootCertificates.find((pem) => new X509Certificate(pem).publicKey.asymmetricKeyType === type),
)
const roles = { map: [{ value: 'cn=ops,dc=example,dc=net', roles: ['admin'] }] }
const ldap = (more: Fields = {}): Fields => ({
  type: 'ldap',
  name: 'corp',
  url: 'ldaps://ldap.example.net',
  base_dn: 'dc=example,dc=net',
  roles,
  ...more,
})
const saml = (more: Fields = {}): Fields => ({
  type: 'saml',
  name: 'sso',
  entry_point: 'https://idp.example.net/sso',
  issuer: 'tollgate',
  callback_url: 'https://tollgate.example.net/auth/saml/sso/acs',
  idp_certs: [RSA],
  roles,
  ...more,
})
const check = (...protocols: unknown[]) => checkAuthSettings({ protocols })
const sealer = { seal: (text: string) => `sealed:${[...text].reverse().join('')}` }

describe('stored settings of directories and identity providers', () => {
  it('have safe defaults', () => {
    expect(check(ldap(), saml()).protocols).toMatchObject([
      {
        start_tls: false,
        allow_plaintext: false,
        user_filter: '(uid={username})',
        id_attribute: 'uid',
        timeout_ms: 5000,
        roles: { attribute: 'memberOf', default: [] },
      },
      {
        username_attribute: 'nameID',
        want_assertions_signed: true,
        return_url: '/',
        allow_unsolicited: false,
        clock_skew_ms: 60_000,
        roles: { attribute: 'Role' },
      },
    ])
  })

  it('are refused with the reason and the path', () => {
    const wrong: [Fields, string][] = [
      [{ type: 'kerberos' }, 'protocols.0.type must be ldap or saml'],
      [ldap({ name: 'Corp/1' }), 'protocols.0.name does not have the required format'],
      [ldap({ colour: 1 }), 'protocols.0.colour is not known'],
      [ldap({ url: 'http://ldap.example.net' }), 'protocols.0.url must be a URL such as ldaps://'],
      [ldap({ url: 'ldaps://u:p@ldap.example.net' }), 'protocols.0.url must consist of a host'],
      [ldap({ start_tls: true }), 'protocols.0.start_tls applies to ldap:// only'],
      [
        ldap({ user_dn: 'uid={username},dc=x' }),
        'protocols.0.base_dn must be set unless user_dn is',
      ],
      [
        ldap({ base_dn: undefined, user_dn: '{username}' }),
        'protocols.0.user_dn must be a DN such as',
      ],
      [ldap({ user_filter: '(uid=x)' }), 'protocols.0.user_filter must be a filter with'],
      [ldap({ user_filter: '(uid={username}))(' }), 'protocols.0.user_filter must be a filter'],
      [ldap({ bind_dn: 'cn=x' }), 'protocols.0.bind_password is missing'],
      [ldap({ ca: 'not PEM' }), 'protocols.0.ca must be certificates as PEM'],
      [ldap({ roles: {} }), 'protocols.0.roles.map must assign at least one role'],
      [
        ldap({ roles: { default: ['root'] } }),
        'protocols.0.roles.default.0 must be one of read, write',
      ],
      [saml({ entry_point: 'javascript:alert(1)' }), 'protocols.0.entry_point must be a URL'],
      [saml({ entry_point: 'http://idp.example.net' }), 'protocols.0.entry_point must be a URL'],
      [saml({ callback_url: 'https://x.example/other' }), 'protocols.0.callback_url must be'],
      [saml({ idp_certs: [] }), 'protocols.0.idp_certs must have at least 1 members'],
      [saml({ idp_certs: ['AAAA'] }), 'protocols.0.idp_certs.0 must be one certificate'],
      [saml({ idp_certs: [EC] }), 'protocols.0.idp_certs.0 must have an RSA key'],
      [saml({ return_url: 'https://evil.example/' }), 'protocols.0.return_url must be a path'],
    ]
    for (const [entry, message] of wrong) {
      expect(() => check(entry), message).toThrow(message)
    }
    expect(() => check(ldap(), ldap())).toThrow(`protocols.1.name 'corp' occurs twice`)
    expect(() => checkAuthSettings([])).toThrow('must be an object')
    expect(() => checkAuthSettings({ protocol: [] })).toThrow('protocol is not known')
  })

  it('do not allow passwords in clear text, except on explicit request or on this machine', () => {
    const plain = { url: 'ldap://ldap.example.net:389' }
    expect(() => check(ldap(plain))).toThrow('would send passwords in clear')
    for (const more of [{ start_tls: true }, { allow_plaintext: true }]) {
      expect(check(ldap({ ...plain, ...more })).protocols).toHaveLength(1)
    }
    for (const host of ['localhost', '127.0.0.1', '[::1]:3890']) {
      expect(check(ldap({ url: `ldap://${host}` })).protocols).toHaveLength(1)
    }
  })

  it('are skipped and reported if they are unusable, and never throw', () => {
    const bad = ldap({ name: 'bad', url: 'ldap://ldap.example.net' })
    const read = AUTH.read({ protocols: [bad, null, saml()] })
    expect(read.protocols.map(({ name }) => name)).toEqual(['sso'])
    expect(read.skipped).toMatchObject([
      { path: 'protocols.0.url' },
      { path: 'protocols.1', reason: 'must be an object' },
    ])
    for (const value of [undefined, null, 1, 'x', [], { protocols: {} }]) {
      expect(AUTH.read(value)).toEqual({ protocols: [], skipped: [] })
    }
  })

  it('expose only what the login page needs to unauthenticated clients', () => {
    expect(publicProviders(AUTH.read({ protocols: [ldap({ label: 'Corp' }), saml()] }))).toEqual([
      { type: 'ldap', label: 'Corp', name: 'corp' },
      { type: 'saml', label: 'sso', name: 'sso' },
    ])
  })

  it('are refused without quoting any value', () => {
    const secret = { bind_dn: 'cn=x', bind_password: { clear: 's3cret' } }
    expect(() => check(ldap(secret))).toThrow(/^(?!.*s3cret)protocols\.0\.bind_password/)
  })
})

describe('secrets of the settings', () => {
  const service = { bind_dn: 'cn=tollgate,dc=example,dc=net', bind_password: 's3cret' }
  const stored = mergeAuth(undefined, { protocols: [ldap(service), saml()] }, sealer)

  it('are stored sealed and not returned', () => {
    expect(stored.protocols[0]).toMatchObject({ bind_password: 'sealed:terc3s' })
    const shown = JSON.stringify(redactAuth(stored))
    expect(shown).toContain('cn=tollgate')
    expect(shown).not.toMatch(/bind_password|terc3s/)
  })

  it('stay unchanged if they are not sent, and change if they are sent', () => {
    const shown = redactAuth(stored)
    expect(mergeAuth(stored, shown, sealer)).toEqual(stored)
    const changed = { protocols: [ldap({ ...service, bind_password: 'new', label: 'New' })] }
    expect(mergeAuth(stored, changed, sealer).protocols[0]).toMatchObject({
      bind_password: 'sealed:wen',
      label: 'New',
    })
    // The stored form is not accepted as input.
    const replayed = mergeAuth(stored, stored, sealer)
    expect(replayed.protocols[0]).toMatchObject({ bind_password: 'sealed:s3cret:delaes' })
  })

  it('are not disclosed to another directory, or without TLS, if the address is changed', () => {
    const { bind_dn } = service
    for (const more of [
      { url: 'ldaps://evil.example' },
      { url: 'ldap://ldap.example.net', allow_plaintext: true },
      { ca: RSA },
      { bind_dn: 'cn=other' },
    ]) {
      const sent = { protocols: [ldap({ bind_dn, ...more })] }
      expect(() => mergeAuth(stored, sent, sealer)).toThrow('bind_password must be sent again')
    }
    const renamed = { protocols: [ldap({ bind_dn, name: 'other' })] }
    expect(() => mergeAuth(stored, renamed, sealer)).toThrow('bind_password is missing')
  })
})

describe('local paths', () => {
  it('stay on this site, regardless of how a browser interprets them', () => {
    for (const path of ['/', '/app', '/app/x?y=//z#a', '/a:b@c'])
      expect(isLocalPath(path)).toBe(true)
    const others = ['', 'app', '//x', '/\\x', '/a\\b', '/\t/x', '/./%2e//x', 'https://x', '/.//x']
    for (const path of [...others, '/é', `/${'a'.repeat(512)}`]) {
      expect(isLocalPath(path), path).toBe(false)
    }
  })
})

it('an invalid value of security is replaced by all defaults', () => {
  const stored = { session: { idle_minutes: 'soon' }, lockout: { attempts: 9 } }
  expect(SECURITY.read(stored)).toEqual(SECURITY.read({}))
  expect(SECURITY.read(stored).session.idle_minutes).toBe(60)
})

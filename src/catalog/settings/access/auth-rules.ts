/** Checks of directories and identity providers that the schema cannot express. */

import { X509Certificate } from 'node:crypto'
import { isLoopback } from '../../../config/hosts.ts'
import type { FieldIssue } from '../../../domain/field-errors.ts'
import type { LdapSettings, RoleSettings, SamlSettings } from './auth-schema.ts'

/** Null if the settings are valid. */
export function ldapProblem(settings: LdapSettings): FieldIssue | null {
  const { bind_dn: bindDn, bind_password: bindPassword, ca, roles } = settings
  const first = urlProblem(settings) ?? userProblem(settings)
  if (first !== null) return first
  if ((bindDn === undefined) !== (bindPassword === undefined)) {
    // Many directories accept a DN without a password as an anonymous bind.
    const path = bindDn === undefined ? 'bind_dn' : 'bind_password'
    const reason = 'is missing: bind_dn and bind_password must be set together'
    return { path, reason, code: 'missing' }
  }
  if (ca !== undefined && pemCertificates(ca) === null) {
    return { path: 'ca', reason: 'must be certificates as PEM' }
  }
  const filter = roles.groups?.filter
  if (filter !== undefined && !(isFilter(filter) && /\{dn\}|\{username\}/.test(filter))) {
    const reason = 'must be a filter with {dn} or {username}, as in (member={dn})'
    return { path: 'roles.groups.filter', reason }
  }
  return rolesProblem(roles)
}

/** Null if the settings are valid. */
export function samlProblem(settings: SamlSettings): FieldIssue | null {
  const { name, roles, entry_point: entryPoint, callback_url: callback, idp_certs } = settings
  const entry = webUrl(entryPoint)
  if (entry === null) return { path: 'entry_point', reason: 'must be a URL with https' }
  if (entry.protocol === 'http:' && !isLoopback(hostOf(entry))) {
    return { path: 'entry_point', reason: 'must be a URL with https: users enter passwords there' }
  }
  const back = webUrl(callback)
  if (back === null || back.search !== '' || !back.pathname.endsWith(`/auth/saml/${name}/acs`)) {
    const reason = `must be a URL that ends in /auth/saml/${name}/acs`
    return { path: 'callback_url', reason }
  }
  for (const [index, cert] of idp_certs.entries()) {
    const reason = certificateProblem(cert)
    if (reason !== null) return { path: `idp_certs.${index}`, reason }
  }
  if (!isLocalPath(settings.return_url)) {
    return { path: 'return_url', reason: 'must be a path on this node, such as /app' }
  }
  return rolesProblem(roles)
}

/**
 * Whether a browser that is redirected to the path stays on this host, however it parses it: two
 * slashes, or a backslash, start the name of another host.
 */
export function isLocalPath(path: string): boolean {
  if (path.length > 512 || !/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || path.includes('\\')) {
    return false
  }
  const base = 'http://own.invalid'
  if (!URL.canParse(path, base)) return false
  const { origin, pathname } = new URL(path, base)
  return origin === base && !pathname.startsWith('//')
}

/** The certificate as PEM; null if it is not a certificate. */
export function pemOf(certificate: string): string | null {
  if (certificate.includes('-----BEGIN')) {
    const all = pemCertificates(certificate)
    return all?.length === 1 ? (all[0]?.toString() ?? null) : null
  }
  return (
    parseCertificate(
      `-----BEGIN CERTIFICATE-----\n${certificate.trim()}\n-----END CERTIFICATE-----`,
    )?.toString() ?? null
  )
}

function urlProblem({ url, start_tls, allow_plaintext }: LdapSettings): FieldIssue | null {
  const parts = URL.canParse(url) ? new URL(url) : null
  const isPlain = parts?.protocol === 'ldap:'
  if (parts === null || !(isPlain || parts.protocol === 'ldaps:') || parts.hostname === '') {
    return { path: 'url', reason: 'must be a URL such as ldaps://ldap.example.net' }
  }
  const { username, password, pathname, search, hash } = parts
  if (
    [username, password, pathname.replace(/^\/$/, ''), search, hash].some((part) => part !== '')
  ) {
    return { path: 'url', reason: 'must consist of a host and an optional port only' }
  }
  if (start_tls && !isPlain) {
    return { path: 'start_tls', reason: 'applies to ldap:// only: ldaps:// always uses TLS' }
  }
  if (isPlain && !start_tls && !allow_plaintext && !isLoopback(hostOf(parts))) {
    const reason = 'would send passwords in clear: use ldaps://, start_tls, or allow_plaintext'
    return { path: 'url', reason }
  }
  return null
}

function userProblem({ base_dn, user_filter, user_dn }: LdapSettings): FieldIssue | null {
  if ((base_dn === undefined) === (user_dn === undefined)) {
    return { path: 'base_dn', reason: 'must be set unless user_dn is; not both' }
  }
  // Without an attribute type, the user name itself could inject a DN.
  if (user_dn !== undefined && !/^[A-Za-z][\w-]*=[^,]*\{username\}/.test(user_dn)) {
    return { path: 'user_dn', reason: 'must be a DN such as uid={username},ou=people,dc=example' }
  }
  if (!isFilter(user_filter) || !user_filter.includes('{username}')) {
    return { path: 'user_filter', reason: 'must be a filter with {username}' }
  }
  return null
}

function isFilter(filter: string): boolean {
  let depth = 0
  for (const [index, character] of [...filter].entries()) {
    if (character === '(') depth += 1
    else if (character === ')') depth -= 1
    if (depth < 0 || (depth === 0 && index < filter.length - 1)) return false
  }
  return depth === 0 && filter.startsWith('(') && filter.includes('=')
}

function rolesProblem({ map, default: byDefault }: RoleSettings): FieldIssue | null {
  if (byDefault.length > 0 || map.some(({ roles }) => roles.length > 0)) return null
  return { path: 'roles.map', reason: 'must assign at least one role, unless default does' }
}

function certificateProblem(certificate: string): string | null {
  const pem = pemOf(certificate)
  if (pem === null) return 'must be one certificate, as PEM or base64'
  const { publicKey } = new X509Certificate(pem)
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  return publicKey.asymmetricKeyType === 'rsa' && bits >= 2048
    ? null
    : 'must have an RSA key of 2048 bits or more'
}

/** Null if there is no certificate, or if one of them is invalid. */
function pemCertificates(pem: string): X509Certificate[] | null {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const all = blocks.map(parseCertificate)
  return all.length > 0 && all.every((each) => each !== null) ? all : null
}

function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}

function webUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  return url.username === '' && url.password === '' && url.hash === '' ? url : null
}

/** Host name without the brackets of an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

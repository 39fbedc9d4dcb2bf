/**
 * Keeps the secrets of category `auth` out of API responses, and from being sent to another server.
 */
import { FieldError } from '../../../domain/fields.ts'
import type { LdapSettings } from './auth-schema.ts'
import { type AuthSettings, checkAuthSettings } from './auth-settings.ts'

/**
 * Encrypts with the key of the installation. `open` returns null if the value was sealed with
 * another key.
 */
export interface TextSealer {
  seal(text: string): string
  open(text: string): string | null
}

/** The value without secrets, for any reader. Accepts any stored value and does not modify it. */
export function redactAuth(stored: unknown): unknown {
  if (!isObject(stored) || !Array.isArray(stored['protocols'])) return { protocols: [] }
  const protocols = stored['protocols'].map((each: unknown) => {
    if (!isObject(each)) return each
    const { bind_password: _secret, ...visible } = each
    return visible
  })
  return { ...stored, protocols }
}

/**
 * The value to store for a value sent by a client. Secrets are sealed; a secret that is not sent is
 * kept from the stored directory of the same name. Throws `FieldError` if the value is invalid, or
 * if a secret is not sent although the address, certificate or transport security changes: the old
 * secret would be disclosed to the new server.
 */
export function mergeAuth(
  stored: unknown,
  value: unknown,
  { seal }: Pick<TextSealer, 'seal'>,
): Pick<AuthSettings, 'protocols'> {
  if (!isObject(value) || !Array.isArray(value['protocols'])) return checkAuthSettings(value)
  const before = ldapsIn(stored)
  const protocols = value['protocols'].map((each: unknown, index) => {
    if (!isObject(each) || each['type'] !== 'ldap') return each
    const password = each['bind_password']
    if (typeof password === 'string' && password !== '') {
      // Checked here, because the sealed value is longer than the maximum of the schema.
      if (password.length > 1024) {
        throw new FieldError(`protocols.${index}.bind_password`, 'is too long')
      }
      return { ...each, bind_password: seal(password) }
    }
    const current = before.find(({ name }) => name === each['name'])
    if (
      password !== undefined ||
      current?.bind_password === undefined ||
      each['bind_dn'] === undefined
    ) {
      return each
    }
    if (!hasSameDestination(current, each)) {
      const reason = 'must be sent again: the address or the security of the connection has changed'
      throw new FieldError(`protocols.${index}.bind_password`, reason)
    }
    return { ...each, bind_password: current.bind_password }
  })
  return checkAuthSettings({ ...value, protocols })
}

function hasSameDestination(current: LdapSettings, next: Record<string, unknown>): boolean {
  return (
    current.url === next['url'] &&
    current.bind_dn === next['bind_dn'] &&
    current.ca === next['ca'] &&
    (current.start_tls ?? false) === (next['start_tls'] ?? false) &&
    (current.allow_plaintext ?? false) === (next['allow_plaintext'] ?? false)
  )
}

function ldapsIn(stored: unknown): LdapSettings[] {
  const list = isObject(stored) ? stored['protocols'] : undefined
  if (!Array.isArray(list)) return []
  return list.filter((each) => isObject(each) && each['type'] === 'ldap')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

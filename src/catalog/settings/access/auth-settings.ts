/**
 * Category `auth` of the stored configuration: directories and identity providers that authenticate
 * users (docs/ACCESS.md). Passwords of service accounts are stored sealed.
 */
import { FieldError } from '../../../domain/fields.ts'
import type { StoredSetting } from '../current-settings.ts'
import { checkAgainstSchema } from '../settings-schema.ts'
import { ldapProblem, samlProblem } from './auth-rules.ts'
import { LdapSchema, type ProtocolSettings, SamlSchema } from './auth-schema.ts'

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
    if (name !== 'protocols') throw new FieldError(name, 'is not known', 'unknown')
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
    type === 'ldap'
      ? checkAgainstSchema(LdapSchema, value, path)
      : checkAgainstSchema(SamlSchema, value, path)
  if (others.some((other) => other.type === type && other.name === settings.name)) {
    throw new FieldError(`${path}.name`, `'${settings.name}' occurs twice`)
  }
  const problem = settings.type === 'ldap' ? ldapProblem(settings) : samlProblem(settings)
  if (problem === null) return settings
  throw new FieldError(`${path}.${problem.path}`, problem.reason, problem.code)
}

function entriesOf(value: unknown): unknown[] {
  const list = isObject(value) ? value['protocols'] : undefined
  return Array.isArray(list) ? list.slice(0, 50) : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

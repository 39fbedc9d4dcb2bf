/**
 * LDAP login (RFC 4511): the user's entry is found by a search or named by a template, and the
 * password is checked by a bind.
 */
import { randomBytes } from 'node:crypto'
import type { LdapSettings } from '../../catalog/settings/access/auth-schema.ts'
import type { TextSealer } from '../../catalog/settings/access/auth-secrets.ts'
import { AUTH } from '../../catalog/settings/access/auth-settings.ts'
import type { AuthDeps } from '../auth-deps.ts'
import type { SessionUser } from '../sessions.ts'
import { comparableName, escapedInFilter, escapedInName } from './distinguished-name.ts'
import {
  type LdapConnection,
  type LdapEntry,
  LdapUnavailableError,
  withLdap,
} from './ldap-connection.ts'
import type { PasswordProtocol } from './protocol.ts'
import { rolesOf } from './roles.ts'

export interface LdapDeps extends Pick<AuthDeps, 'settings' | 'log'> {
  /** Decrypts passwords of service accounts. */
  readonly sealer: Pick<TextSealer, 'open'>
}

const USERNAME_CHARACTERS_MAX = 256
const PASSWORD_CHARACTERS_MAX = 1024
const GROUPS_MAX = 1000

export function createLdap({ settings, log, sealer }: LdapDeps): PasswordProtocol {
  const directories = async (provider: string | undefined) => {
    const { protocols } = await settings.get(AUTH)
    const all = protocols.filter((each) => each.type === 'ldap')
    return all.filter(({ name }) => provider === undefined || name === provider)
  }
  const ask = async (directory: LdapSettings, username: string, password: string) => {
    const provider = directory.name
    try {
      const user = await userIn(directory, serviceOf(directory, sealer), { username, password })
      if (typeof user === 'string') log.info({ provider, reason: user }, 'LDAP login refused')
      return user
    } catch (error) {
      if (!(error instanceof LdapUnavailableError)) throw error
      log.warn({ provider, reason: error.message }, 'an LDAP directory is unavailable')
      return null
    }
  }
  return {
    type: 'ldap',
    isConfigured: async (provider) => (await directories(provider)).length > 0,
    async login(username, password, provider) {
      if (!isUsable(username, USERNAME_CHARACTERS_MAX) || !isPlain(username)) return 'refused'
      // A bind without a password is anonymous and succeeds.
      if (!isUsable(password, PASSWORD_CHARACTERS_MAX)) return 'refused'
      const candidates = await directories(provider)
      let answers = 0
      for (const directory of candidates) {
        const user = await ask(directory, username, password)
        if (user === null) continue
        if (typeof user !== 'string') return { user }
        answers += 1
      }
      // One answer counts as a refusal: otherwise passwords could be tried uncounted while another
      // directory is unavailable.
      return candidates.length > 0 && answers === 0 ? 'unavailable' : 'refused'
    },
  }
}

function isUsable(text: string, charactersMax: number): boolean {
  return text !== '' && text.length <= charactersMax && !text.includes('\0')
}

/**
 * Directories ignore extra blanks, invisible characters and character widths in comparisons (RFC
 * 4518): one user would have many names, with separate counts of failed logins.
 */
function isPlain(username: string): boolean {
  const hasInvisible = /[\p{C}\p{Default_Ignorable_Code_Point}]|^\s|\s$|\s\s/u.test(username)
  return !hasInvisible && username === username.normalize('NFKC')
}

interface Service {
  readonly dn: string
  readonly password: string
}

/** Undefined if the directory is searched anonymously. */
function serviceOf(
  directory: LdapSettings,
  { open }: Pick<TextSealer, 'open'>,
): Service | undefined {
  const { bind_dn: dn, bind_password: sealed } = directory
  if (dn === undefined || sealed === undefined) return undefined
  const password = open(sealed)
  if (password !== null && password !== '') return { dn, password }
  throw new LdapUnavailableError('bind_password was sealed by another key: it must be set again')
}

interface Credentials {
  readonly username: string
  readonly password: string
}

/** The user, or why the login is refused. */
function userIn(
  directory: LdapSettings,
  service: Service | undefined,
  credentials: Credentials,
): Promise<SessionUser | string> {
  return withLdap(directory, async (connection) => {
    const { username } = credentials
    const found = await entryOf(directory, service, connection, credentials)
    if (typeof found === 'string') return found
    const groups = await groupsOf(directory, service, connection, { username, dn: found.dn })
    const { id_attribute: idAttribute, roles: settings, name: provider } = directory
    const [id] = found.values.get(idAttribute.toLowerCase()) ?? []
    if (id === undefined || id === '') return `the entry has no ${idAttribute}`
    const values = found.values.get(settings.attribute.toLowerCase()) ?? []
    const roles = rolesOf(settings, [...values, ...groups], comparableName)
    if (roles.length === 0) return 'no role for any of the groups'
    // Qualified by the directory: another directory or the users collection may have the same id.
    return { id: `ldap:${provider}:${id.toLowerCase()}`, name: id, roles }
  })
}

/** The entry that the directory authenticates, or why it does not. */
async function entryOf(
  directory: LdapSettings,
  service: Service | undefined,
  connection: LdapConnection,
  { username, password }: Credentials,
): Promise<LdapEntry | string> {
  const attributes = [directory.id_attribute, directory.roles.attribute]
  const { user_dn: template, base_dn: baseDn = '' } = directory
  if (template !== undefined) {
    const dn = filledIn(template, { username: escapedInName(username) })
    if (!(await connection.bind(dn, password))) return 'password, or no such user'
    const query = { scope: 'base', filter: '(objectClass=*)', attributes, entriesMax: 2 } as const
    const [entry] = await connection.search(dn, query)
    return entry ?? 'the entry cannot be read by its user'
  }
  await bindAsService(service, connection)
  const filter = filledIn(directory.user_filter, { username: escapedInFilter(username) })
  const found = await connection.search(baseDn, { scope: 'sub', filter, attributes, entriesMax: 2 })
  const [entry, second] = found
  if (entry === undefined || second !== undefined || entry.dn === '') {
    // Takes the same time as for an existing user.
    await connection.bind(`cn=nobody-${randomBytes(8).toString('hex')},${baseDn}`, password)
    return second === undefined ? 'no such user' : 'more than one entry matches'
  }
  return (await connection.bind(entry.dn, password)) ? entry : 'password'
}

/** DNs of the groups whose entries list the user, if groups are configured that way. */
async function groupsOf(
  { roles: { groups } }: LdapSettings,
  service: Service | undefined,
  connection: LdapConnection,
  { username, dn }: { username: string; dn: string },
): Promise<string[]> {
  if (groups === undefined) return []
  await bindAsService(service, connection)
  const names = { username: escapedInFilter(username), dn: escapedInFilter(dn) }
  const filter = filledIn(groups.filter, names)
  const query = { scope: 'sub', filter, attributes: ['1.1'], entriesMax: GROUPS_MAX } as const
  return (await connection.search(groups.base_dn, query)).map((group) => group.dn)
}

/** Without a service account the connection keeps its current identity. */
async function bindAsService(
  service: Service | undefined,
  connection: LdapConnection,
): Promise<void> {
  if (service === undefined) return
  if (await connection.bind(service.dn, service.password)) return
  throw new LdapUnavailableError('the directory refuses bind_dn')
}

/** Substituted values may contain placeholders themselves: a single pass does not expand them. */
function filledIn(template: string, names: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (all, name: string) =>
    Object.hasOwn(names, name) ? (names[name] ?? all) : all,
  )
}

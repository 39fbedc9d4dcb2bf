/** `tollgate user list`, `add`, `password`, `remove`: users of the control plane. */
import { type AuditEntry, appendAudit } from '../catalog/audit/audit.ts'
import type { RawDocument } from '../catalog/compile/document.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { UserDocument } from '../catalog/entities/user.ts'
import { DuplicateEntityError, EntityConflictError } from '../catalog/errors.ts'
import type { ChangeStores } from '../catalog/revisions/entity-changes.ts'
import { validAt } from '../catalog/revisions/validity.ts'
import type { Config } from '../config/schema.ts'
import { FieldError } from '../domain/fields.ts'
import { FOREVER_MS } from '../domain/time.ts'
import {
  checkNotLast,
  checkRoles,
  checkUserName,
  isAdmin,
  passwordFields,
  passwordTerms,
} from '../entities/rules/users.ts'
import { generatedPassword } from '../identity/first-admin.ts'
import { removePasswordFile } from '../identity/password-file.ts'
import { changeUser, type RecordedBy, writeUser } from '../identity/user-write.ts'
import { ApiError } from '../requests/errors.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { readBytes } from './document-file.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalList } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Lists the current users. */
export async function listUsers(shell: Shell, options: OptionValues): Promise<0> {
  const shown = await onCatalog(shell, async (catalog) => {
    const users = await catalog.users
      .find(validAt(systemClock.nowMs()))
      .sort({ username: 1 })
      .toArray()
    const enrolled = await catalog.secondfactors
      .find({ secret: { $ne: null } }, { projection: { _id: 1 } })
      .toArray()
    const ids = new Set(enrolled.map(({ _id: id }) => id))
    return users.map((user) => ({ ...userJson(user), totp: ids.has(user._id.toHexString()) }))
  })
  if (options['json'] === true) {
    shell.print(JSON.stringify(shown))
    return 0
  }
  if (shown.length === 0) shell.print('there are no users')
  else {
    const rows = shown.map((user) => [
      user.username,
      user.roles.join(' '),
      user.last_login ?? 'never',
      user.password,
      user.totp ? 'yes' : 'no',
    ])
    for (const line of aligned([['name', 'roles', 'last login', 'password', 'totp'], ...rows]))
      shell.print(line)
  }
  return 0
}

export async function addUser(shell: Shell, username: string, options: OptionValues): Promise<0> {
  const roles = optionalList(options, 'role')
  if (roles === undefined) throw new UsageError('--role is missing')
  const { password, isGiven } = await passwordOf(shell, options)
  await onCatalog(shell, async (catalog) => {
    checkUserName({ username })
    const nowMs = systemClock.nowMs()
    await checkRoles({ roles }, { catalog, nowMs })
    await catalog.ensureIndexes()
    const now = new Date(nowMs)
    const period = { from: now, to: new Date(FOREVER_MS), creation_time: now }
    const fields = await enteredPassword(password, username, options, { catalog, nowMs })
    const user = { username, roles, ...fields, ...period }
    const by = recordedAs('create', username, { new: { username, roles } })
    await catalog.transaction('add a user', (session) =>
      writeUser(storesOf(catalog), session, 'insert', user, by),
    )
  })
  printPassword(shell, username, password, isGiven)
  return 0
}

export async function setPassword(
  shell: Shell,
  username: string,
  options: OptionValues,
): Promise<0> {
  const { password, isGiven } = await passwordOf(shell, options)
  await onCatalog(shell, async (catalog, { data }) => {
    const nowMs = systemClock.nowMs()
    const user = await userNamed(catalog, username, nowMs)
    const fields = await enteredPassword(password, username, options, { catalog, nowMs })
    const change = (document: RawDocument) => ({ ...document, ...fields })
    const by = recordedAs('changepassword', username)
    await changeUser(storesOf(catalog), user._id.toHexString(), change, by)
    const log = createLogger({ name: 'cli', level: 'silent' })
    if (user.password_generated === true) await removePasswordFile(data.dir, log)
  })
  printPassword(shell, username, password, isGiven)
  return 0
}

/** Removes the second factors of all users of that name, internal and from directories. */
export async function resetTotp(shell: Shell, username: string): Promise<0> {
  await onCatalog(shell, async (catalog) => {
    await catalog.transaction('remove a second factor', async (session) => {
      const { deletedCount } = await catalog.secondfactors.deleteMany({ username }, { session })
      if (deletedCount === 0) throw new CommandError(`${username} has no second factor`)
      const { actor, entry } = recordedAs('totp_reset', username)
      appendAudit(session, actor, systemClock.nowMs(), entry)
    })
  })
  shell.print(`${username} has no second factor any more`)
  return 0
}

export async function removeUser(shell: Shell, username: string): Promise<0> {
  await onCatalog(shell, async (catalog) => {
    await catalog.transaction('remove a user', async (session) => {
      const nowMs = systemClock.nowMs()
      const user = (await userNamed(catalog, username, nowMs)) as unknown as RawDocument
      if (isAdmin(user)) await checkNotLast(user, { catalog, nowMs })
      const deleted = { ...user, deleted: true, deleted_at: new Date(nowMs) }
      const by = recordedAs('delete', username, { old: { username, roles: user['roles'] } })
      await writeUser(storesOf(catalog), session, 'replace', deleted, by)
      await catalog.secondfactors.deleteOne({ _id: user._id.toHexString() }, { session })
    })
  })
  shell.print(`removed ${username}`)
  return 0
}

/** Reads one line of standard input, or generates a password. */
async function passwordOf(
  shell: Shell,
  options: OptionValues,
): Promise<{ password: string; isGiven: boolean }> {
  if (options['password-stdin'] !== true) return { password: generatedPassword(), isGiven: false }
  const text = (await readBytes(shell, '-')).toString('utf8').replace(/\r?\n$/, '')
  if (text === '') throw new CommandError('there is no password on standard input')
  if (/[\r\n]/.test(text)) throw new CommandError('the password must be one line')
  return { password: text, isGiven: true }
}

function printPassword(shell: Shell, username: string, password: string, isGiven: boolean): void {
  if (isGiven) {
    shell.print(`${username} has the given password`)
    return
  }
  shell.print(`The password of ${username}, which is not shown again:`)
  shell.print(password)
}

async function enteredPassword(
  password: string,
  username: string,
  options: OptionValues,
  lookups: { catalog: Catalog; nowMs: number },
) {
  const { change_given: isRequired } = await passwordTerms(lookups)
  const mustChange = isRequired || options['must-change'] === true
  return passwordFields(password, username, lookups, mustChange)
}

async function userNamed(catalog: Catalog, username: string, nowMs: number): Promise<UserDocument> {
  const found = await catalog.users.findOne({ username, ...validAt(nowMs) })
  if (found === null) throw new CommandError(`there is no user ${username}`)
  return found
}

function userJson(user: UserDocument) {
  const { username, roles, last_login: lastLogin } = user
  const isGenerated = user.password_generated === true
  const state = user.must_change_password === true ? 'must be changed' : 'set'
  return {
    username,
    roles,
    last_login: lastLogin?.toISOString() ?? null,
    password: isGenerated ? 'generated' : state,
  }
}

function recordedAs(
  type: string,
  key: string,
  values: Pick<AuditEntry, 'old' | 'new'> = {},
): RecordedBy {
  return { actor: operator(), entry: { collection: 'users', type, key, ...values } }
}

function storesOf(catalog: Catalog): ChangeStores {
  return { catalog, clock: systemClock }
}

/** Errors in names or passwords become a `CommandError`. */
async function onCatalog<T>(
  shell: Shell,
  act: (catalog: Catalog, config: Config) => Promise<T>,
): Promise<T> {
  const config = shell.config()
  try {
    return await withCatalog(config, (catalog) => act(catalog, config))
  } catch (error) {
    const isExpected =
      error instanceof ApiError ||
      error instanceof FieldError ||
      error instanceof DuplicateEntityError ||
      error instanceof EntityConflictError
    throw isExpected ? new CommandError(error.message, { cause: error }) : error
  }
}

/** Initial user of an installation. */
import { randomInt } from 'node:crypto'
import type { Catalog } from '../../catalog/connection.ts'
import { DuplicateEntityError } from '../../catalog/errors.ts'
import { writeEntity } from '../../catalog/revisions/write.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { NOT_DELETED, validAt } from '../entities/rules/lookups.ts'
import type { AuthDeps } from './auth-deps.ts'
import { removePasswordFile, writePasswordFile } from './password-file.ts'
import type { Passwords } from './passwords.ts'

export interface FirstAdminDeps extends Pick<AuthDeps, 'catalog' | 'clock' | 'audit' | 'log'> {
  readonly passwords: Passwords
  readonly dataDir: string
}

export interface FirstAdmin {
  readonly username: string
  readonly password: string
  /** File that contains the password. */
  readonly path: string
}

const USERNAME = 'admin'
const ROLES = ['read', 'write', 'admin'] as const
/** The node itself as the actor. */
const NODE = { by: 'node', id: '', name: '', address: '' } as const

/**
 * Creates the user `admin` if there is no user, with a generated password that is returned once and
 * stored in a file. Null if there are users; if several processes start concurrently, one creates
 * the user and the others get null. Removes the file if its password is no longer valid. Rejects
 * with `CatalogUnavailableError`, or with the I/O error if the file cannot be written; the user is
 * removed in that case.
 */
export async function ensureFirstAdmin(deps: FirstAdminDeps): Promise<FirstAdmin | null> {
  const { catalog, clock, dataDir, log } = deps
  const any = await catalog.run('find users', () => catalog.users.findOne(NOT_DELETED))
  if (any !== null) {
    const isOver = !(await hasGeneratedPassword(catalog, clock.nowMs()))
    if (isOver) await removePasswordFile(dataDir, log)
    return null
  }
  // Without the unique index, two processes could both insert an admin.
  await catalog.ensureIndexes()
  const password = generatedPassword()
  const id = await insertFirstAdmin(deps, await deps.passwords.hash(password))
  if (id === null) return null
  try {
    const path = await writePasswordFile(dataDir, password)
    const what = { collection: 'users', type: 'create', key: USERNAME, new: { roles: ROLES } }
    await deps.audit.record(NODE, clock.nowMs(), what)
    log.info({ user: USERNAME, path }, 'created the first user')
    return { username: USERNAME, password, path }
  } catch (error) {
    await catalog.run('remove the first user', () => catalog.users.deleteOne({ _id: id }))
    throw error
  }
}

/** Null if another process has created the user. */
async function insertFirstAdmin({ catalog, clock }: FirstAdminDeps, hash: string) {
  const now = new Date(clock.nowMs())
  const user = {
    username: USERNAME,
    roles: ROLES,
    password: hash,
    password_generated: true,
    must_change_password: true,
    password_changed_at: now,
    from: now,
    to: new Date(FOREVER_MS),
    creation_time: now,
  }
  try {
    const options = { mode: 'insert', timeZone: 'UTC' } as const
    const stored = await writeEntity(catalog, 'users', user, options)
    return stored._id
  } catch (error) {
    if (error instanceof DuplicateEntityError) return null
    throw error
  }
}

/** Whether a user still has the password generated at the first start. */
export async function hasGeneratedPassword(catalog: Catalog, nowMs: number): Promise<boolean> {
  const filter = { password_generated: true, ...validAt(nowMs) }
  const found = await catalog.run('find a generated password', () =>
    catalog.users.findOne(filter, { projection: { _id: 1 } }),
  )
  return found !== null
}

/** Without 0, o, 1, i and l, which are easily confused. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 5
const GROUP_LETTERS = 4

/** `abcd-efgh-...`: 99 bits, easy to type. */
export function generatedPassword(): string {
  const letter = () => LETTERS.charAt(randomInt(LETTERS.length))
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

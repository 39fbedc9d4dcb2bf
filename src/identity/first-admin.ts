/** Initial user of an installation. */
import { randomInt } from 'node:crypto'
import { appendAudit } from '../catalog/audit/audit.ts'
import type { ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { NOT_DELETED, validAt } from '../catalog/revisions/validity.ts'
import { FOREVER_MS } from '../domain/time.ts'
import type { AuthDeps } from './auth-deps.ts'
import { removePasswordFile, writePasswordFile } from './password-file.ts'
import type { Passwords } from './passwords.ts'
import { writeUser } from './user-write.ts'

export interface FirstAdminDeps extends Pick<AuthDeps, 'catalog' | 'clock' | 'log'> {
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
  const any = await catalog.users.findOne(NOT_DELETED)
  if (any !== null) {
    const isOver = !(await hasGeneratedPassword(catalog, clock.nowMs()))
    if (isOver) await removePasswordFile(dataDir, log)
    return null
  }
  await catalog.ensureIndexes()
  const password = generatedPassword()
  const id = await insertFirstAdmin(deps, await deps.passwords.hash(password))
  if (id === null) return null
  try {
    const path = await writePasswordFile(dataDir, password)
    log.info({ user: USERNAME, path }, 'created the first user')
    return { username: USERNAME, password, path }
  } catch (error) {
    await removeFirstAdmin(deps, id)
    throw error
  }
}

const ENTRY = { collection: 'users', key: USERNAME } as const

/** Null if another process has created the user. */
function insertFirstAdmin(deps: FirstAdminDeps, hash: string): Promise<ObjectId | null> {
  const { catalog, clock } = deps
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
  const entry = { ...ENTRY, type: 'create', new: { roles: ROLES } }
  return catalog.transaction('create the first user', async (session) => {
    const any = await catalog.users.findOne(NOT_DELETED)
    if (any !== null) return null
    const { _id: id } = await writeUser(deps, session, 'insert', user, { actor: NODE, entry })
    return id
  })
}

async function removeFirstAdmin({ catalog, clock }: FirstAdminDeps, id: ObjectId): Promise<void> {
  await catalog.transaction('remove the first user', async (session) => {
    await catalog.users.deleteOne({ _id: id }, { session })
    const entry = { ...ENTRY, type: 'delete', old: { roles: ROLES } }
    appendAudit(session, NODE, clock.nowMs(), entry)
  })
}

/** Whether a user still has the password generated at the first start. */
export async function hasGeneratedPassword(catalog: Catalog, nowMs: number): Promise<boolean> {
  const filter = { password_generated: true, ...validAt(nowMs) }
  const found = await catalog.users.findOne(filter, { projection: { _id: 1 } })
  return found !== null
}

/** Leaves out 0, o, 1, i and l, which are easily confused. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const GROUPS = 5
const GROUP_LETTERS = 4

/** `abcd-efgh-...`: 99 bits, easy to type. */
export function generatedPassword(): string {
  const letter = () => LETTERS.charAt(randomInt(LETTERS.length))
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('')
  return Array.from({ length: GROUPS }, group).join('-')
}

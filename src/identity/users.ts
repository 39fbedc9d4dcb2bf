/** Current users of the users collection. */
import { createHash } from 'node:crypto'
import { ObjectId } from '../catalog/collections.ts'
import type { UserDocument } from '../catalog/entities/user.ts'
import { validAt } from '../catalog/revisions/validity.ts'
import { SECURITY } from '../catalog/settings/access/security-settings.ts'
import type { AuthDeps } from './auth-deps.ts'
import type { CurrentUser, UserCheck } from './checks.ts'
import { isEnrolled } from './totp/factors.ts'

export interface StoredUser extends CurrentUser {
  readonly passwordHash: string
  /** Null if the user has never logged in. */
  readonly lastLoginMs: number | null
}

/** Each rejects with `CatalogUnavailableError`. Null if there is no such user now. */
export interface Users {
  byName(username: string): Promise<StoredUser | null>
  byId(id: string): Promise<StoredUser | null>
  /** Cached for at most half a second. */
  readonly check: UserCheck
  /** Whether one of the roles requires a second factor that the user does not have. */
  mustEnrolTotp(id: string, roles: readonly string[]): Promise<boolean>
  /** Drops the cached user. */
  forget(id: string): void
}

/** Upper bound on how long a deleted user, or one with fewer roles, keeps access. */
const CACHED_MS = 500
/** Far more than the number of concurrent users. */
const CACHED_MAX = 1000

export function createUsers({
  catalog,
  clock,
  settings,
}: Pick<AuthDeps, 'catalog' | 'clock' | 'settings'>): Users {
  const cached = new Map<string, { user: CurrentUser; readMs: number }>()
  const mustEnrolTotp = async (id: string, roles: readonly string[]) => {
    const { required_roles: required } = (await settings.get(SECURITY)).totp
    if (!required.some((role) => roles.includes(role))) return false
    const found = await catalog.secondfactors.findOne({ _id: id }, { projection: { secret: 1 } })
    return !isEnrolled(found)
  }
  const find = async (filter: object): Promise<StoredUser | null> => {
    const valid = validAt(clock.nowMs())
    const found = await catalog.users.findOne({ ...filter, ...valid })
    if (found === null) return null
    const user = storedUserOf(found)
    return { ...user, mustEnrolTotp: await mustEnrolTotp(user.id, user.roles) }
  }
  const byId = async (id: string) =>
    /^[0-9a-f]{24}$/.test(id) ? find({ _id: new ObjectId(id) }) : null
  return {
    byName: (username) => find({ username }),
    byId,
    mustEnrolTotp,
    async check(id) {
      const readMs = clock.nowMs()
      const last = cached.get(id)
      if (last !== undefined && Math.abs(readMs - last.readMs) < CACHED_MS) return last.user
      const user = await byId(id)
      cached.delete(id)
      if (user === null) return null
      const [oldest] = cached.keys()
      if (oldest !== undefined && cached.size >= CACHED_MAX) cached.delete(oldest)
      cached.set(id, { user, readMs })
      return user
    },
    forget: (id) => {
      cached.delete(id)
    },
  }
}

function storedUserOf(document: UserDocument): Omit<StoredUser, 'mustEnrolTotp'> {
  const { _id: id, username, roles, password, last_login: lastLogin } = document
  return {
    id: id.toHexString(),
    name: username,
    roles,
    mustChangePassword: document.must_change_password === true,
    hasGeneratedPassword: document.password_generated === true,
    passwordMark: createHash('sha256').update(password).digest('base64url').slice(0, 22),
    passwordHash: password,
    lastLoginMs: lastLogin?.getTime() ?? null,
  }
}

/** Protocol `internal`: users of the users collection and their passwords. */
import { normalPassword } from '../password-rules.ts'
import type { Passwords } from '../passwords.ts'
import type { StoredUser, Users } from '../users.ts'

/** Null if no user has this name and password; the check takes the same time. */
export async function internalLogin(
  { users, passwords }: { users: Pick<Users, 'byName'>; passwords: Passwords },
  username: string,
  password: string,
): Promise<StoredUser | null> {
  const user = await users.byName(username)
  const isRight = await passwords.isRight(normalPassword(password), user?.passwordHash ?? null)
  return isRight ? user : null
}

/** `tollgate user unlock`: lets a user log in again after too many failed attempts. */
import { validAt } from '../catalog/revisions/validity.ts'
import { unlockAccount } from '../identity/attempts.ts'
import { accountOf } from '../identity/login.ts'
import { systemClock } from '../runtime/clock.ts'
import { AUTH_KEYS, openExpiringKeys } from '../store/expiring.ts'
import { CommandError } from './errors.ts'
import { recordByOperator } from './operator.ts'
import { type OptionValues, optionalText } from './options.ts'
import type { Shell } from './shell.ts'
import { connectStores, outageAsCommandError } from './stores.ts'

const INTERNAL = 'internal'

/** Users of an external directory are unknown here, so any name is accepted for them. */
export async function unlockUser(
  shell: Shell,
  username: string,
  options: OptionValues,
): Promise<0> {
  const protocol = (optionalText(options, 'protocol') ?? INTERNAL).toLowerCase()
  const config = shell.config()
  const stores = await connectStores(config)
  const { catalog, redis } = stores
  try {
    if (protocol === INTERNAL) {
      const filter = { username, ...validAt(systemClock.nowMs()) }
      const found = await catalog.users.findOne(filter)
      if (found === null) throw new CommandError(`there is no user ${username}`)
    }
    // Recorded first: no unlock without an audit record.
    const entry = { collection: 'users', type: 'unlock', key: username, new: { protocol } }
    await recordByOperator(catalog, entry)
    const keys = openExpiringKeys(redis, AUTH_KEYS)
    await unlockAccount(keys, accountOf(protocol, username))
  } catch (error) {
    throw outageAsCommandError(error)
  } finally {
    await stores.close()
  }
  shell.print(`unlocked ${username}`)
  return 0
}

/** Who uses the command line, as it is written down. */
import { userInfo } from 'node:os'
import type { Actor } from '../catalog/actor.ts'

/** The user of the machine; without a name where the machine knows none. */
export function operator(): Actor {
  return { by: 'cli', id: '', name: nameOfUser(), address: '' }
}

function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    // In a container a process may run as a user that nobody has named.
    return ''
  }
}

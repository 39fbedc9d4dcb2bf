/**
 * Reads the profiles that a batch lacks together, from the entities of the node or from a customer
 * system.
 */
import { joinProfiles, type ProfileParts } from '../catalog/feed/profiles.ts'
import type { PoolCheck } from '../rating/pool-check.ts'
import { batched } from './batched.ts'
import type { CustomerSystem } from './customers/customer-system.ts'
import type { ProfileQuery, ProfileReader, ReadProfile } from './profiles.ts'

/** Maximum number of profiles per read: those of a few batches, within the limits of MongoDB. */
const PROFILES_READ_MAX = 256

/** The pool is read only for profiles that need it, because it requires the whole account. */
export function createProfileReader(
  stored: ProfileParts,
  needsPool: PoolCheck,
  customers: Pick<CustomerSystem, 'parts' | 'ageLimits'>,
): ProfileReader {
  const readAll = async (queries: readonly ProfileQuery[]) => {
    const { ageLimits } = customers
    const found = await joinProfiles(customers.parts(stored), queries, needsPool)
    if (ageLimits === undefined) return found
    return found.map((one) => (one === null || one instanceof Error ? one : { ...one, ageLimits }))
  }
  return batched<ProfileQuery, ReadProfile | null>(readAll, PROFILES_READ_MAX)
}

/** Who uses the command line, and what is recorded of it. */
import { userInfo } from 'node:os'
import type { Actor } from '../catalog/actor.ts'
import { type AuditEntry, createAudit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import { writeStoredConfig } from '../catalog/settings/stored-config.ts'
import { systemClock } from '../runtime/clock.ts'

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

/** Rejects with `CatalogUnavailableError`: then what was done is done all the same. */
export async function recordByOperator(catalog: Catalog, entry: AuditEntry): Promise<void> {
  await createAudit(catalog).record(operator(), systemClock.nowMs(), entry)
}

/** Changes a category of the stored configuration, as `writeStoredConfig` does, and records it. */
export async function writeConfigByOperator(
  catalog: Catalog,
  category: Parameters<typeof writeStoredConfig>[1],
  change: (value: unknown) => unknown,
): Promise<void> {
  let old: unknown
  const changed = (value: unknown) => {
    old = value
    return change(value)
  }
  const by = { nowMs: systemClock.nowMs(), by: 'cli' }
  const value = await writeStoredConfig(catalog, category, changed, by)
  await recordByOperator(catalog, {
    collection: 'settings',
    type: 'set',
    key: category,
    old,
    new: value,
  })
}

/** The operator of the command line, and the audit records of commands. */
import { userInfo } from 'node:os'
import type { Actor } from '../catalog/actor.ts'
import { type AuditEntry, createAudit } from '../catalog/audit/audit.ts'
import type { Catalog } from '../catalog/connection.ts'
import { writeStoredConfig } from '../catalog/settings/stored-config.ts'
import { systemClock } from '../runtime/clock.ts'

/** The operating-system user; without a name if it has none. */
export function operator(): Actor {
  return { by: 'cli', id: '', name: nameOfUser(), address: '' }
}

function nameOfUser(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user id may have no name.
    return ''
  }
}

/** Rejects with `CatalogUnavailableError`; the change itself is not rolled back then. */
export async function recordByOperator(catalog: Catalog, entry: AuditEntry): Promise<void> {
  await createAudit(catalog).record(operator(), systemClock.nowMs(), entry)
}

/**
 * Changes a category of the stored configuration like `writeStoredConfig`, and records the change.
 */
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

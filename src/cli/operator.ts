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

/** Records what is not part of a transaction. Rejects with `CatalogUnavailableError`. */
export async function recordByOperator(catalog: Catalog, entry: AuditEntry): Promise<void> {
  await createAudit(catalog).record(operator(), systemClock.nowMs(), entry)
}

/** Changes a category like `writeStoredConfig`, and records the change. */
export async function writeConfigByOperator<Value>(
  catalog: Catalog,
  category: Parameters<typeof writeStoredConfig>[1],
  change: (value: unknown) => Value,
  entry = (old: unknown, value: unknown): AuditEntry => {
    return { collection: 'settings', type: 'set', key: category, old, new: value }
  },
): Promise<Value> {
  const by = { nowMs: systemClock.nowMs(), by: 'cli', audit: { actor: operator(), entry } }
  return writeStoredConfig(catalog, category, change, by)
}

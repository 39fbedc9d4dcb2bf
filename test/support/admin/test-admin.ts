import { type Admin, type AdminOptions, startAdmin } from '../../../src/admin/start.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { silent, type TestStores } from '../recorder/accounts.ts'

/** For an admin that records, too. */
export const QUICK_RECORDER = {
  TOLLGATE_RECORDER_ENABLED: 'true',
  TOLLGATE_RECORDER_BLOCK_MS: '20',
}

/** An admin on these stores, open to loopback without a login and without a recorder. */
export function startTestAdmin(
  { environment }: TestStores,
  env: Record<string, string> = {},
  more: Partial<AdminOptions> = {},
): Promise<Admin> {
  const open = { TOLLGATE_ADMIN_PORT: '0', TOLLGATE_ADMIN_OPEN_TO: 'loopback' }
  const all = { ...environment, ...open, TOLLGATE_RECORDER_ENABLED: 'false', ...env }
  const metrics = createMetrics({ node: 'test', role: 'admin' })
  const config = loadConfig({ env: all })
  return startAdmin({ config, log: silent, metrics, clock: systemClock, ...more })
}

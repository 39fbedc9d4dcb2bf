/** Removes expired files of reports. */
import type { Removal } from '../jobs/retention/removal.ts'
import { createReportFiles } from './files.ts'

const FILES_BATCH = 100

export async function removeReports(removal: Removal): Promise<void> {
  const { config, clock, signal, removeBatch } = removal
  const files = createReportFiles(config)
  while (!signal.aborted) {
    const removed = await files.removeExpired(clock.nowMs(), FILES_BATCH)
    if (removed === 0) return
    await removeBatch(async () => removed)
  }
}

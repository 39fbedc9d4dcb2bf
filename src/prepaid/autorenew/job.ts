/** The standing job that charges auto-renewals when they are due. */
import { NODE_ACTOR } from '../../catalog/actor.ts'
import { beginJob } from '../../jobs/jobs.ts'
import type { JobHandler } from '../../jobs/runner.ts'
import { chargeDueRenewals, type RenewalParts } from './due.ts'

const STANDING_MS = 10_000

/** Begins the standing job, unless there is one. */
export async function beginRenewals(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  await beginJob(stores, { kind: 'autorenew', subject: 'due', options: {}, actor: NODE_ACTOR })
}

export function renewalsHandler(parts: RenewalParts): JobHandler {
  const { clock } = parts
  return async (claimed, signal) => {
    await chargeDueRenewals(parts, clock.nowMs(), signal, async (charged) => {
      claimed.count('charged', charged)
      await claimed.saveProgress('charge')
    })
    return clock.nowMs() + (signal.aborted ? 0 : STANDING_MS)
  }
}

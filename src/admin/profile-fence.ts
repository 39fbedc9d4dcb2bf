import type { ProfileFence } from '../catalog/revisions/write.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'

/** Fence of subscriber profiles, stored in the ledger. */
export function profileFenceOf(ledger: Ledger, clock: Clock): ProfileFence {
  return {
    begin: async ({ aid, sid }) => {
      await ledger.raiseFence(aid, sid, true, clock.nowMs())
    },
    end: async ({ aid, sid }) => {
      await ledger.raiseFence(aid, sid, false, clock.nowMs())
    },
  }
}

/** Session ids that turn out to be at home already. */
import { plainOutcome } from '../domain/charge-outcome.ts'
import { findAnswer, misfit } from '../domain/replay.ts'
import { type Home, homeText, type Ledger } from '../ledger/ledger.ts'
import { CorruptValueError } from '../ledger/owner-packing.ts'
import type { Item } from './account-work.ts'

export interface ClaimResolver {
  /**
   * Settles what becomes of the items that claimed this session id. A session that lives in another
   * account answers them there; otherwise they may take the id over. Items that were answered leave
   * the list.
   */
  resolve(items: Item[], claim: { sessionKey: string; home: Home }, nowMs: number): Promise<void>
}

export function createClaimResolver(ledger: Ledger): ClaimResolver {
  return {
    async resolve(items, { sessionKey, home }, nowMs) {
      const concerned = items.filter((item) => item.identified.sessionKey === sessionKey)
      const isElsewhere = concerned.some((item) => homeText(item) !== homeText(home))
      const session = isElsewhere ? await loadSession(ledger, home, sessionKey) : null
      const lives = session !== null && (session.state === 'open' || nowMs < session.expiresMs)
      for (const item of concerned) {
        // From now on its session is looked for, and this home may be replaced.
        item.expectedHome = homeText(home)
        if (!lives) continue
        const { request, digest } = item.identified
        const answer = findAnswer(session, request, digest)
        const problem = misfit(session, request)
        if (answer === null && problem === null) continue
        item.resolve(
          answer ?? plainOutcome(problem?.reason ?? 'sessionClosed', problem?.detail, 0, 0),
        )
        items.splice(items.indexOf(item), 1)
      }
    },
  }
}

async function loadSession(ledger: Ledger, home: Home, sessionKey: string) {
  const [loaded] = await ledger.load([{ ...home, sessionKeys: [sessionKey] }])
  if (loaded === undefined || loaded instanceof CorruptValueError) return null
  return loaded.sessions[0] ?? null
}

/** Session ids that turn out to be at home already. */
import { plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, isAmountRefund, opens } from '../domain/charge-request.ts'
import { findAnswer, misfit, OTHERS_EVENT } from '../domain/replay.ts'
import { type Claimed, type Home, homeText, type Ledger } from '../ledger/ledger.ts'
import { CorruptValueError } from '../ledger/owner-packing.ts'
import { StoreDownError } from '../store/redis.ts'
import type { Item } from './item.ts'

export interface ClaimResolver {
  /**
   * Settles what becomes of the items that claimed this session id, and of all others that claim
   * one: the ledger names only the first that is refused. A session that lives in another account
   * answers them there; otherwise they may take the id over. Items that were answered leave the
   * list.
   */
  resolve(items: Item[], refused: Claimed, nowMs: number): Promise<void>
}

export function createClaimResolver(ledger: Ledger): ClaimResolver {
  return {
    async resolve(items, refused, nowMs) {
      const claims = [refused, ...(await standingClaims(ledger, items, refused.sessionKey))]
      await Promise.all(claims.map((claim) => resolveOne(ledger, items, claim, nowMs)))
    },
  }
}

/**
 * Whether it would put its session at home with its subscriber. A refund is of an old one, unless
 * it says how much it gives back.
 */
export function isClaim(request: ChargeRequest): boolean {
  return opens(request.kind) && (!request.refund || isAmountRefund(request))
}

/** A new session id is taken for new: the directory objects if it is not. */
export function isTakenForNew({ request, expectedHome }: Item): boolean {
  return isClaim(request) && expectedHome === ''
}

async function standingClaims(
  ledger: Ledger,
  items: readonly Item[],
  refusedKey: string,
): Promise<Claimed[]> {
  const taken = items.filter(isTakenForNew).map((item) => item.sessionKey)
  const others = [...new Set(taken)].filter((sessionKey) => sessionKey !== refusedKey)
  if (others.length === 0) return []
  const homes = await ledger.findHomes(others)
  return others.flatMap((sessionKey, index) => {
    const home = homes[index] ?? null
    if (home instanceof StoreDownError) throw home
    return home === null ? [] : [{ sessionKey, home }]
  })
}

async function resolveOne(
  ledger: Ledger,
  items: Item[],
  { sessionKey, home }: Claimed,
  nowMs: number,
): Promise<void> {
  const concerned = items.filter((item) => item.sessionKey === sessionKey)
  const isElsewhere = concerned.some((item) => homeText(item) !== homeText(home))
  const session = isElsewhere ? await loadSession(ledger, home, sessionKey) : null
  const lives = session !== null && (session.state === 'open' || nowMs < session.expiresMs)
  for (const item of concerned) {
    // From now on its session is looked for, and this home may be replaced.
    item.expectedHome = homeText(home)
    if (!lives) continue
    const { request, digest } = item
    const answer = findAnswer(session, request, digest)
    const problem = request.refund ? OTHERS_EVENT : misfit(session, request)
    if (answer === null && problem === null) continue
    item.resolve(answer ?? plainOutcome(problem?.reason ?? 'sessionClosed', problem?.detail, 0, 0))
    items.splice(items.indexOf(item), 1)
  }
}

async function loadSession(ledger: Ledger, home: Home, sessionKey: string) {
  const [loaded] = await ledger.load([{ ...home, sessionKeys: [sessionKey] }])
  if (loaded === undefined || loaded instanceof CorruptValueError) return null
  return loaded.sessions[0] ?? null
}

/**
 * Loads recently used data into the caches when a thread starts, so that requests need not read it.
 */
import type { Ledger, OwnerQuery } from '../ledger/ledger.ts'
import { recentOwners } from '../ledger/recent-owners.ts'
import { type Clock, monotonicMs } from '../runtime/clock.ts'
import type { OwnerCache } from './owner-cache.ts'
import type { ProfileCache, ProfileQuery, SeenFences } from './profiles.ts'

export interface WarmUpSources {
  ledger: Ledger
  owners: OwnerCache
  profiles: Pick<ProfileCache, 'lookUp'>
  clock: Clock
}

export interface WarmUpOptions {
  /** Maximum number of subscribers. */
  ownersMax: number
  /** Time after which no further reads are started. */
  timeMs: number
  /** The identifiers by which requests may name these subscribers. */
  queriesOf: (sids: readonly number[], atMs: number) => Promise<readonly IdentifiedSubscriber[]>
}

/** One query by which a subscriber is found. */
export interface IdentifiedSubscriber {
  sid: number
  query: ProfileQuery
}

/**
 * Loads owners, their open sessions and their profiles in parts, while requests are charged.
 * Returns the number of subscribers read. Rejects if a store is unavailable.
 */
export async function warmUp(sources: WarmUpSources, options: WarmUpOptions): Promise<number> {
  const { ledger } = sources
  const { ownersMax, timeMs } = options
  if (ownersMax === 0) return 0
  const endMs = monotonicMs() + timeMs
  let read = 0
  for await (const page of recentOwners(ledger, ownersMax)) {
    if (read >= ownersMax || monotonicMs() >= endMs) break
    const part = page.slice(0, ownersMax - read)
    await warmProfiles(sources, options, await warmOwners(sources, part))
    read += part.length
  }
  return read
}

/** Caches owners that are not cached yet, since cached ones may be newer. Returns their fences. */
async function warmOwners(
  { ledger, owners }: WarmUpSources,
  queries: readonly OwnerQuery[],
): Promise<Map<number, SeenFences | null>> {
  const aids = [...new Set(queries.map(({ aid }) => aid))]
  const shared = aids.map((aid) => ({ aid, sid: 0, sessionKeys: [] }))
  const all = [...shared, ...queries]
  const replies = await ledger.loadEach(all)
  const seen = new Map<number, SeenFences | null>()
  for (const [index, { aid, sid, sessionKeys }] of all.entries()) {
    const loaded = replies[index]
    if (loaded === undefined || loaded instanceof Error) continue
    if (owners.get(aid, sid) === undefined) owners.take(loaded, sessionKeys)
    if (sid === 0) continue
    const account = owners.get(aid, 0)
    const isClean = account !== undefined && !account.fence.dirty && !loaded.fence.dirty
    const fences = {
      aid,
      sid,
      subscriber: loaded.fence.number,
      account: account?.fence.number ?? -1,
    }
    seen.set(sid, isClean ? fences : null)
  }
  return seen
}

/** Errors are ignored: the request that needs a damaged profile reports it. */
async function warmProfiles(
  { profiles, clock }: WarmUpSources,
  { queriesOf }: WarmUpOptions,
  seen: ReadonlyMap<number, SeenFences | null>,
): Promise<void> {
  const nowMs = clock.nowMs()
  const named = await queriesOf([...seen.keys()], nowMs)
  await Promise.allSettled(
    named.map(({ sid, query }) => profiles.lookUp(query, nowMs, seen.get(sid) ?? null)),
  )
}

/**
 * The spine of a worker (design.md §2, stages 5 to 7): find the session and the subscriber, rate,
 * settle, commit. Takes a batch, gives an outcome for each of its requests.
 */
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opens } from '../domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import type { Home, Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import type { Item } from './account-work.ts'
import { Homes } from './homes.ts'
import { type CachedOwner, OwnerCache } from './owner-cache.ts'
import type { PoolCheck } from './pools.ts'
import {
  type HeldProfile,
  type ProfileQuery,
  type Profiles,
  type SeenFences,
  satisfies,
} from './profiles.ts'
import { type CommonContext, type CountName, type FencedOwners, Rounds } from './rounds.ts'
import { queriesAt, type RoutedRequest, routed } from './routed.ts'
import type { RuleBook, RuleSet } from './rule-book.ts'

export interface ProcessorOptions {
  ledger: Ledger
  profiles: Profiles
  rules: Pick<RuleBook, 'of'>
  /** Looks for rules that memory does not have. */
  findRules: () => Promise<void>
  /** Whether a profile without its account's pool is not enough. */
  needsPool: PoolCheck
  clock: Clock
  context: (nowMs: number) => CommonContext
  /** False until the catalogue has been read once: an empty one would deny what is paid for. */
  isCatalogueLoaded: () => boolean
  /** Why new sessions and events are refused now; null while they are not. */
  refusal: () => string | null
  ownersCachedMax: number
  commitAttemptsMax: number
  directoryTtlMs: number
  replayMs: number
  onDefect: (error: unknown) => void
}

export interface Processor {
  process(task: WorkerTask): Promise<WorkerResult>
}

/** A profile write that died half-way is repaired after this time, ms (design.md §3). */
const DIRTY_FENCE_MS_MAX = 5_000
/** How often the slow lane reads a profile anew while its fence keeps moving. */
const PROFILE_READS_MAX = 5

/** MongoDB is away, or has other file types than the thread that decoded the request. */
const UNRULED = 'the rules of its file type are not known'

type Counts = Record<CountName, number>

const noCounts = (): Counts => ({ commits: 0, conflicts: 0, loads: 0, busy: 0, reservations: 0 })

export function createProcessor(options: ProcessorOptions): Processor {
  return new BatchProcessor(options)
}

class BatchProcessor implements Processor {
  private readonly options: ProcessorOptions
  private readonly owners: OwnerCache
  private readonly homes: Homes
  private readonly rounds: Rounds
  private counts: Counts = noCounts()

  constructor(options: ProcessorOptions) {
    const { ledger, clock, context, commitAttemptsMax, directoryTtlMs, onDefect } = options
    this.options = options
    this.owners = new OwnerCache(options.ownersCachedMax)
    ledger.onDataChanged((isAnother) => {
      this.owners.clear()
      // The fences of another epoch begin anew, so that an old profile might satisfy them.
      if (isAnother) options.profiles.clear()
    })
    this.homes = new Homes(ledger, directoryTtlMs, options.ownersCachedMax)
    this.rounds = new Rounds({
      ledger,
      owners: this.owners,
      clock,
      context,
      profileOf: (item, owners, nowMs) => this.profileOf(item, owners, nowMs),
      commitAttemptsMax,
      directoryTtl: { openMs: directoryTtlMs, closedMs: options.replayMs * 2 },
      count: (name, by) => {
        this.counts[name] += by
      },
      onDefect,
    })
  }

  async process({ requests, mayLookUp }: WorkerTask): Promise<WorkerResult> {
    const outcomes = this.refuse(requests)
    const isUnknown = ({ rules }: ChargeRequest) => this.options.rules.of(rules) === undefined
    if (mayLookUp && requests.some(isUnknown)) await this.options.findRules()
    const isRuled = requests.map((request) => !isUnknown(request))
    const admitted = requests.filter((_, index) => outcomes[index] === null && isRuled[index])
    const charged = mayLookUp ? await this.slowly(admitted) : await this.fast(admitted)
    let next = 0
    for (const [index, refused] of outcomes.entries()) {
      if (refused !== null) continue
      if (isRuled[index]) outcomes[index] = charged[next++] ?? null
      else if (mayLookUp) outcomes[index] = plainOutcome('storeDown', UNRULED)
    }
    const unruled = [...requests.keys()].filter((index) => !isRuled[index])
    if (mayLookUp) await this.settleWithout(requests, outcomes, unruled)
    const stats = this.counts
    this.counts = noCounts()
    return { outcomes, stats }
  }

  /**
   * Null for what is admitted. A start whose session is in memory is a repetition, which has its
   * answer already; whether any other start or event is one, only the store could tell.
   */
  private refuse(requests: readonly ChargeRequest[]): (ChargeOutcome | null)[] {
    const refusal = this.options.refusal()
    if (refusal === null) return requests.map(() => null)
    const nowMs = this.options.clock.nowMs()
    return requests.map((request) => {
      if (!opens(request.kind) || request.pretend) return null
      const sessionKey = sessionKeyOf(request.origin, request.sessionId)
      const isKnown = this.homes.peek(sessionKey, nowMs) !== undefined
      return isKnown ? null : plainOutcome('overloaded', refusal)
    })
  }

  /** From memory and Redis alone; null for what needs MongoDB. */
  private async fast(
    requests: ChargeRequest[],
    isProfileAway = false,
  ): Promise<(ChargeOutcome | null)[]> {
    const nowMs = this.options.clock.nowMs()
    const identified = requests.map((request) => this.route(request))
    const homes = await this.findHomes(identified, nowMs)
    const outcomes = await this.chargeAt(homes, identified, isProfileAway)
    this.rememberHomes(identified, outcomes, nowMs)
    return this.seekAgain(identified, outcomes, nowMs)
  }

  private chargeAt(
    homes: readonly (Home | ChargeOutcome | undefined)[],
    identified: readonly RoutedRequest[],
    isProfileAway = false,
  ): Promise<(ChargeOutcome | null)[]> {
    const items: Item[] = []
    const { rules } = this.options
    const answers = identified.map((entry, index) => {
      const home = homes[index]
      if (home === undefined) return null
      if (!isHome(home)) return home
      const { aid, sid } = home
      const isAway = isProfileAway || rules.of(entry.request.rules) === undefined
      return new Promise<ChargeOutcome | null>((resolve) => {
        const item = { identified: entry, aid, sid, expectedHome: '', resolve }
        items.push({ ...item, isProfileAway: isAway })
      })
    })
    this.rounds.enqueue(items)
    return Promise.all(answers)
  }

  /** A session that is not where memory has it may have been opened anew in another account. */
  private async seekAgain(
    identified: readonly RoutedRequest[],
    outcomes: (ChargeOutcome | null)[],
    nowMs: number,
  ): Promise<(ChargeOutcome | null)[]> {
    const lost = identified.flatMap((entry, index) => {
      const isLost = outcomes[index]?.reason === 'unknownSession' && !opens(entry.request.kind)
      const home = isLost ? this.homes.peek(entry.sessionKey, nowMs) : undefined
      return home === undefined ? [] : [{ entry, index, home }]
    })
    if (lost.length === 0) return outcomes
    for (const { entry } of lost) this.homes.forget(entry.sessionKey)
    const entries = lost.map(({ entry }) => entry)
    const found = await this.findHomes(entries, nowMs)
    const moved = found.map((home, position) => {
      const before = lost[position]?.home
      const isSame = home && isHome(home) && home.aid === before?.aid && home.sid === before.sid
      return isSame ? plainOutcome('unknownSession') : home
    })
    for (const [position, outcome] of (await this.chargeAt(moved, entries)).entries()) {
      outcomes[lost[position]?.index ?? 0] = outcome
    }
    return outcomes
  }

  /**
   * Where each session is at home, or why it is nowhere; undefined: its subscriber is not in
   * memory.
   */
  private async findHomes(
    identified: readonly RoutedRequest[],
    nowMs: number,
  ): Promise<(Home | ChargeOutcome | undefined)[]> {
    const unknown = new Set<string>()
    const homes = identified.map(({ request, sessionKey, queries }) => {
      if (opens(request.kind)) return this.subscriberHome(queries, nowMs)
      const home = this.homes.peek(sessionKey, nowMs)
      if (home === undefined) unknown.add(sessionKey)
      return home
    })
    if (unknown.size === 0) return homes
    const found = new Map<string, Home | ChargeOutcome>()
    try {
      const sessionKeys = [...unknown]
      for (const [index, home] of (await this.homes.find(sessionKeys)).entries()) {
        const isDown = home instanceof StoreDownError
        const nowhere = plainOutcome(isDown ? 'storeDown' : 'unknownSession')
        found.set(sessionKeys[index] ?? '', home === null || isDown ? nowhere : home)
      }
    } catch (error) {
      if (!(error instanceof StoreDownError)) throw error
      for (const sessionKey of unknown) found.set(sessionKey, plainOutcome('storeDown'))
    }
    return homes.map((home, index) => home ?? found.get(identified[index]?.sessionKey ?? ''))
  }

  private subscriberHome(
    queries: readonly ProfileQuery[],
    nowMs: number,
  ): Home | ChargeOutcome | undefined {
    if (!this.options.isCatalogueLoaded()) return plainOutcome('storeDown')
    if (queries.length === 0) return plainOutcome('unknownSubscriber')
    const held = this.peek(queries, nowMs)
    if (held === undefined) return undefined
    return held.profile ?? plainOutcome('unknownSubscriber')
  }

  /** The first that is somebody's; undefined if memory does not know it of all before, too. */
  private peek(queries: readonly ProfileQuery[], nowMs: number): HeldProfile | undefined {
    let unknown: HeldProfile | undefined
    for (const query of queries) {
      const held = this.options.profiles.peek(query, nowMs)
      if (held === undefined || held.profile !== null) return held
      unknown ??= held
    }
    return unknown
  }

  private route(request: ChargeRequest): RoutedRequest {
    const { rules } = this.options
    // Without its own it is only settled, which no rule has a part in.
    return routed(request, rules.of(request.rules) ?? (rules.of('') as RuleSet))
  }

  private rememberHomes(
    identified: readonly RoutedRequest[],
    outcomes: readonly (ChargeOutcome | null)[],
    nowMs: number,
  ): void {
    for (const [index, { request, sessionKey }] of identified.entries()) {
      const outcome = outcomes[index]
      if (outcome?.reason !== 'granted' || request.pretend) continue
      if (request.kind === 'start') this.homes.remember(sessionKey, outcome, nowMs)
      if (request.kind === 'release') this.homes.forget(sessionKey)
    }
  }

  private profileOf(
    item: Item,
    { subscriber, account }: FencedOwners,
    nowMs: number,
  ): HeldProfile | undefined {
    if (!this.options.isCatalogueLoaded()) return undefined
    if (isAbandoned(subscriber, nowMs) || isAbandoned(account, nowMs)) return undefined
    const { identified } = item
    const held = this.peek(queriesAt(identified, item), nowMs)
    if (held === undefined || !isOf(held, item, opens(identified.request.kind))) return undefined
    const { profile } = held
    if (profile?.pool === null && this.options.needsPool(profile)) return undefined
    return satisfies(held, subscriber.fence, account.fence) ? held : undefined
  }

  /** As `fast`, but what is not in memory is read from MongoDB first. */
  private async slowly(requests: ChargeRequest[]): Promise<ChargeOutcome[]> {
    const outcomes: ChargeOutcome[] = new Array(requests.length)
    let left = requests.map((_, index) => index)
    for (let read = 0; read < PROFILE_READS_MAX && left.length > 0; read += 1) {
      const failed = await Promise.all(
        left.map((index) => this.readProfile(requests[index] as ChargeRequest)),
      )
      const readable = left.filter((index, position) => {
        const failure = failed[position]
        if (failure === undefined || failure === null) return true
        outcomes[index] = failure
        return false
      })
      await this.settleWithout(requests, outcomes, left)
      const again = await this.fast(readable.map((index) => requests[index] as ChargeRequest))
      for (const [position, outcome] of again.entries()) {
        if (outcome !== null) outcomes[readable[position] as number] = outcome
      }
      left = readable.filter((_, position) => again[position] === null)
    }
    for (const index of left) outcomes[index] = plainOutcome('contention', 'profile keeps changing')
    return outcomes
  }

  /**
   * What was granted is settled, although the profile of its subscriber cannot be read, or the
   * rules by which more would be granted are not known.
   */
  private async settleWithout(
    requests: readonly ChargeRequest[],
    outcomes: (ChargeOutcome | null)[],
    tried: readonly number[],
  ): Promise<void> {
    const indexes = tried.filter((index) => {
      const isDown = outcomes[index]?.reason === 'storeDown'
      return isDown && !opens((requests[index] as ChargeRequest).kind)
    })
    if (indexes.length === 0) return
    const settled = await this.fast(
      indexes.map((index) => requests[index] as ChargeRequest),
      true,
    )
    for (const [position, outcome] of settled.entries()) {
      if (outcome !== null) outcomes[indexes[position] as number] = outcome
    }
  }

  /** Brings the profile of a request into memory; an outcome if that is not possible. */
  private async readProfile(request: ChargeRequest): Promise<ChargeOutcome | null> {
    const nowMs = this.options.clock.nowMs()
    if (!this.options.isCatalogueLoaded()) return plainOutcome('storeDown')
    try {
      const entry = this.route(request)
      const [home] = await this.findHomes([entry], nowMs)
      if (home !== undefined && !isHome(home)) return home
      // Fences that were seen before the read began are satisfied by what is read.
      const seen = home === undefined ? null : await this.fencesAt(home, nowMs)
      const queries = home === undefined ? entry.queries : queriesAt(entry, home)
      for (const query of queries) {
        const { profile } = await this.options.profiles.lookUp(query, nowMs, seen)
        if (profile !== null) return null
      }
      // What an open session has used is settled all the same.
      return opens(request.kind) ? plainOutcome('unknownSubscriber') : null
    } catch (error) {
      if (!isOutage(error)) this.options.onDefect(error)
      return plainOutcome('storeDown')
    }
  }

  /** The fences to read behind; -1 where memory has none. */
  private async fencesAt({ aid, sid }: Home, nowMs: number): Promise<SeenFences> {
    const [subscriber, account] = await Promise.all(
      [sid, 0].map((owner) => this.repair(this.owners.get(aid, owner), nowMs)),
    )
    return { aid, sid, subscriber: subscriber ?? -1, account: account ?? -1 }
  }

  /** One that a dead writer left dirty is raised first. */
  private async repair(owner: CachedOwner | undefined, nowMs: number): Promise<number> {
    if (owner === undefined) return -1
    const { aid, sid } = owner.state
    if (isAbandoned(owner, nowMs)) {
      owner.fence = await this.options.ledger.raiseFence(aid, sid, false, nowMs)
    }
    return owner.fence.number
  }
}

function isAbandoned({ fence }: CachedOwner, nowMs: number): boolean {
  return fence.dirty && nowMs - fence.changedMs > DIRTY_FENCE_MS_MAX
}

function isHome(value: Home | ChargeOutcome): value is Home {
  return !('reason' in value)
}

/** An identifier may have gone to another subscriber since the request was routed. */
function isOf({ profile }: HeldProfile, { aid, sid }: Home, isOpening: boolean): boolean {
  if (profile === null) return true
  return profile.sid === sid && (profile.aid === aid || !isOpening)
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof StoreDownError ||
    (error instanceof Error && error.name === 'CatalogUnavailableError')
  )
}

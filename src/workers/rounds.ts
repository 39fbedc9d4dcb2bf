/**
 * Rounds of settling and committing. A round takes what is waiting of every account that is not
 * under way, and needs one script call; a second one loads owners that are not in the cache, and
 * each conflict costs another. Requests of one account never overtake each other.
 */
import { present } from '../domain/assert.ts'
import { plainOutcome, type Reason } from '../domain/charge-outcome.ts'
import type { AccountCommit } from '../ledger/commit-layout.ts'
import type { Claimed, CommitReply, Ledger, OwnerWanted } from '../ledger/ledger.ts'
import { CorruptValueError } from '../ledger/owner-packing.ts'
import { chargeSession, needsProfile } from '../rating/charge-session.ts'
import type { ChargeContext } from '../rating/decision.ts'
import type { Clock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'
import { AccountDraft, type DirectoryTtl, type Item } from './account-work.ts'
import { type ClaimResolver, createClaimResolver, isTakenForNew } from './claims.ts'
import { type CachedOwner, type OwnerCache, trimSessions } from './owner-cache.ts'
import type { HeldProfile } from './profiles.ts'
import type { Account, Drafted, Work } from './work.ts'

/** `reservations`: grants that were committed, one per service. */
export type CountName = 'commits' | 'conflicts' | 'loads' | 'busy' | 'reservations'

/** The owners whose fences a profile has to satisfy. */
export interface FencedOwners {
  subscriber: CachedOwner
  account: CachedOwner
}

/** What the requests of a round have in common. */
export type CommonContext = Omit<ChargeContext, 'profile' | 'finder'>

export interface RoundsOptions {
  ledger: Ledger
  owners: OwnerCache
  clock: Clock
  /** The context of a request, without profile and rules. */
  context: (nowMs: number) => CommonContext
  /** The profile of an item if memory has one that satisfies its fences; undefined if not. */
  profileOf: (item: Item, owners: FencedOwners, nowMs: number) => HeldProfile | undefined
  commitAttemptsMax: number
  directoryTtl: DirectoryTtl
  count: (name: CountName, by: number) => void
  onDefect: (error: unknown) => void
}

/** From this attempt on a worker asks for the turn, so that it is served next. */
const TURN_FROM_ATTEMPT = 3
const BUSY_PAUSE_MS = 1
/** Requests of one account in one commit: a script can hand on only so many values at once. */
const ITEMS_PER_ROUND_MAX = 500
/** Waits for other workers' turns that one round takes before it gives up. */
const BUSY_MAX = 1000

export class Rounds {
  private readonly accounts = new Map<number, Account>()
  private ready: Account[] = []
  private readonly options: RoundsOptions
  private readonly claims: ClaimResolver

  constructor(options: RoundsOptions) {
    this.options = options
    this.claims = createClaimResolver(options.ledger)
  }

  /** Queues items; each is resolved once. Starts one round for all accounts that are free. */
  enqueue(items: readonly Item[]): void {
    for (const item of items) {
      let account = this.accounts.get(item.aid)
      if (account === undefined) {
        account = { aid: item.aid, waiting: [], isBusy: false }
        this.accounts.set(item.aid, account)
      }
      account.waiting.push(item)
      if (account.isBusy) continue
      account.isBusy = true
      this.ready.push(account)
    }
    this.startReady()
  }

  private startReady(): void {
    if (this.ready.length === 0) return
    const works = this.ready.map((account): Work => {
      const items = account.waiting.splice(0, ITEMS_PER_ROUND_MAX)
      return { account, items, attempt: 1, isEnded: false, isFresh: false, held: new Map() }
    })
    this.ready = []
    this.run(works).catch((error: unknown) => {
      this.options.onDefect(error)
      for (const work of works) this.finish(work, 'corrupt', 'defect')
    })
  }

  /** Runs works to their end: attempts until each is committed, refused or given up. */
  private async run(works: Work[]): Promise<void> {
    let left = works
    let busy = 0
    while (left.length > 0) {
      const { again, isBusy } = await this.attempt(left)
      left = again
      if (!isBusy) continue
      busy += 1
      this.options.count('busy', 1)
      if (busy >= BUSY_MAX) for (const work of left.splice(0)) this.finish(work, 'contention')
      await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS))
    }
  }

  private async attempt(works: Work[]): Promise<{ again: Work[]; isBusy: boolean }> {
    try {
      const loaded = await this.load(works)
      const again: Work[] = []
      const drafted = loaded.flatMap((work) => this.decideAlone(work, again))
      const doubtful = drafted.filter((entry) => this.isDoubtful(entry))
      again.push(...doubtful.map((entry) => this.refresh(entry.work)))
      const sound = drafted.filter((entry) => !doubtful.includes(entry))
      const writing = sound.filter((entry) => entry.commit !== null)
      await this.answer(sound.filter((entry) => entry.commit === null))
      if (writing.length === 0) return { again, isBusy: false }
      const commits = writing.map((entry) => entry.commit as AccountCommit)
      const replies = await this.options.ledger.commit(commits, this.options.clock.nowMs())
      this.options.count('commits', commits.length)
      const refused = await this.takeReplies(writing, replies)
      return { again: [...again, ...refused.again], isBusy: refused.isBusy }
    } catch (error) {
      this.fail(works, error)
      return { again: [], isBusy: false }
    }
  }

  private fail(works: readonly Work[], error: unknown): void {
    const isOutage = error instanceof StoreDownError
    if (!isOutage) this.options.onDefect(error)
    for (const work of works) {
      this.forget(work)
      this.finish(work, isOutage ? 'storeDown' : 'corrupt', isOutage ? '' : 'defect')
    }
  }

  /** Loads what the cache lacks, in one call. Works of damaged owners end here. */
  private async load(works: Work[]): Promise<Work[]> {
    const asked = works.flatMap((work) => this.missing(work).map((wanted) => ({ work, wanted })))
    if (asked.length === 0) return works
    const { ledger, owners } = this.options
    this.options.count('loads', asked.length)
    const damaged = new Set<string>()
    const replies = await ledger.loadEach(asked.map(({ wanted }) => wanted))
    for (const [index, { work, wanted }] of asked.entries()) {
      const loaded = present(replies[index], 'loaded owner')
      const { aid, sid, sessionKeys } = wanted
      if (loaded instanceof StoreDownError) this.fail([work], loaded)
      else if (loaded instanceof CorruptValueError) damaged.add(`${aid}:${sid}`)
      else work.held.set(sid, owners.take(loaded, sessionKeys))
    }
    const here = works.filter((work) => !work.isEnded)
    if (damaged.size === 0) return here
    return here.filter((work) => this.keepSound(work, damaged))
  }

  /** Ends the items of damaged owners; false if none is left. */
  private keepSound(work: Work, damaged: ReadonlySet<string>): boolean {
    const { aid } = work.account
    const isDamaged = (sid: number) => damaged.has(`${aid}:${sid}`) || damaged.has(`${aid}:0`)
    for (const item of work.items) {
      if (isDamaged(item.sid)) item.resolve(plainOutcome('corrupt', '', aid, item.sid))
    }
    work.items = work.items.filter((item) => !isDamaged(item.sid))
    if (work.items.length > 0) return true
    this.release(work)
    return false
  }

  /**
   * What has to be read. If anything of an owner has, then all that the items need of it: it may
   * have gone on since the rest was read, and what is not there would be taken for absent.
   */
  private missing(work: Work): OwnerWanted[] {
    const { owners } = this.options
    const { aid } = work.account
    const needed = new Map<number, Set<string>>([[0, new Set()]])
    for (const item of work.items) {
      const keys = needed.get(item.sid) ?? new Set()
      if (!isTakenForNew(item)) keys.add(item.identified.sessionKey)
      needed.set(item.sid, keys)
    }
    work.held.clear()
    const wanted: OwnerWanted[] = []
    for (const [sid, keys] of needed) {
      const owner = owners.get(aid, sid)
      if (owner !== undefined) work.held.set(sid, owner)
      const sessionKeys = [...keys]
      const isComplete = owner && sessionKeys.every((key) => owner.sessions.has(key))
      if (!isComplete) wanted.push({ aid, sid, sessionKeys })
    }
    return wanted
  }

  /**
   * A session that names a bucket which is not there: its owners in memory may be of different
   * times, so they are read together first. If it is a defect of the account, it ends alone.
   */
  private decideAlone(work: Work, again: Work[]): Drafted[] {
    try {
      return [this.decide(work)]
    } catch (error) {
      if (!work.isFresh) {
        again.push(this.refresh(work))
        return []
      }
      this.options.onDefect(error)
      this.forget(work)
      this.finish(work, 'corrupt')
      return []
    }
  }

  /** Decides the items of one account on its cached states. */
  private decide(work: Work): Drafted {
    const { clock, profileOf, directoryTtl } = this.options
    const nowMs = clock.nowMs()
    const base = this.options.context(nowMs)
    const shared = present(work.held.get(0), 'shared owner')
    const draft = new AccountDraft(work.account.aid, shared, directoryTtl)
    for (const item of work.items) {
      const owner = present(work.held.get(item.sid), 'owner')
      const { request, sessionKey } = item.identified
      const { subscriber, shared: account, session } = draft.state(owner, sessionKey)
      let profile: HeldProfile | null = null
      const { isProfileAway } = item
      if (needsProfile(request, session, isProfileAway)) {
        const owners = { subscriber: owner, account: shared }
        const held = isProfileAway ? undefined : profileOf(item, owners, nowMs)
        if (held === undefined) {
          draft.defer()
          continue
        }
        profile = held
      }
      const view = { subscriber, account, session }
      const { finder } = item.identified.rules
      const context = { ...base, finder, profile: profile?.profile ?? null }
      const decision = chargeSession(view, item.identified, context)
      draft.add(item, owner, decision, profile)
    }
    return { work, draft, commit: draft.commit(work.attempt >= TURN_FROM_ATTEMPT) }
  }

  /** A request that does not fit its session, by a cached state that no commit will compare. */
  private isDoubtful({ work, draft }: Drafted): boolean {
    return !work.isFresh && draft.hasMisfit()
  }

  private refresh(work: Work): Work {
    this.forget(work)
    work.isFresh = true
    return work
  }

  /** What writes nothing is true already, but perhaps not yet on the replicas. */
  private async answer(read: readonly Drafted[]): Promise<void> {
    const { confirm } = this.options.ledger
    const confirmed = confirm && (await confirm(read.map(({ work }) => work.account.aid)))
    for (const [index, entry] of read.entries()) {
      const outage = confirmed?.[index] ?? null
      if (outage === null) this.accept(entry)
      else this.fail([entry.work], outage)
    }
  }

  private accept({ work, draft, commit }: Drafted): void {
    if (commit !== null) {
      draft.accept(commit)
      this.options.count('reservations', draft.reservations)
    }
    for (const [index, item] of work.items.entries()) item.resolve(draft.outcomes[index] ?? null)
    this.release(work)
  }

  private async takeReplies(
    writing: readonly Drafted[],
    replies: readonly CommitReply[],
  ): Promise<{ again: Work[]; isBusy: boolean }> {
    const again: Work[] = []
    let isBusy = false
    for (const [index, entry] of writing.entries()) {
      if (replies[index]?.kind === 'committed') this.accept(entry)
    }
    for (const [index, entry] of writing.entries()) {
      const reply = present(replies[index], 'reply')
      if (reply.kind === 'committed') continue
      isBusy ||= reply.kind === 'busy'
      try {
        again.push(...(await this.refused(entry, reply)))
      } catch (error) {
        this.fail([entry.work], error)
      }
    }
    return { again, isBusy }
  }

  /** What is to be tried again after a commit that wrote nothing. */
  private async refused({ work, commit }: Drafted, reply: CommitReply): Promise<Work[]> {
    switch (reply.kind) {
      case 'busy':
        if (reply.claim !== null) await this.resolveClaim(work, reply.claim)
        return [work]
      case 'conflict':
        this.options.count('conflicts', 1)
        this.takeConflict(commit as AccountCommit, reply)
        work.isFresh = false
        break
      case 'claimed':
        await this.resolveClaim(work, reply)
        break
      case 'down':
        this.fail([work], reply.error)
        return []
      default:
        return this.split(work)
    }
    work.attempt += 1
    if (work.attempt <= this.options.commitAttemptsMax) return [work]
    this.finish(work, 'contention')
    return []
  }

  private resolveClaim(work: Work, claim: Claimed): Promise<void> {
    return this.claims.resolve(work.items, claim, this.options.clock.nowMs())
  }

  private takeConflict(
    commit: AccountCommit,
    { shared, owners }: Extract<CommitReply, { kind: 'conflict' }>,
  ): void {
    this.options.owners.take(shared, [])
    for (const [index, loaded] of owners.entries()) {
      const written = commit.owners[index]?.sessions ?? []
      const sessionKeys = written.map((session) => session.sessionKey)
      this.options.owners.take(loaded, sessionKeys)
    }
  }

  /**
   * A damaged owner fails alone: reading it again shows which it is. Where it does not, the
   * subscribers of the account are tried one by one.
   */
  private split(work: Work): Work[] {
    if (!work.isFresh) return [this.refresh(work)]
    const sids = new Set(work.items.map((item) => item.sid))
    this.forget(work)
    if (sids.size <= 1) {
      this.finish(work, 'corrupt')
      return []
    }
    const parts = [...sids].map((sid): Work => {
      const items = work.items.filter((item) => item.sid === sid)
      const account = { aid: work.account.aid, waiting: [], isBusy: true }
      const { attempt } = work
      return { account, items, attempt, isEnded: false, isFresh: true, held: new Map() }
    })
    this.release(work)
    return parts
  }

  private forget(work: Work): void {
    const { owners } = this.options
    owners.drop(work.account.aid, 0)
    for (const item of work.items) owners.drop(work.account.aid, item.sid)
  }

  private finish(work: Work, reason: Reason, detail = ''): void {
    if (work.isEnded) return
    for (const item of work.items) {
      item.resolve(plainOutcome(reason, detail, item.aid, item.sid))
    }
    this.release(work)
  }

  /** The account is free again; what has arrived meanwhile starts the next round. */
  private release(work: Work): void {
    if (work.isEnded) return
    work.isEnded = true
    for (const owner of work.held.values()) trimSessions(owner)
    const { account } = work
    if (account.waiting.length === 0) {
      account.isBusy = false
      if (this.accounts.get(account.aid) === account) this.accounts.delete(account.aid)
      return
    }
    this.ready.push(account)
    // Accounts that are released together go into one round together.
    if (this.ready.length === 1) queueMicrotask(() => this.startReady())
  }
}

/** Checks one account, repeatedly while it changes between two reads. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../../catalog/connection.ts'
import {
  addCarried,
  addLine,
  carriedId,
  carriedSums,
  emptySums,
  type OwnerSums,
} from '../../catalog/records/usage/line-sums.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { Session } from '../../domain/session.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { RecorderProgress } from '../../ledger/recorder-progress.ts'
import type { FoundAccount } from './accounts.ts'
import { compare, type Difference } from './difference.ts'
import { addHolds, checkConserved, checkHolds, type Holds } from './ledger-check.ts'
import { OpenSegmentLines } from './open-lines.ts'
import { readAll } from './read-all.ts'
import { checkLines, checkProjection } from './recorded-check.ts'

export interface AuditStores {
  ledger: Ledger
  catalog: Catalog
  recording: Pick<RecorderProgress, 'waitUntilRecorded'>
}

export interface AccountFindings {
  owners: number
  buckets: number
  sessions: number
  lines: number
  differences: Difference[]
  /** Owners whose state cannot be read, with the reason. */
  damaged: string[]
  /** True if the account kept changing: its differences may be changes in flight. */
  isMoving: boolean
  /** False if the recorder had not caught up: only the ledger was checked. */
  isRecorded: boolean
}

const OWNERS_PER_PAGE = 64
const ATTEMPTS_MAX = 40
const PAUSE_MS_MIN = 20
const PAUSE_MS_MAX = 250

/**
 * Reports a difference only when two attempts find it with the same versions: then no commit came
 * between the reads. Throws `StoreDownError` or `CatalogUnavailableError`.
 */
export async function checkAccount(
  stores: AuditStores,
  account: FoundAccount,
  attemptsMax = ATTEMPTS_MAX,
): Promise<AccountFindings> {
  let before: Attempt | undefined
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (attempt > 0) await delay(Math.min(PAUSE_MS_MIN * attempt, PAUSE_MS_MAX))
    const now = new Attempt(stores, account.aid)
    await now.run(account.sids)
    if (now.differences.length === 0 || now.fingerprint() === before?.fingerprint())
      return now.findings(false)
    before = now
  }
  return (before as Attempt).findings(true)
}

/**
 * One read of an account. Subscribers are read in pages to bound memory; buckets shared by the
 * account span all pages.
 */
class Attempt {
  readonly differences: Difference[] = []
  readonly #damaged = new Set<string>()
  readonly #stores: AuditStores
  readonly #aid: number
  readonly #versions: number[] = []
  readonly #sharedHolds: Holds = new Map()
  readonly #sharedSums: OwnerSums = emptySums()
  #isRecorded = true
  #owners = 0
  #buckets = 0
  #sessions = 0
  #lines = 0

  constructor(stores: AuditStores, aid: number) {
    this.#stores = stores
    this.#aid = aid
  }

  async run(sids: readonly number[]): Promise<void> {
    const [shared] = await this.#load([0])
    if (shared === undefined) return
    for (let at = 0; at < sids.length; at += OWNERS_PER_PAGE) {
      await this.#checkPage(await this.#load(sids.slice(at, at + OWNERS_PER_PAGE)))
    }
    this.differences.push(...checkHolds(shared.state, this.#sharedHolds))
    await this.#checkRecorded(shared, this.#sharedSums)
    // Detects a commit on the account while the pages were read.
    const [after] = await this.#load([0])
    const where = { aid: this.#aid, sid: 0 }
    const version = shared.state.version
    if (this.differences.length > 0) {
      this.differences.push(...compare(where, 'version', version, after?.state.version ?? null))
    }
  }

  /** Equal for two attempts that read the same versions and found the same differences. */
  fingerprint(): string {
    return JSON.stringify([this.#versions, this.differences])
  }

  findings(isMoving: boolean): AccountFindings {
    return {
      owners: this.#owners,
      buckets: this.#buckets,
      sessions: this.#sessions,
      lines: this.#lines,
      differences: this.differences,
      damaged: [...this.#damaged],
      isMoving,
      isRecorded: this.#isRecorded,
    }
  }

  async #checkPage(owners: readonly AuditedOwner[]): Promise<void> {
    for (const { state, sessions } of owners) {
      const holds: Holds = new Map()
      addHolds(holds, sessions, 0)
      addHolds(this.#sharedHolds, sessions, 1)
      this.differences.push(...checkHolds(state, holds))
    }
    for (const owner of owners) await this.#checkRecorded(owner, emptySums())
  }

  async #checkRecorded({ state: owner, openLines }: AuditedOwner, sums: OwnerSums): Promise<void> {
    this.#versions.push(owner.version)
    this.differences.push(...checkConserved(owner))
    this.#owners += 1
    this.#buckets += owner.buckets.length
    const { catalog, recording } = this.#stores
    if (!(await recording.waitUntilRecorded(this.#aid))) this.#isRecorded = false
    if (!this.#isRecorded) return
    const filter = { aid: this.#aid, sid: owner.sid }
    const projected = await catalog.balances.find(filter).toArray()
    const shared = owner.sid === 0 ? sums : this.#sharedSums
    const carried = await this.#carriedOf(filter)
    if (carried !== null) addCarried(carried, sums, shared)
    const lines = await readAll(
      catalog,
      'read the lines of an owner',
      (options) => catalog.unguarded.lines.find(filter, options),
      () => ({ own: emptySums(), shared: emptySums() }),
      (read, line) => addLine(openLines.newest(line), read.own, read.shared),
    )
    addCarried({ own: carriedSums(lines.own), shared: carriedSums(lines.shared) }, sums, shared)
    this.#lines += lines.own.lines
    // Lines that retention removed during the read are in no sum: the next attempt finds them in
    // the carried sums.
    this.#versions.push(carried?.rev ?? 0, (await this.#carriedOf(filter))?.rev ?? 0)
    this.differences.push(...checkProjection(owner, projected), ...checkLines(owner, sums))
  }

  #carriedOf(owner: { aid: number; sid: number }) {
    const { catalog } = this.#stores
    return catalog.carried.findOne({ _id: carriedId(owner) })
  }

  /** States and sessions; each owner is read together with its sessions in one step. */
  async #load(sids: readonly number[]): Promise<AuditedOwner[]> {
    const { ledger } = this.#stores
    const aid = this.#aid
    const [fields] = await readAccountFields(ledger, [aid])
    const sessionKeys = fields === undefined || fields instanceof Error ? null : fields.sessionKeys
    const requests = sids.map((sid) => {
      return { aid, sid, sessionKeys: sessionKeys?.get(sid) ?? [] }
    })
    const loaded = await ledger.load(requests)
    return loaded.flatMap((owner, index) => {
      if (owner instanceof Error) {
        const { aid, sid, message } = owner
        this.#damaged.add(`owner ${aid}:${sid}: ${message}`)
        return []
      }
      this.#sessions += owner.sessions.filter((session) => session?.state === 'open').length
      const openLines = new OpenSegmentLines()
      for (const [at, session] of owner.sessions.entries()) {
        const sessionKey = requests[index]?.sessionKeys[at]
        if (session !== null && sessionKey !== undefined) openLines.add(session, sessionKey)
      }
      return { ...owner, openLines }
    })
  }
}

interface AuditedOwner {
  state: OwnerState
  sessions: (Session | null)[]
  openLines: OpenSegmentLines
}

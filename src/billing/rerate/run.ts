/**
 * A run of rerating: accounts are planned, committed to the ledger, and marked as done. Whatever
 * kills it, the run that continues commits each plan under the same id.
 */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import { Binary, type ClientSession, type ObjectId } from '../../catalog/collections.ts'
import type { RerateDocument } from '../../catalog/records/usage/rerate-documents.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { loadOwners } from '../../ledger/loading.ts'
import { mendAccount } from '../../ledger/mend.ts'
import { ContentionError, operationStamp } from '../../ledger/operations.ts'
import { packRecord, unpackRecord } from '../../ledger/record-packing.ts'
import { watchRecorderProgress } from '../../ledger/recorder-progress.ts'
import {
  type AccountInCycle,
  type AccountPrices,
  createPricing,
  NO_SUMS,
  type PriceAccount,
  type RerateSource,
  sumOfSums,
  sumsOf,
} from './account-prices.ts'
import { type ChunkLines, chunkOf, commitOf, LedgerDiffersError, sidsOf } from './chunk.ts'
import { readKept, refuseKept } from './kept.ts'
import type { RepricedLine } from './rerate-cycle.ts'

/** Accounts that are planned together: one wait for the recorder is for all of them. */
const ACCOUNTS_AT_ONCE = 50
/** Lines of one commit, by default. */
const LINES_MAX = 1_000
const AT_ONCE = 5
const ATTEMPTS_MAX = 100
/** Refused lines that are named. */
const REFUSED_MAX = 100

export interface RerateParts extends RerateSource {
  readonly ledger: Ledger
  /** How long the ledger keeps an operation id, ms. */
  readonly operationKeepMs: number
  readonly now: () => number
  readonly linesMax?: number
}

/** The job for which the run works. */
export interface RerateJob {
  readonly id: ObjectId
  readonly actor: Actor
  /** Stores in one transaction with the progress, unless another process has the job. */
  store(
    step: string,
    write: (session: ClientSession) => Promise<Readonly<Record<string, number>>>,
  ): Promise<void>
}

/** The job is continued later. */
class UnrecordedError extends Error {
  override name = 'UnrecordedError'
  constructor() {
    super('the recorder is behind: usage is rerated when it is recorded')
  }
}

/** An account with lines that are not planned yet. */
interface Rest {
  document: RerateDocument
  prices: AccountPrices
  left: readonly RepricedLine[]
}

export class RerateRun {
  readonly #parts: RerateParts
  readonly #job: RerateJob
  readonly #price: PriceAccount

  constructor(parts: RerateParts, job: RerateJob) {
    this.#parts = parts
    this.#job = job
    this.#price = createPricing(parts)
  }

  /** Completes what an earlier process has planned, whatever it was planned for. */
  async resume(): Promise<void> {
    const { catalog } = this.#parts
    const planned = await catalog.rerates.find({ state: 'planned' }).sort({ _id: 1 }).toArray()
    for (const document of planned) {
      const stamp = operationStamp(document.aid, operationIdOf(document))
      // The ledger may have forgotten the operation; then it is recorded.
      const done = await catalog.lines.findOne({ stamp }, { projection: { _id: 1 } })
      await this.#finish([done === null ? await this.#commit(document) : document])
    }
  }

  /** Accounts of which this job has committed some lines: their others may not be selected now. */
  async halfDone(): Promise<AccountInCycle[]> {
    const filter = { job: this.#job.id, state: 'partial' as const }
    return (await this.#parts.catalog.rerates.find(filter).toArray()).map(
      ({ _id, aid, cycle }) => ({ aid, cycle, request: _id.slice(0, _id.indexOf('/')) }),
    )
  }

  /**
   * Rerates accounts that this job has not rerated yet. Throws `UnrecordedError` if the recorder is
   * behind, when all others are done.
   */
  async rerate(accounts: readonly AccountInCycle[], signal: AbortSignal): Promise<void> {
    let left = accounts
    while (left.length > 0 && !signal.aborted) {
      const unrecorded = await this.#pass(left, signal)
      if (unrecorded.length === left.length) throw new UnrecordedError()
      left = unrecorded
    }
  }

  /** Returns those whose usage is not recorded yet. */
  async #pass(accounts: readonly AccountInCycle[], signal: AbortSignal): Promise<AccountInCycle[]> {
    const { catalog } = this.#parts
    const unrecorded: AccountInCycle[] = []
    for (let at = 0; at < accounts.length && !signal.aborted; at += ACCOUNTS_AT_ONCE) {
      const some = accounts.slice(at, at + ACCOUNTS_AT_ONCE)
      const ids = some.map((each) => this.#idOf(each))
      const begun = await catalog.rerates.find({ _id: { $in: ids } }).toArray()
      const done = new Set(begun.flatMap(({ _id, state }) => (state === 'partial' ? [] : _id)))
      const open = some.filter((each) => !done.has(this.#idOf(each)))
      if (open.length > 0) unrecorded.push(...(await this.#round(open, begun)))
    }
    return unrecorded
  }

  /** `begun`: what this job has done with them already. Returns those that are not recorded yet. */
  async #round(
    accounts: readonly AccountInCycle[],
    begun: readonly RerateDocument[],
  ): Promise<AccountInCycle[]> {
    const { ledger, now } = this.#parts
    const aids = [...new Set(accounts.map(({ aid }) => aid))]
    // In this order: what the ledger has forgotten here is recorded, and read, in its last version.
    const refuse = refuseKept(await readKept(ledger, aids, now()))
    // It gives accounts up for good, so each round has its own.
    const recorded = new Set(await watchRecorderProgress(ledger).waitForEach(aids))
    const planned = async (found: AccountInCycle) => {
      const prices = await this.#price(found, refuse)
      const former = begun.find(({ _id }) => _id === this.#idOf(found))
      return this.#planned(prices, prices.changes, former)
    }
    let rest = await overlapping(
      accounts.filter(({ aid }) => recorded.has(aid)),
      planned,
    )
    while (rest.length > 0) {
      await this.#plan(rest.map(({ document }) => document))
      const planned = rest.map(({ document }) => document)
      const finished = await overlapping(
        planned.filter(({ state }) => state === 'planned'),
        (document) => this.#commit(document),
      )
      if (finished.length > 0) await this.#finish(finished)
      rest = rest.flatMap(({ prices, left, document }) => {
        const known = finished.find(({ _id }) => _id === document._id)
        if (left.length === 0 || known === undefined || known.state === 'refused') return []
        return [this.#planned(prices, left, doneBy(known))]
      })
    }
    return accounts.filter(({ aid }) => !recorded.has(aid))
  }

  /** `former`: what this job has done with the account already. */
  #planned(
    prices: AccountPrices,
    changes: readonly RepricedLine[],
    former: RerateDocument | undefined,
  ): Rest {
    const { aid, cycle, invoice, lines, refused } = prices
    const { seq = 0, done = NO_SUMS } = former ?? {}
    const { linesMax = LINES_MAX } = this.#parts
    const [now, left] = [changes.slice(0, linesMax), changes.slice(linesMax)]
    const isChanged = now.length > 0
    const unchanged = seq > 0 ? 'applied' : 'unchanged'
    const document: RerateDocument = {
      ...{ _id: this.#idOf(prices), job: this.#job.id, aid, cycle, invoice, lines },
      refused: refused.slice(0, REFUSED_MAX),
      ...sumOfSums(done, sumsOf(changes, invoice)),
      state: isChanged ? 'planned' : refused.length > 0 ? 'refused' : unchanged,
      seq: isChanged ? seq + 1 : seq,
      done,
      chunk: isChanged ? this.#chunk(prices, now) : null,
    }
    return { document, prices, left }
  }

  #chunk(prices: AccountPrices, changes: readonly RepricedLine[]): RerateDocument['chunk'] {
    const { lines, ...chunk } = chunkOf(prices, changes)
    const packed = new Binary(packRecord({ lines: [...lines], operations: [] }))
    const at = new Date(this.#parts.now())
    return { ...chunk, ...sumsOf(changes, prices.invoice), at, lines: packed }
  }

  #plan(documents: readonly RerateDocument[]): Promise<void> {
    const { catalog } = this.#parts
    return this.#job.store('plan', async (session) => {
      for (const document of documents) {
        const { _id, ...fields } = document
        await catalog.rerates.replaceOne({ _id }, fields as never, { upsert: true, session })
      }
      const ended = documents.filter(({ state }) => state !== 'planned')
      return countsOf(ended)
    })
  }

  /** Returns what is to be stored then. Throws `StoreDownError` or `ContentionError`. */
  async #commit(document: RerateDocument): Promise<RerateDocument> {
    const { ledger, operationKeepMs } = this.#parts
    const { aid, chunk } = document
    if (chunk === null) return document
    const { lines } = unpackRecord(Buffer.from(chunk.lines.value()))
    const planned: ChunkLines = { ...chunk, lines }
    const operationId = operationIdOf(document)
    const operation = { aid, operationId, atMs: chunk.at.getTime() }
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const before = await loadOwners(ledger, aid, sidsOf(planned))
      let commit: ReturnType<typeof commitOf>
      try {
        commit = commitOf(before, planned, operation)
      } catch (error) {
        if (!(error instanceof LedgerDiffersError)) throw error
        // The operation may have been executed before: its own effect is then the difference.
        if ((await ledger.findOperation(aid, operationId)) !== null) return document
        return refusedBy(document, error)
      }
      const { owners, operations, lines: usage } = commit
      const mend = { aid, operationId, owners, lines: operations, usage, lostOperations: [] }
      if ((await mendAccount(ledger, mend, operationKeepMs)) !== 'conflict') return document
    }
    throw new ContentionError(`account ${aid} changes all the time`)
  }

  /** Stores that these are committed, with a record of the audit for each. */
  #finish(documents: readonly RerateDocument[]): Promise<void> {
    const { catalog, now } = this.#parts
    const { actor } = this.#job
    return this.#job.store('commit', async (session) => {
      for (const document of documents) {
        const { _id, ...fields } = doneBy(document)
        await catalog.rerates.replaceOne({ _id }, fields as never, { session })
        if (document.state === 'refused') continue
        const { aid, cycle, chunk } = document
        const { changed, difference } = chunk ?? NO_SUMS
        appendAudit(session, actor, now(), {
          ...{ collection: 'lines', type: 'rerate', key: String(aid) },
          ...{ old: null, new: { cycle, changed, difference } },
          operationId: operationIdOf(document),
        })
      }
      return countsOf(documents.filter((each) => doneBy(each).state !== 'partial'))
    })
  }

  #idOf(found: AccountInCycle): string {
    return rerateIdOf(found.request ?? this.#job.id.toHexString(), found)
  }
}

/** The results in order; a few at once, so that the stores and this thread both work. */
async function overlapping<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const begun = all.slice(at, at + AT_ONCE).map(work)
    // Nothing of a run goes on when it has failed.
    await Promise.allSettled(begun)
    results.push(...(await Promise.all(begun)))
  }
  return results
}

/** `request`: id of the job, or of the queued request. */
export function rerateIdOf(request: string, { aid, cycle }: AccountInCycle): string {
  return `${request}/${aid}/${cycle}`
}

function operationIdOf({ _id, seq }: Pick<RerateDocument, '_id' | 'seq'>): string {
  return `rerate-${_id}/${seq}`
}

/** When its chunk is committed. */
function doneBy(document: RerateDocument): RerateDocument {
  const { chunk, changed } = document
  if (chunk === null) return document
  const done = sumOfSums(document.done, chunk)
  return { ...document, done, chunk: null, state: done.changed < changed ? 'partial' : 'applied' }
}

function refusedBy(document: RerateDocument, { message: text }: Error): RerateDocument {
  const refused = [...document.refused, { stamp: '', reason: 'ledger', text }]
  return { ...document, ...document.done, refused, chunk: null, state: 'refused' }
}

function countsOf(documents: readonly RerateDocument[]): Readonly<Record<string, number>> {
  const counts = { accounts: documents.length, refused: 0, lines: 0, changed: 0 }
  for (const { state, lines, changed } of documents) {
    if (state === 'refused') counts.refused += 1
    counts.lines += lines
    counts.changed += changed
  }
  return counts
}

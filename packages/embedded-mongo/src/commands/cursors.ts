import { Long } from 'bson'
import { MongoCommandError } from '../errors.ts'
import type { Results } from '../query/run-query.ts'
import type { CursorBatch } from '../wire/batch.ts'
import type { Turns } from './turns.ts'
import type { WorkLimit } from './work-limit.ts'

/** Idle time after which a cursor expires, in milliseconds: ten minutes, as in MongoDB. */
const CURSOR_IDLE_MS_MAX = 10 * 60 * 1000
/** Number of documents in the first batch if the client does not request a size. */
const FIRST_BATCH_DOCS = 101
/** Number of search steps between two yields to other clients. */
const STEPS_PER_TURN = 4
/** Maximum size of a batch, in bytes; it may always contain one document. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024

type Cursor = {
  readonly ns: string
  readonly results: Results<Uint8Array>
  readonly noTimeout: boolean
  readonly givesWay: boolean
  /** Whether the collection of the cursor still exists. */
  readonly isAlive: () => boolean
  /** A document that was read but did not fit into the previous batch. */
  pending: Uint8Array | undefined
  /** Number of results that may still be returned; limited by the query. */
  remaining: number
  usedMs: number
  isBusy: boolean
  isKilled: boolean
  /** Remaining time of the query; undefined if there is no limit. */
  leftMs: number | undefined
}

export type CursorOptions = {
  readonly ns: string
  readonly batchSize: number | undefined
  /** Maximum number of results over all batches. */
  readonly limit: number
  /** Whether the cursor ends with its first batch. */
  readonly singleBatch: boolean
  /** Whether the cursor never expires. */
  readonly noTimeout?: boolean
  /** Whether the read waits while others arrive: an aggregation may read millions of documents. */
  readonly givesWay?: boolean
  /** Whether the collection of the cursor still exists. */
  readonly isAlive: () => boolean
  /** Limit of the first batch; the remaining time is for the later batches. */
  readonly work: WorkLimit
}

/** Cursors: results that a client fetches in batches, over any of its connections. */
export class Cursors {
  readonly #cursors = new Map<string, Cursor>()
  readonly #nowMs: () => number
  readonly #turns: Turns
  #lastId: bigint

  constructor(nowMs: () => number, turns: Turns) {
    this.#nowMs = nowMs
    this.#turns = turns
    // Ids of an earlier process must be unknown and never refer to another cursor.
    this.#lastId = BigInt(nowMs()) << 16n
  }

  async open(results: Results<Uint8Array>, options: CursorOptions): Promise<CursorBatch> {
    const { ns, limit, batchSize = FIRST_BATCH_DOCS, singleBatch } = options
    const { noTimeout = false, givesWay = false, isAlive, work } = options
    const cursor: Cursor = {
      ns,
      results,
      noTimeout,
      givesWay,
      isAlive,
      pending: undefined,
      remaining: limit,
      usedMs: this.#nowMs(),
      isBusy: true,
      isKilled: false,
      leftMs: undefined,
    }
    const { docs, isDone } = await this.#fill(cursor, batchSize, work)
    if (isDone || singleBatch) {
      results.return(undefined)
      return { field: 'firstBatch', docs, id: Long.ZERO, ns }
    }
    const id = ++this.#lastId
    this.#cursors.set(String(id), cursor)
    cursor.leftMs = work.leftMs()
    cursor.isBusy = false
    return { field: 'firstBatch', docs, id: Long.fromBigInt(id), ns }
  }

  /**
   * `workFor` returns the limit of one batch for the remaining time of the query.
   * @throws CommandError (CursorNotFound; Unauthorized, CursorInUse, QueryPlanKilled, CursorKilled;
   *   MaxTimeMSExpired, ClientDisconnect)
   */
  async more(
    id: Long,
    ns: string,
    batchSize: number | undefined,
    workFor: (leftMs: number | undefined) => WorkLimit,
  ): Promise<CursorBatch> {
    this.expire()
    const cursor = this.#requireUsable(id, ns)
    cursor.isBusy = true
    const work = workFor(cursor.leftMs)
    try {
      const size = batchSize ?? Number.POSITIVE_INFINITY
      const { docs, isDone } = await this.#fill(cursor, size, work)
      if (isDone) this.kill(id)
      return { field: 'nextBatch', docs, id: isDone ? Long.ZERO : id, ns }
    } catch (error) {
      this.kill(id)
      throw error
    } finally {
      cursor.isBusy = false
      cursor.leftMs = work.leftMs()
      cursor.usedMs = this.#nowMs()
    }
  }

  #requireUsable(id: Long, ns: string): Cursor {
    const cursor = this.#cursors.get(id.toString())
    if (!cursor)
      throw new MongoCommandError('CursorNotFound', `cursor id ${id.toString()} not found`)
    if (cursor.ns !== ns) {
      throw new MongoCommandError(
        'Unauthorized',
        `Requested getMore on namespace '${ns}', but cursor belongs to a different namespace ` +
          cursor.ns,
      )
    }
    if (cursor.isBusy) {
      throw new MongoCommandError('CursorInUse', `cursor id ${id.toString()} is already in use`)
    }
    if (cursor.isAlive()) return cursor
    this.kill(id)
    throw new MongoCommandError('QueryPlanKilled', `collection dropped: ${ns}`)
  }

  /** Returns whether the cursor existed. */
  kill(id: Long): boolean {
    const cursor = this.#cursors.get(id.toString())
    if (cursor) {
      cursor.isKilled = true
      cursor.results.return(undefined)
    }
    return this.#cursors.delete(id.toString())
  }

  /** Removes the cursors that have been idle for too long. */
  expire(): void {
    const nowMs = this.#nowMs()
    for (const [id, cursor] of this.#cursors) {
      if (!cursor.isBusy && !cursor.noTimeout && nowMs - cursor.usedMs > CURSOR_IDLE_MS_MAX) {
        this.#cursors.delete(id)
      }
    }
  }

  get size(): number {
    return this.#cursors.size
  }

  async #fill(
    cursor: Cursor,
    batchSize: number,
    work: WorkLimit,
  ): Promise<{ docs: Uint8Array[]; isDone: boolean }> {
    const docs: Uint8Array[] = []
    let bytes = 0
    const turn = cursor.givesWay ? this.#turns.start() : undefined
    let steps = 0
    while (docs.length < batchSize && cursor.remaining > 0) {
      const doc = cursor.pending ?? this.#next(cursor)
      if (doc === undefined) return { docs, isDone: true }
      if (doc === null) {
        if (turn) await turn.pass()
        else if (++steps % STEPS_PER_TURN === 0) await new Promise(setImmediate)
        if (cursor.isKilled) throw new MongoCommandError('CursorKilled', 'the cursor was killed')
        work.check()
        continue
      }
      if (docs.length > 0 && bytes + doc.length > BATCH_BYTES_MAX) {
        cursor.pending = doc
        break
      }
      cursor.pending = undefined
      cursor.remaining -= 1
      bytes += doc.length
      docs.push(doc)
    }
    return { docs, isDone: cursor.remaining <= 0 }
  }

  #next(cursor: Cursor): Uint8Array | null | undefined {
    const { done, value } = cursor.results.next()
    return done ? undefined : value
  }
}

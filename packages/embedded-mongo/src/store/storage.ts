import { type Database, open, type RootDatabase, type Transaction } from 'lmdb'
import { MongoCommandError } from '../errors.ts'
import { LockedError, Locks } from './locks.ts'
import { checkRoomToBegin, DiskFullError, Reserve } from './reserve.ts'

/** Maximum key length of the store, in bytes. */
export const KEY_BYTES_MAX = 1978

/** A table of the LMDB environment. */
export type Table = Database<Buffer, Buffer> & {
  /** The types of lmdb lack the options. */
  getBinaryFast(key: Buffer, options?: { readonly transaction: Transaction }): Buffer | undefined
}

/** One entry of a table; its buffers are copies and stay valid. */
export type Entry = { readonly key: Buffer; readonly value: Buffer }

export type Range = {
  /** First key, inclusive. */
  readonly start: Buffer
  /** Key after the last one, exclusive. */
  readonly end: Buffer
}

/** Limits of one read: small enough to hold in memory and not to block other work. */
const PIECE_ENTRIES_MAX = 256
const PIECE_BYTES_MAX = 1024 * 1024
const ZERO = Buffer.from([0])

/** A part of a range that was read at once. */
export type Piece = {
  readonly entries: readonly Entry[]
  readonly covered: Range
  /** The part that has not been read yet; undefined at the end. */
  readonly rest: Range | undefined
}

/** A committed state that stays readable until `end`. */
export type Snapshot = { readonly options: { readonly transaction: Transaction }; end(): void }

/** The tables of documents and index entries, as committed or as one transaction sees them. */
export interface DocumentStore {
  readonly docs: Table
  readonly entries: Table
  get(table: Table, key: Buffer): Buffer | undefined
  /** The value of a key without a copy: the buffer is valid until the next read. */
  peek(table: Table, key: Buffer): Buffer | undefined
  put(table: Table, key: Buffer, value: Buffer): void
  remove(table: Table, key: Buffer): void
  /**
   * Entries of a range in order, backwards if `reverse`. They are read in chunks: null between two
   * chunks lets other work run, whose writes may be visible in later chunks.
   */
  walk(table: Table, range: Range, reverse?: boolean): Generator<Entry | null>
  count(table: Table, range: Range): number
  checkCurrent(table: Table, key: Buffer): void
}

type Job = {
  run(): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
  readonly waitMs: number | undefined
  /** Set when the job first waits for a transaction. */
  timer?: NodeJS.Timeout
  isOver?: boolean
}

/** How long a write without a limit of its own waits for open transactions, in milliseconds. */
const LOCK_WAIT_MS_MAX = 60_000
/** Snapshots that can be open at the same time: one for each open transaction. */
const READERS_MAX = 1024

/** Another server has taken over the data folder: nothing may be written any more. */
export class StorageLostError extends Error {
  override readonly name = 'StorageLostError'
}

/**
 * The tables on disk. Reads see the last commit, or inside a write the changes made so far. Pending
 * writes are combined into one transaction with a single flush to disk.
 */
export class Storage implements DocumentStore {
  readonly meta: Table
  readonly docs: Table
  readonly entries: Table
  /** Results of the last numbered statement of each session. */
  readonly sessions: Table
  readonly locks = new Locks()
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #reserve: Reserve
  readonly #onRollback: () => void
  #check: () => void = () => {}
  #jobs: Job[] = []
  #scheduled = false

  /** `onRollback` is called after a rollback: caches of the written data must be dropped. */
  constructor(dataDir: string, onRollback: () => void) {
    this.#onRollback = onRollback
    checkRoomToBegin(dataDir)
    const format = { encoding: 'binary', keyEncoding: 'binary' } as const
    // Without overlapping sync a transaction is on disk when it returns.
    const options = { noSubdir: false, overlappingSync: false, maxReaders: READERS_MAX }
    this.#root = open({ path: dataDir, ...options, ...format })
    this.meta = this.#root.openDB({ name: 'meta', ...format })
    this.docs = this.#root.openDB({ name: 'docs', ...format })
    this.entries = this.#root.openDB({ name: 'entries', ...format })
    this.sessions = this.#root.openDB({ name: 'sessions', ...format })
    this.#reserve = new Reserve(dataDir, () => this.#usedBytes())
  }

  /** Sets a check that runs at the start of each transaction and refuses it by throwing. */
  guard(check: () => void): void {
    this.#check = check
  }

  /**
   * Runs `job` in the next transaction and resolves when it is on disk. The job is synchronous and
   * may run again: if the transaction of its group fails, or if it meets a key of an open
   * transaction, for whose end it waits up to `waitMs`.
   * @throws CommandError thrown by the job: its earlier changes are kept. OutOfDiskSpace,
   *   MaxTimeMSExpired, WriteConflict: nothing is kept
   */
  write<T>(job: () => T, waitMs?: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = resolve as (value: unknown) => void
      this.#enqueue({ run: job, resolve: settle, reject, waitMs })
    })
  }

  /** The last committed state, for reads outside of writes. */
  snapshot(): Snapshot {
    const transaction = this.#root.useReadTransaction()
    return { options: { transaction }, end: () => transaction.done() }
  }

  get(table: Table, key: Buffer, snapshot?: Snapshot): Buffer | undefined {
    return table.get(key, snapshot?.options)
  }

  peek(table: Table, key: Buffer, snapshot?: Snapshot): Buffer | undefined {
    // LMDB reuses this buffer; it is larger than the value and has an own field `length`.
    const value = table.getBinaryFast(key, snapshot?.options)
    return value && Buffer.from(value.buffer, value.byteOffset, value.length)
  }

  /** @throws LockedError if an open transaction has written the key */
  put(table: Table, key: Buffer, value: Buffer): void {
    this.locks.check(key)
    this.putOwn(table, key, value)
  }

  /** @throws LockedError if an open transaction has written the key */
  remove(table: Table, key: Buffer): void {
    this.locks.check(key)
    this.putOwn(table, key, undefined)
  }

  /** Writes or removes a key that the writer itself may have locked. */
  putOwn(table: Table, key: Buffer, value: Buffer | undefined): void {
    this.#reserve.addEntry(key.length + (value?.length ?? 0))
    if (value) table.putSync(key, value)
    else table.removeSync(key)
  }

  /** Runs a part of a write whose changes are rolled back if it throws. */
  undoable<T>(part: () => T): T {
    try {
      return this.#transaction(part)
    } catch (error) {
      this.#onRollback()
      throw error
    }
  }

  *walk(table: Table, range: Range, reverse = false): Generator<Entry | null> {
    let rest: Range | undefined = range
    while (rest) {
      const piece: Piece = this.piece(table, rest, reverse)
      yield* piece.entries
      rest = piece.rest
      if (rest) yield null
    }
  }

  /** The first entries of a range; the next piece begins directly after the last key. */
  piece(table: Table, range: Range, reverse: boolean, snapshot?: Snapshot): Piece {
    const { entries, isLast } = readPiece(table, range, reverse, snapshot)
    const last = entries.at(-1)
    if (isLast || !last) return { entries, covered: range, rest: undefined }
    const { start, end } = range
    if (reverse) {
      const { key } = last
      return { entries, covered: { start: key, end }, rest: { start, end: key } }
    }
    const next = Buffer.concat([last.key, ZERO])
    return { entries, covered: { start, end: next }, rest: { start: next, end } }
  }

  /** A committed key is current. */
  checkCurrent(): void {}

  lastOf(table: Table, range: Range): Entry | undefined {
    const [last] = table.getRange(rangeOptions(range, true, 1))
    return last
  }

  /** Removes all entries of a range, inside a write. */
  clear(table: Table, { start, end }: Range): void {
    for (;;) {
      const keys = [...table.getKeys({ start, end, limit: PIECE_ENTRIES_MAX })]
      for (const key of keys) this.remove(table, key)
      if (keys.length < PIECE_ENTRIES_MAX) return
    }
  }

  count(table: Table, range: Range, snapshot?: Snapshot): number {
    return table.getKeysCount({ start: range.start, end: range.end, ...snapshot?.options })
  }

  /** Executes the pending writes and closes the files. */
  async close(): Promise<void> {
    if (this.#jobs.length > 0) this.#flush()
    this.#reserve.close()
    await this.#root.close()
  }

  #enqueue(job: Job): void {
    this.#jobs.push(job)
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    let jobs: readonly Job[] = this.#jobs
    this.#jobs = []
    while (jobs.length > 0) {
      const { isDone, waiting } = this.#commit(jobs)
      if (isDone) return
      if (!waiting) break
      jobs = jobs.filter((job) => job !== waiting)
    }
    // One job failed unexpectedly and rolled back the others: each gets its own transaction.
    for (const job of jobs) this.#commit([job])
  }

  /** `waiting`: this job must wait; the others were rolled back and are to be committed again. */
  #commit(jobs: readonly Job[]): { readonly isDone: boolean; readonly waiting?: Job } {
    let answers: (() => void)[] = []
    let running: Job | undefined
    try {
      this.#reserve.begin()
      this.#transaction(() => {
        this.#check()
        answers = jobs.map((job) => {
          running = job
          return this.#run(job)
        })
      })
      this.#reserve.end()
    } catch (error) {
      this.#onRollback()
      if (error instanceof LockedError && running) {
        this.#await(running, error)
        return { isDone: jobs.length === 1, waiting: running }
      }
      if (jobs.length > 1) return { isDone: false }
      answers = [() => jobs[0]?.reject(error instanceof DiskFullError ? refusal(error) : error)]
    }
    for (const answer of answers) answer()
    return { isDone: true }
  }

  /** Repeats the job when the transaction that has locked its key has ended. */
  #await(job: Job, { owner }: LockedError): void {
    job.timer ??= setTimeout(() => {
      job.isOver = true
      job.reject(lockTimeout(job))
    }, job.waitMs ?? LOCK_WAIT_MS_MAX)
    owner.ended.then(() => {
      if (!job.isOver) this.#enqueue(job)
    })
  }

  #run(job: Job): () => void {
    try {
      const value = job.run()
      return () => finish(job, () => job.resolve(value))
    } catch (error) {
      if (!(error instanceof MongoCommandError)) throw error
      return () => finish(job, () => job.reject(error))
    }
  }

  /** End of the last page in use. */
  #usedBytes(): number {
    const { lastPageNumber, root } = this.#root.getStats() as {
      lastPageNumber: number
      root: { pageSize: number }
    }
    return (lastPageNumber + 1) * root.pageSize
  }

  /** The callback must not return the promise of a put: the transaction would wait for it. */
  #transaction<T>(run: () => T): T {
    let result: { value: T } | undefined
    this.#root.transactionSync(() => {
      result = { value: run() }
    })
    return (result as unknown as { value: T }).value
  }
}

function finish(job: Job, answer: () => void): void {
  clearTimeout(job.timer)
  answer()
}

function lockTimeout({ waitMs }: Job): MongoCommandError {
  return waitMs === undefined
    ? new MongoCommandError('WriteConflict', 'the document is written by an open transaction')
    : new MongoCommandError('MaxTimeMSExpired', 'operation exceeded time limit')
}

function refusal(error: DiskFullError): MongoCommandError {
  return new MongoCommandError('OutOfDiskSpace', error.message)
}

function readPiece(
  table: Table,
  range: Range,
  reverse: boolean,
  snapshot: Snapshot | undefined,
): { readonly entries: Entry[]; readonly isLast: boolean } {
  const entries: Entry[] = []
  let bytes = 0
  const options = { ...rangeOptions(range, reverse, PIECE_ENTRIES_MAX), ...snapshot?.options }
  for (const entry of table.getRange(options)) {
    entries.push(entry)
    bytes += entry.value.length
    if (bytes >= PIECE_BYTES_MAX) return { entries, isLast: false }
  }
  return { entries, isLast: entries.length < PIECE_ENTRIES_MAX }
}

/** Backwards, LMDB includes `start`; the end of a range is exclusive here. */
function rangeOptions({ start, end }: Range, reverse: boolean, limit: number) {
  return reverse
    ? { start: end, end: start, reverse, exclusiveStart: true, inclusiveEnd: true, limit }
    : { start, end, limit }
}

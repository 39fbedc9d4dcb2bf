import { type Database, open, type RootDatabase } from 'lmdb'
import { MongoCommandError } from '../errors.ts'
import { checkRoomToBegin, DiskFullError, Reserve } from './reserve.ts'

/** Maximum key length of the store, in bytes. */
export const KEY_BYTES_MAX = 1978

/** A table of the LMDB environment. */
type Table = Database<Buffer, Buffer>

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

type Job = { run(): unknown; resolve(value: unknown): void; reject(error: unknown): void }

/** Another server has taken over the data folder: nothing may be written any more. */
export class StorageLostError extends Error {
  override readonly name = 'StorageLostError'
}

/**
 * The tables on disk. Reads see the last commit, or inside a write the changes made so far. Pending
 * writes are combined into one transaction with a single flush to disk.
 */
export class Storage {
  readonly meta: Table
  readonly docs: Table
  readonly entries: Table
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
    this.#root = open({ path: dataDir, noSubdir: false, overlappingSync: false, ...format })
    this.meta = this.#root.openDB({ name: 'meta', ...format })
    this.docs = this.#root.openDB({ name: 'docs', ...format })
    this.entries = this.#root.openDB({ name: 'entries', ...format })
    this.#reserve = new Reserve(dataDir, () => this.#usedBytes())
  }

  /** Sets a check that runs at the start of each transaction and refuses it by throwing. */
  guard(check: () => void): void {
    this.#check = check
  }

  /**
   * Runs `job` in the next transaction and resolves when it is on disk. The job is synchronous and
   * may run again if the transaction of its group fails.
   * @throws CommandError thrown by the job: its earlier changes are kept. OutOfDiskSpace: nothing
   *   is kept
   */
  write<T>(job: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ run: job, resolve: resolve as (value: unknown) => void, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** The value of a key without a copy: the buffer is valid until the next read. */
  peek(table: Table, key: Buffer): Buffer | undefined {
    // LMDB reuses this buffer; it is larger than the value and has an own field `length`.
    const value = table.getBinaryFast(key)
    return value && Buffer.from(value.buffer, value.byteOffset, value.length)
  }

  put(table: Table, key: Buffer, value: Buffer): void {
    this.#reserve.addEntry(key.length + value.length)
    table.putSync(key, value)
  }

  remove(table: Table, key: Buffer): void {
    this.#reserve.addEntry(key.length)
    table.removeSync(key)
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

  /**
   * Entries of a range in order, backwards if `reverse`. They are read in chunks: null between two
   * chunks lets other work run, whose writes may be visible in later chunks.
   */
  *walk(table: Table, range: Range, reverse = false): Generator<Entry | null> {
    let { start, end } = range
    for (;;) {
      const { entries, isLast } = readPiece(table, { start, end }, reverse)
      yield* entries
      const last = entries.at(-1)
      if (isLast || !last) return
      // The next chunk begins directly after the last key, regardless of writes in between.
      if (reverse) end = last.key
      else start = Buffer.concat([last.key, ZERO])
      yield null
    }
  }

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

  count(table: Table, range: Range): number {
    return table.getKeysCount({ start: range.start, end: range.end })
  }

  /** Executes the pending writes and closes the files. */
  async close(): Promise<void> {
    if (this.#jobs.length > 0) this.#flush()
    this.#reserve.close()
    await this.#root.close()
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (this.#commit(jobs)) return
    // One job failed unexpectedly and rolled back the others: each gets its own transaction.
    for (const job of jobs) this.#commit([job])
  }

  /** Returns false if several jobs have to be retried one by one. */
  #commit(jobs: readonly Job[]): boolean {
    let answers: (() => void)[] = []
    try {
      this.#reserve.begin()
      this.#transaction(() => {
        this.#check()
        answers = jobs.map((job) => this.#run(job))
      })
      this.#reserve.end()
    } catch (error) {
      this.#onRollback()
      if (jobs.length > 1) return false
      answers = [() => jobs[0]?.reject(error instanceof DiskFullError ? refusal(error) : error)]
    }
    for (const answer of answers) answer()
    return true
  }

  #run(job: Job): () => void {
    try {
      const value = job.run()
      return () => job.resolve(value)
    } catch (error) {
      if (!(error instanceof MongoCommandError)) throw error
      return () => job.reject(error)
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

function refusal(error: DiskFullError): MongoCommandError {
  return new MongoCommandError('OutOfDiskSpace', error.message)
}

function readPiece(
  table: Table,
  range: Range,
  reverse: boolean,
): { readonly entries: Entry[]; readonly isLast: boolean } {
  const entries: Entry[] = []
  let bytes = 0
  for (const entry of table.getRange(rangeOptions(range, reverse, PIECE_ENTRIES_MAX))) {
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

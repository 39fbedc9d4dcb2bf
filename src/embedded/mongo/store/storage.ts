import { type Database, open, type RootDatabase } from 'lmdb'
import { CommandError } from '../errors.ts'

/** Longest key that the store holds, in bytes. */
export const KEY_BYTES_MAX = 1978

/** Collections, indexes and the two big tables live in these tables of one LMDB environment. */
type Table = Database<Buffer, Buffer>

/** One entry of a table: buffers of their own, good for as long as one likes. */
export type Entry = { readonly key: Buffer; readonly value: Buffer }

export type Range = {
  /** First key, included (unless `exclusive`). */
  readonly start: Buffer
  /** Key after the last one. */
  readonly end: Buffer
}

type Job = { run(): unknown; resolve(value: unknown): void; reject(error: unknown): void }

/** The data folder was taken over by another server: nothing may be written any more. */
export class StorageLostError extends Error {
  override readonly name = 'StorageLostError'
}

/**
 * The tables on disk. Reads see the last commit, inside a write what has been written so far.
 * Writes that wait together are one transaction: one flush to disk for all of them.
 */
export class Storage {
  readonly meta: Table
  readonly docs: Table
  readonly entries: Table
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #onRollback: () => void
  #check: () => void = () => {}
  #jobs: Job[] = []
  #scheduled = false

  /** `onRollback` is called when writes were undone: what is cached of them must be dropped. */
  constructor(dataDir: string, onRollback: () => void) {
    this.#onRollback = onRollback
    const format = { encoding: 'binary', keyEncoding: 'binary' } as const
    // Without overlapping sync, a transaction that has returned is on disk.
    this.#root = open({ path: dataDir, noSubdir: false, overlappingSync: false, ...format })
    this.meta = this.#root.openDB({ name: 'meta', ...format })
    this.docs = this.#root.openDB({ name: 'docs', ...format })
    this.entries = this.#root.openDB({ name: 'entries', ...format })
  }

  /** Sets what is checked at the start of each transaction; a throw refuses it. */
  guard(check: () => void): void {
    this.#check = check
  }

  /**
   * Runs `job` in the next transaction and resolves after it is on disk. The job is synchronous
   * and may run again if the transaction of its group fails.
   * @throws CommandError thrown by the job: what it wrote before is kept
   */
  write<T>(job: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ run: job, resolve: resolve as (value: unknown) => void, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** Runs a part of a write that leaves nothing behind if it throws. */
  undoable<T>(part: () => T): T {
    try {
      return this.#transaction(part)
    } catch (error) {
      this.#onRollback()
      throw error
    }
  }

  /** Up to `limit` entries of a range, from its end backwards if `reverse`. */
  read(table: Table, range: Range, limit: number, reverse: boolean): Entry[] {
    const { start, end } = range
    // Backwards, the store begins at `start` if it is there, and our end is not in the range.
    const options = reverse
      ? { start: end, end: start, reverse, exclusiveStart: true, inclusiveEnd: true, limit }
      : { start, end, limit }
    return [...table.getRange(options)] as Entry[]
  }

  count(table: Table, range: Range): number {
    return table.getKeysCount({ start: range.start, end: range.end })
  }

  /** Writes what is waiting and closes the files. */
  async close(): Promise<void> {
    if (this.#jobs.length > 0) this.#flush()
    await this.#root.close()
  }

  #flush(): void {
    this.#scheduled = false
    const jobs = this.#jobs
    this.#jobs = []
    if (this.#commit(jobs)) return
    // One of them failed unexpectedly and undid the others: each gets a transaction of its own.
    for (const job of jobs) this.#commit([job])
  }

  /** Whether the jobs were answered: false if several have to be tried one by one. */
  #commit(jobs: readonly Job[]): boolean {
    let answers: (() => void)[] = []
    try {
      this.#transaction(() => {
        this.#check()
        answers = jobs.map((job) => this.#run(job))
      })
    } catch (error) {
      this.#onRollback()
      if (jobs.length > 1) return false
      answers = [() => jobs[0]?.reject(error)]
    }
    for (const answer of answers) answer()
    return true
  }

  #run(job: Job): () => void {
    try {
      const value = job.run()
      return () => job.resolve(value)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      return () => job.reject(error)
    }
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

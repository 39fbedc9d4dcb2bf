import type { Long } from 'bson'
import type { CommandReply } from '../commands/command.ts'
import type { CollectionCatalog } from '../store/catalog.ts'
import type { LockOwner } from '../store/locks.ts'
import type { Store } from '../store/open.ts'
import type { Records } from '../store/records.ts'
import type { Storage } from '../store/storage.ts'
import { MissingCollectionError, TransactionCatalog } from '../store/transaction-catalog.ts'
import { TransactionStore } from '../store/transaction-store.ts'

/**
 * A multi-document transaction. It reads a snapshot of its start, keeps its writes in memory and
 * applies them in one write of the storage.
 */
export class Transaction implements LockOwner {
  readonly catalog: TransactionCatalog
  readonly records: Records
  readonly ended: Promise<void>
  readonly #storage: Storage
  readonly #mainCatalog: CollectionCatalog
  readonly #store: TransactionStore
  readonly #timer: NodeJS.Timeout
  #resolveEnded: () => void = () => {}
  #state: 'open' | 'committing' | 'committed' | 'aborted' = 'open'

  /** `lifetimeMs`: the transaction is aborted if it is open for longer. */
  constructor({ storage, catalog, records }: Store, lifetimeMs: number) {
    this.#storage = storage
    this.#mainCatalog = catalog
    this.catalog = new TransactionCatalog(catalog)
    this.#store = new TransactionStore(storage, this)
    this.records = records.within(this.#store, this.catalog)
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    this.#timer = setTimeout(() => this.abort(), lifetimeMs).unref()
  }

  get state(): 'open' | 'committing' | 'committed' | 'aborted' {
    return this.#state
  }

  /** Runs the writing part of a command against the transaction. */
  async write(job: () => CommandReply): Promise<CommandReply> {
    const reply = await this.#run(job)
    if (this.catalog.hasMarks) {
      await this.#storage.write(() => this.catalog.writeMarks())
      this.catalog.clearMarks()
    }
    return reply
  }

  /** A missing collection is noticed before the first change, so the job can run again. */
  async #run(job: () => CommandReply): Promise<CommandReply> {
    try {
      return job()
    } catch (error) {
      if (!(error instanceof MissingCollectionError)) throw error
      await this.#storage.write(() => this.#mainCatalog.findOrCreate(error.ns))
      return job()
    }
  }

  /**
   * Resolves when all changes are on disk, together with those of `alsoWrite`. If it fails, the
   * transaction is aborted.
   */
  async commit(alsoWrite: () => void): Promise<void> {
    this.#state = 'committing'
    try {
      if (this.#store.hasWritten) {
        await this.#storage.write(() => {
          this.#store.apply()
          alsoWrite()
        })
      }
    } catch (error) {
      this.#end('aborted')
      throw error
    }
    this.#end('committed')
  }

  /** Drops all changes, unless they are being committed. */
  abort(): void {
    if (this.#state === 'open') this.#end('aborted')
  }

  /** Calls `close` with the cursor when the transaction has ended. */
  keepCursor(id: Long, close: (id: Long) => void): void {
    if (!id.isZero()) this.ended.then(() => close(id))
  }

  #end(state: 'committed' | 'aborted'): void {
    this.#state = state
    clearTimeout(this.#timer)
    this.#store.close()
    this.#resolveEnded()
  }
}

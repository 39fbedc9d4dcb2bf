/**
 * Groups of operations: those that wait at the same time share one transaction, and so its commands
 * and its flush to disk. Each has its own outcome: one that fails adds nothing, and the others are
 * committed.
 */
import type { ClientSession } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError, EntityConflictError } from '../catalog/errors.ts'
import { isTransient } from '../catalog/outages.ts'
import { runPart } from '../catalog/transactions/state.ts'
import { prefetchBooks } from './books/store-books.ts'

export interface GroupedOperation<T> {
  /** As for `catalog.transaction`. */
  readonly what: string
  /** The accounts whose books it needs. */
  readonly aids: readonly number[]
  /**
   * May be called again. Writes by `stateOf(session).writes` only: commands of its own would stay
   * if it fails later.
   */
  write(session: ClientSession): Promise<T>
}

interface Member extends GroupedOperation<unknown> {
  resolve(result: unknown): void
  reject(error: unknown): void
}

type Outcome = { readonly result: unknown } | { readonly error: unknown }

/** One transaction holds at most so many operations. */
const MEMBERS_MAX = 64
/** More waiting operations are refused at once. */
const WAITING_MAX = 1_000

/** One per process. */
export class MoneyGroup {
  readonly #catalog: Catalog
  readonly #waiting: Member[] = []
  #isRunning = false

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /** Resolves after the commit. Rejects with the error of `write`, or as `catalog.transaction`. */
  run<T>(operation: GroupedOperation<T>): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX) {
      const text = `MongoDB: ${operation.what}: too many transactions are waiting`
      return Promise.reject(new CatalogUnavailableError(text))
    }
    return new Promise<T>((resolve, reject) => {
      const { what, aids } = operation
      this.#waiting.push({
        what,
        aids,
        write: (session) => operation.write(session),
        resolve: resolve as (result: unknown) => void,
        reject,
      })
      if (!this.#isRunning) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) await this.#commitNext()
    this.#isRunning = false
  }

  /** Operations that arrive until the turn of the transaction take part in it. */
  async #commitNext(): Promise<void> {
    let members: readonly Member[] = []
    let outcomes: readonly Outcome[] = []
    try {
      await this.#catalog.transaction('move money', async (session) => {
        if (members.length === 0) members = this.#waiting.splice(0, MEMBERS_MAX)
        outcomes = await this.#attempt(session, members)
        if (!outcomes.some((outcome) => 'result' in outcome)) throw new NothingToCommitError()
      })
    } catch (error) {
      if (members.length === 0) members = this.#waiting.splice(0, MEMBERS_MAX)
      if (!(error instanceof NothingToCommitError)) return this.#recover(members, error)
    }
    for (const [index, member] of members.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('result' in outcome) member.resolve(outcome.result)
      else member.reject(outcome.error)
    }
  }

  async #attempt(session: ClientSession, members: readonly Member[]): Promise<Outcome[]> {
    await prefetchBooks(
      this.#catalog,
      session,
      members.flatMap(({ aids }) => aids),
    )
    const outcomes: Outcome[] = []
    for (const member of members) {
      try {
        outcomes.push({ result: await runPart(session, () => member.write(session)) })
      } catch (error) {
        // The transaction is repeated, or has failed as a whole.
        if (isTransient(error) || error instanceof CatalogUnavailableError) throw error
        outcomes.push({ error })
      }
    }
    return outcomes
  }

  /** A write that the store refuses is that of one operation: each is tried by itself. */
  async #recover(members: readonly Member[], error: unknown): Promise<void> {
    const concernsAll =
      error instanceof CatalogUnavailableError || error instanceof EntityConflictError
    for (const member of members) {
      if (concernsAll || members.length === 1) member.reject(error)
      else {
        const { what } = member
        await this.#catalog
          .transaction(what, (session) => member.write(session))
          .then(member.resolve, member.reject)
      }
    }
  }
}

class NothingToCommitError extends Error {
  override name = 'NothingToCommitError'
}

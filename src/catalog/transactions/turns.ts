/** Turns of the transactions of a process, in the order of arrival. */
import { monotonicMs } from '../../runtime/clock.ts'
import { CatalogUnavailableError } from '../errors.ts'

/** More waiting transactions are refused at once. */
const WAITING_MAX = 1_000

interface Waiter {
  start(): void
}

/**
 * Transactions of one process would conflict on the head: one at a time spares the retries. Across
 * processes the server decides.
 */
export class Turns {
  #isTaken = false
  readonly #waiting: Waiter[] = []

  /**
   * Resolves with the function that ends the turn. Rejects with `CatalogUnavailableError` if the
   * turn does not come by `giveUpMs` (monotonic), or too many are waiting.
   */
  enter(what: string, giveUpMs: number): Promise<() => void> {
    if (!this.#isTaken) {
      this.#isTaken = true
      return Promise.resolve(this.#leave)
    }
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(tooMany(what))
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        start: () => {
          clearTimeout(timer)
          resolve(this.#leave)
        },
      }
      const timer = setTimeout(
        () => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
          reject(tooMany(what))
        },
        Math.max(0, giveUpMs - monotonicMs()),
      )
      this.#waiting.push(waiter)
    })
  }

  readonly #leave = (): void => {
    const next = this.#waiting.shift()
    if (next === undefined) this.#isTaken = false
    else next.start()
  }
}

function tooMany(what: string): CatalogUnavailableError {
  return new CatalogUnavailableError(`MongoDB: ${what}: too many transactions are waiting`)
}

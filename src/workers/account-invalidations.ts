/**
 * Which accounts changed, and when, in a count of events: what was read before is not current any
 * more. Bounded: where too many have changed, all that was read before the last one counts as old.
 */
export class AccountInvalidations {
  readonly #droppedAt = new Map<number, number>()
  #floor = 0
  readonly #accountsMax: number

  constructor(accountsMax = ACCOUNTS_MAX) {
    this.#accountsMax = accountsMax
  }

  invalidate(aid: number, at: number): void {
    if (this.#droppedAt.size >= this.#accountsMax && !this.#droppedAt.has(aid)) {
      this.#floor = at
      this.#droppedAt.clear()
    }
    this.#droppedAt.set(aid, at)
  }

  /** Whether something that was begun to be read at this count is older than the last change. */
  isStale(aid: number, begun: number): boolean {
    if (begun <= this.#floor) return true
    return this.#droppedAt.size > 0 && begun <= (this.#droppedAt.get(aid) ?? 0)
  }
}

const ACCOUNTS_MAX = 10_000

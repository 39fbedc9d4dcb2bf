/**
 * Changed accounts with the time of their last change, in a count of events: data read before it is
 * stale. Bounded: if too many accounts have changed, all data read before the last change is stale.
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

  /** Whether data is stale whose reading began at this count. */
  isStale(aid: number, begun: number): boolean {
    if (begun <= this.#floor) return true
    return this.#droppedAt.size > 0 && begun <= (this.#droppedAt.get(aid) ?? 0)
  }
}

const ACCOUNTS_MAX = 10_000

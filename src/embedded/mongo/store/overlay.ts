import { lockName } from './locks.ts'
import type { Range } from './storage.ts'

/** A written key of a transaction; `value` is undefined if the key is removed. */
export type OverlayEntry = {
  readonly key: Buffer
  readonly name: string
  /** Whether the key exists in the snapshot of the transaction. */
  readonly existed: boolean
  value: Buffer | undefined
}

/** The uncommitted writes of a transaction in one table, in key order. */
export class Overlay {
  readonly #entries = new Map<string, OverlayEntry>()
  /** In key order, without the entries of `#added`. */
  #sorted: OverlayEntry[] = []
  #added: OverlayEntry[] = []

  get size(): number {
    return this.#entries.size
  }

  get(name: string): OverlayEntry | undefined {
    return this.#entries.get(name)
  }

  add(entry: OverlayEntry): void {
    this.#entries.set(entry.name, entry)
    this.#added.push(entry)
  }

  all(): Iterable<OverlayEntry> {
    return this.#entries.values()
  }

  /** The entries of a range in key order. */
  range({ start, end }: Range): readonly OverlayEntry[] {
    if (this.#entries.size === 0) return NONE
    this.#sort()
    return this.#sorted.slice(this.#position(lockName(start)), this.#position(lockName(end)))
  }

  #sort(): void {
    if (this.#added.length === 0) return
    const [only, ...others] = this.#added
    if (only && others.length === 0) this.#sorted.splice(this.#position(only.name), 0, only)
    else this.#sorted = [...this.#sorted, ...this.#added].sort(byName)
    this.#added = []
  }

  /** Number of sorted entries below a key. */
  #position(name: string): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#sorted[middle]!.name < name) low = middle + 1
      else high = middle
    }
    return low
  }
}

const NONE: readonly OverlayEntry[] = []

function byName(a: OverlayEntry, b: OverlayEntry): number {
  return a.name < b.name ? -1 : 1
}

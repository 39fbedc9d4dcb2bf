/**
 * Rates by prefix, for look-ups of the longest one: a map for each length of prefix, asked from the
 * longest down. Maps are kept small, because one that grows is copied in one piece, and a million
 * entries would stall the thread.
 */
import type { RateRevision } from '../../domain/catalogue.ts'
import { addSorted, type RateList, removeSorted } from './rate-list.ts'

/** Parts of the map of one length: a power of two. */
const PARTS = 32

type Parts = Map<string, RateList>[]

export class PrefixMap {
  /** Entries, over all prefixes. */
  size = 0
  /** By length of the prefix, in characters; undefined where there is none of that length. */
  private readonly lengths: (Parts | undefined)[] = []

  add(prefix: string, rate: RateRevision): void {
    const { length } = prefix
    if (length === 0) return
    while (this.lengths.length <= length) this.lengths.push(undefined)
    let parts = this.lengths[length]
    if (parts === undefined) {
      parts = Array.from({ length: PARTS }, () => new Map())
      this.lengths[length] = parts
    }
    const map = parts[partOf(prefix, length)] as Map<string, RateList>
    const list = map.get(prefix)
    if (list === undefined) map.set(prefix, [rate])
    else addSorted(list, rate)
    this.size += 1
  }

  remove(prefix: string, rate: RateRevision): void {
    const map = this.lengths[prefix.length]?.[partOf(prefix, prefix.length)]
    const list = map?.get(prefix)
    if (map === undefined || list === undefined) return
    const before = list.length
    removeSorted(list, rate)
    this.size -= before - list.length
    if (list.length === 0) map.delete(prefix)
  }

  /** The first answer of `choose` to the rates of a prefix of the value, the longest one first. */
  find(
    value: string,
    choose: (rates: readonly RateRevision[]) => RateRevision | null,
  ): RateRevision | null {
    for (let length = Math.min(value.length, this.lengths.length - 1); length > 0; length -= 1) {
      const parts = this.lengths[length]
      if (parts === undefined) continue
      const rates = parts[partOf(value, length)]?.get(value.slice(0, length))
      const chosen = rates === undefined ? null : choose(rates)
      if (chosen !== null) return chosen
    }
    return null
  }
}

/** Chosen by the last two characters, which are spread most evenly. */
function partOf(value: string, length: number): number {
  const last = value.charCodeAt(length - 1)
  return (last + 10 * (length > 1 ? value.charCodeAt(length - 2) : 0)) & (PARTS - 1)
}

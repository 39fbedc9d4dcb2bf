/**
 * Lists of rate revisions, sorted by key and validity, so that the first one has the lowest key.
 */
import type { RateRevision } from '../../domain/catalogue.ts'

export type RateList = RateRevision[]

export function addSorted(list: RateList, rate: RateRevision): void {
  const last = list.at(-1)
  // Catalogues are mostly read in key order.
  if (last === undefined || compare(last, rate) < 0) list.push(rate)
  else list.splice(insertionIndex(list, rate), 0, rate)
}

/** Removes this revision object, if it is in the list. */
export function removeSorted(list: RateList, rate: RateRevision): void {
  for (let at = insertionIndex(list, rate); at < list.length; at += 1) {
    const found = list[at] as RateRevision
    if (found === rate) {
      list.splice(at, 1)
      return
    }
    if (compare(found, rate) > 0) return
  }
}

/** Index of the first element that is not below the rate. */
function insertionIndex(list: readonly RateRevision[], rate: RateRevision): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(list[middle] as RateRevision, rate) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function compare(one: RateRevision, other: RateRevision): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1
  return one.fromMs - other.fromMs
}

/** The entry of a table slot: mostly one rate, which needs no list. */
export type RateEntry = RateRevision | RateList

export function withRate(entry: RateEntry | undefined, rate: RateRevision): RateEntry {
  if (entry === undefined) return rate
  const list = Array.isArray(entry) ? entry : [entry]
  addSorted(list, rate)
  return list
}

export function withoutRate(
  entry: RateEntry | undefined,
  rate: RateRevision,
): RateEntry | undefined {
  if (!Array.isArray(entry)) return entry === rate ? undefined : entry
  removeSorted(entry, rate)
  return entry.length > 1 ? entry : entry[0]
}

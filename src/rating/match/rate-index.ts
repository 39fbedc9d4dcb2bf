/**
 * The index of one priority of rate matching: rates by the values of its `match` filters, then by
 * the prefixes of its first `longestPrefix` filter. The other filters (equalFalse, range, regex,
 * further prefixes) test the remaining rates. Without filters of these two types, all rates of the
 * usage type are tested.
 */
import type { RateRevision } from '../../domain/catalogue.ts'
import type { CompiledFilter, Priority } from './calculators.ts'
import { ANY_USAGET } from './calculators.ts'
import { PrefixTable } from './prefix-table.ts'
import { createPatternTest, isInRange, prefixLength, rateTexts } from './rate-field.ts'
import { addSorted, type RateEntry, type RateList, removeSorted } from './rate-list.ts'
import type { UsageFields } from './usage-fields.ts'

/** The rates with the same values in all exact filters. */
interface Group {
  /** Id in the prefix table. */
  readonly id: number
  /** All rates if the priority has no `longestPrefix` filter; otherwise empty. */
  readonly rates: RateList
  /** Number of rates. */
  size: number
}

/**
 * A filter that the index does not cover. Returns a rank (longer prefix first), or -1 if it fails.
 */
type Rank = (rate: RateRevision, value: string) => number

const HOLDS = 0
const FAILS = -1
const NO_RANKS: readonly number[] = []

export class RateIndex {
  readonly #category: string
  readonly #usaget: string
  readonly #filters: Priority
  readonly #exact: readonly CompiledFilter[]
  readonly #prefix: CompiledFilter | null
  /** By position in `filters`; null for filters that the index covers. */
  readonly #ranks: readonly (Rank | null)[]
  readonly #isDirect: boolean
  readonly #groups = new Map<string, Group>()
  readonly #prefixes = new PrefixTable()
  #groupsMade = 0

  /** For rates of a category with this usage type, or with any (`*`). */
  constructor(category: string, usaget: string, filters: Priority) {
    this.#category = category
    this.#usaget = usaget
    this.#filters = filters
    this.#exact = filters.filter(({ type }) => type === 'match')
    this.#prefix = filters.find(({ type }) => type === 'longestPrefix') ?? null
    this.#ranks = filters.map((filter) => (filter === this.#prefix ? null : rankOf(filter)))
    this.#isDirect = this.#ranks.every((rank) => rank === null)
  }

  add(rate: RateRevision): void {
    for (const head of this.#groupKeysOf(rate)) {
      let group = this.#groups.get(head)
      if (group === undefined) {
        group = { id: this.#groupsMade, rates: [], size: 0 }
        this.#groupsMade += 1
        this.#groups.set(head, group)
      }
      group.size += 1
      if (this.#prefix === null) addSorted(group.rates, rate)
      else for (const text of this.#prefixesOf(rate)) this.#prefixes.add(group.id, text, rate)
    }
  }

  /** Removes a rate that was added; it must be the same object. */
  remove(rate: RateRevision): void {
    for (const head of this.#groupKeysOf(rate)) {
      const group = this.#groups.get(head)
      if (group === undefined) continue
      group.size -= 1
      if (this.#prefix === null) removeSorted(group.rates, rate)
      else for (const text of this.#prefixesOf(rate)) this.#prefixes.remove(group.id, text, rate)
      if (group.size === 0) this.#groups.delete(head)
    }
  }

  #prefixesOf(rate: RateRevision): readonly string[] {
    return this.#prefix === null ? [] : rateTexts(rate, this.#prefix.rateKey)
  }

  /**
   * The best rate at the instant; of equal ones the one with the lowest key. Null if none matches.
   */
  find(usage: UsageFields, atMs: number): RateRevision | null {
    const values: string[] = []
    let head = usage.usaget
    let number = ''
    for (const filter of this.#filters) {
      const value = filter.value(usage, atMs)
      if (value === null) return null
      if (filter.type === 'match') head += part(value)
      if (filter === this.#prefix) number = value
      values.push(value)
    }
    const group = this.#groups.get(head)
    if (group === undefined) return null
    if (this.#prefix === null) return this.#choose(group.rates, values, usage.play, atMs)
    for (let length = this.#prefixes.begin(group.id, number); length > 0; length -= 1) {
      const rates = this.#prefixes.at(group.id, number, length, atMs)
      if (rates === undefined) continue
      if (this.#isDirect && this.#prefixes.isSettled()) return rates as RateRevision
      const rate = this.#choose(rates, values, usage.play, atMs)
      if (rate !== null) return rate
    }
    return null
  }

  #choose(
    entry: RateEntry,
    values: readonly string[],
    play: string,
    atMs: number,
  ): RateRevision | null {
    if (this.#isDirect && !Array.isArray(entry)) return holds(entry, play, atMs) ? entry : null
    const rates = Array.isArray(entry) ? entry : [entry]
    let best: RateRevision | null = null
    let bestRanks: readonly number[] = NO_RANKS
    for (let at = 0; at < rates.length; at += 1) {
      const rate = rates[at] as RateRevision
      if (!holds(rate, play, atMs)) continue
      if (this.#isDirect) return rate
      const ranks = this.#ranksOf(rate, values)
      if (ranks === null || (best !== null && !isAbove(ranks, bestRanks))) continue
      // Without further prefixes the first rate is the best one.
      if (ranks.length === 0) return rate
      best = rate
      bestRanks = ranks
    }
    return best
  }

  /** Lengths of the further prefixes, in order of the filters; null if a filter fails. */
  #ranksOf(rate: RateRevision, values: readonly string[]): readonly number[] | null {
    const lengths: number[] = []
    for (const [index, rank] of this.#ranks.entries()) {
      if (rank === null) continue
      const length = rank(rate, values[index] as string)
      if (length === FAILS) return null
      if (length > HOLDS) lengths.push(length)
    }
    return lengths
  }

  /** The keys of the groups of a rate: several if it has lists of values. */
  #groupKeysOf(rate: RateRevision): readonly string[] {
    if (rate.category !== this.#category) return []
    const usagets = this.#usaget === ANY_USAGET ? [...rate.usages.keys()] : [this.#usaget]
    let heads = usagets.filter((usaget) => rate.usages.has(usaget))
    for (const { rateKey } of this.#exact) {
      const texts = rateTexts(rate, rateKey)
      heads = heads.flatMap((head) => texts.map((text) => head + part(text)))
    }
    return heads
  }
}

function holds(rate: RateRevision, play: string, atMs: number): boolean {
  if (atMs < rate.fromMs || atMs >= rate.toMs) return false
  return rate.play === '' || rate.play === play
}

/** Prefixed with its length, so that keys are unambiguous. */
function part(value: string): string {
  return `\n${value.length}:${value}`
}

function isAbove(ranks: readonly number[], others: readonly number[]): boolean {
  for (const [index, rank] of ranks.entries()) {
    const other = others[index] ?? 0
    if (rank !== other) return rank > other
  }
  return false
}

function rankOf({ type, rateKey }: CompiledFilter): Rank | null {
  switch (type) {
    case 'match':
    case 'always':
      return null
    case 'equalFalse':
      return (rate, value) => (rateTexts(rate, rateKey).includes(value) ? FAILS : HOLDS)
    case 'longestPrefix':
      return (rate, value) => prefixLength(rate, rateKey, value) || FAILS
    case 'range':
      return (rate, value) => (isInRange(rate, rateKey, value) ? HOLDS : FAILS)
    case 'regex': {
      const isMatch = createPatternTest()
      return (rate, value) => (isMatch(rate, rateKey, value) ? HOLDS : FAILS)
    }
  }
}

/**
 * Finds the rate of a usage: by the configured calculators, or without calculators by the templates
 * of `rating.rateKeys`. Follows the catalogue in small steps.
 */
import { type RateRevision, RETAIL, revisionAt } from '../../domain/catalogue.ts'
import { ANY_USAGET, type Calculators, type Priority } from './calculators.ts'
import { RateBegins } from './rate-begins.ts'
import { RateIndex } from './rate-index.ts'
import { CALLED_NUMBER, compileRateKey, type RateKeyTemplate } from './rate-keys.ts'
import type { UsageFields } from './usage-fields.ts'

export type { UsageFields }

/** Revisions of one rate, sorted by `fromMs`; empty if the rate was removed. */
export interface ChangedRateRevisions {
  key: string
  revisions: readonly RateRevision[]
}

/** How far ahead other rates are looked for, and at how many instants. */
const AHEAD_MS = 86_400_000
const BEGINS_MAX = 8

type Step = (usage: UsageFields, atMs: number) => RateRevision | null

const PLUS = '+'.charCodeAt(0)

const BY_CALLED_NUMBER: Priority = [
  {
    type: 'longestPrefix',
    rateKey: 'params.prefix',
    // Networks may send international numbers with `+`, which prefixes do not have.
    value: ({ calledNumber }) =>
      calledNumber.charCodeAt(0) === PLUS ? calledNumber.slice(1) : calledNumber,
  },
]

/** Skips the step for usage without a called number. */
function ifCalledNumber(step: Step): Step {
  return (usage, atMs) => (usage.calledNumber === '' ? null : step(usage, atMs))
}

export class RateFinder {
  readonly #rates = new Map<string, readonly RateRevision[]>()
  readonly #indexes: RateIndex[] = []
  readonly #begins = new RateBegins()
  /** Category → usage type, or `*` → steps in order. */
  readonly #configured = new Map<string, ReadonlyMap<string, readonly Step[]>>()
  /** The configured categories except retail. */
  readonly #others: readonly string[]
  /** Whether the event time is a value of rules, so that any instant may have another rate. */
  readonly readsTime: boolean
  /** Steps for retail if the usage type has no configured rules. */
  readonly #unconfigured: readonly Step[]

  /** `rateKeys`: the templates of `rating.rateKeys`. Throws for an unknown placeholder. */
  constructor(calculators: Calculators, rateKeys: readonly string[]) {
    this.readsTime = calculators.readsTime
    for (const [category, usagets] of calculators.categories) {
      const steps = [...usagets].map(([usaget, priorities]): [string, readonly Step[]] => [
        usaget,
        priorities.map((priority) => this.#indexed(category, usaget, priority)),
      ])
      this.#configured.set(category, new Map(steps))
    }
    this.#others = [...this.#configured.keys()].filter((category) => category !== RETAIL)
    this.#unconfigured = rateKeys.map((template) =>
      template === CALLED_NUMBER
        ? ifCalledNumber(this.#indexed(RETAIL, ANY_USAGET, BY_CALLED_NUMBER))
        : this.#byKey(compileRateKey(template)),
    )
  }

  /**
   * Applies changed rates. Takes a few µs for each value that rules compare, so a large catalogue
   * is passed in pages. Until the last page only the rates passed so far are found.
   */
  update(changed: Iterable<ChangedRateRevisions>): void {
    for (const { key, revisions } of changed) {
      const before = this.#rates.get(key) ?? []
      this.#begins.replace(before, revisions)
      for (const index of this.#indexes) {
        for (const rate of before) index.remove(rate)
        for (const rate of revisions) index.add(rate)
      }
      if (revisions.length === 0) this.#rates.delete(key)
      else this.#rates.set(key, revisions)
    }
  }

  /** All current rates. The finder may be updated during iteration. */
  *all(): Generator<ChangedRateRevisions> {
    for (const [key, revisions] of this.#rates) yield { key, revisions }
  }

  /** The categories beside retail in which a usage type must have a rate. */
  otherCategories(usaget: string): readonly string[] {
    if (this.#others.length === 0) return this.#others
    return this.#others.filter((category) => {
      const usagets = this.#configured.get(category)
      return usagets?.has(usaget) === true || usagets?.has(ANY_USAGET) === true
    })
  }

  /** The rate of a category that is valid at the instant; null if no priority finds one. */
  find(category: string, usage: UsageFields, atMs: number): RateRevision | null {
    for (const step of this.#stepsOf(category, usage.usaget)) {
      const rate = step(usage, atMs)
      if (rate !== null) return rate
    }
    return null
  }

  /**
   * Until when `find` returns the same rate, at most `untilMs`; perhaps earlier than needed beyond
   * the next day.
   */
  changeAfter(category: string, usage: UsageFields, atMs: number, untilMs: number): number {
    let beginMs = this.#begins.after(atMs)
    if (beginMs >= untilMs) return untilMs
    const rate = this.find(category, usage, atMs)
    for (let tried = 0; beginMs < untilMs; tried += 1) {
      const isFar = beginMs > atMs + AHEAD_MS || tried === BEGINS_MAX
      if (isFar || this.find(category, usage, beginMs) !== rate) return beginMs
      beginMs = this.#begins.after(beginMs)
    }
    return untilMs
  }

  #stepsOf(category: string, usaget: string): readonly Step[] {
    const usagets = this.#configured.get(category)
    const steps = usagets?.get(usaget) ?? usagets?.get(ANY_USAGET)
    return steps ?? (category === RETAIL ? this.#unconfigured : [])
  }

  #indexed(category: string, usaget: string, priority: Priority): Step {
    const index = new RateIndex(category, usaget, priority)
    this.#indexes.push(index)
    return (usage, atMs) => index.find(usage, atMs)
  }

  #byKey(template: RateKeyTemplate): Step {
    return (usage, atMs) => {
      const key = template(usage)
      const rate = key === null ? null : revisionAt(this.#rates.get(key), atMs)
      if (rate === null || rate.category !== RETAIL || !rate.usages.has(usage.usaget)) return null
      return rate.play === '' || rate.play === usage.play ? rate : null
    }
  }
}

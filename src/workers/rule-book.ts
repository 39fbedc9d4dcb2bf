/**
 * The rules for identification and rate matching: those of the installation, and those of file
 * types. A request names its rules by their digest.
 */
import { compileIdentification, type Identification } from '../rating/identify.ts'
import { compileCalculators } from '../rating/match/calculators.ts'
import { type ChangedRateRevisions, RateFinder } from '../rating/match/finder.ts'

export interface RuleSet {
  readonly identification: Identification
  readonly finder: RateFinder
}

/** Rules of a file type, as in its document. */
export interface NamedRules {
  readonly key: string
  readonly rateCalculators: unknown
  readonly customerIdentification: unknown
}

export interface RuleBookOptions {
  /** The rules of the installation. */
  readonly own: RuleSet
  /** Templates of rate keys, for usage types without calculators. */
  readonly rateKeys: readonly string[]
  readonly countryPrefix: string
}

/** Rates that are added to a new finder before it yields to the event loop. */
const RATES_PER_TURN = 500
/** Number of former rules that are kept for requests decoded with them. */
const FORMER_RULES_KEPT = 8

export class RuleBook {
  readonly #options: RuleBookOptions
  #sets = new Map<string, RuleSet>()
  /** All finders that follow the rates, including incomplete ones. */
  readonly #finders = new Set<RateFinder>()
  #former: string[] = []
  #following: Promise<void> = Promise.resolve()

  constructor(options: RuleBookOptions) {
    this.#options = options
    this.#finders.add(options.own.finder)
  }

  /** The rules of the installation. */
  get own(): RuleSet {
    return this.#options.own
  }

  /** The rules of a request; undefined if they are unknown or not ready yet. */
  of(key: string): RuleSet | undefined {
    return key === '' ? this.#options.own : this.#sets.get(key)
  }

  /** Fields of subscribers that any rule looks up, without those of all installations. */
  targetKeys(): readonly string[] {
    const sets = [this.#options.own, ...this.#sets.values()]
    return [...new Set(sets.flatMap(({ identification }) => identification.targetKeys()))]
  }

  /** Applies changed rates, as `RateFinder.update`. */
  update(changed: readonly ChangedRateRevisions[]): void {
    for (const finder of this.#finders) finder.update(changed)
  }

  /**
   * Loads these rules, yielding to other work; known ones stay as they are. Rejects with
   * `FieldError` for invalid rules; the valid ones are loaded nevertheless.
   */
  follow(named: readonly NamedRules[]): Promise<void> {
    const next = this.#following.then(() => this.#take(named))
    this.#following = next.catch(() => undefined)
    return next
  }

  async #take(named: readonly NamedRules[]): Promise<void> {
    const failures: unknown[] = []
    for (const rules of named) {
      if (this.#sets.has(rules.key)) continue
      try {
        await this.#add(rules)
      } catch (error) {
        failures.push(error)
      }
    }
    this.#dropUnused(new Set(named.map(({ key }) => key)))
    if (failures.length > 0) throw failures[0]
  }

  async #add({ key, rateCalculators, customerIdentification }: NamedRules): Promise<void> {
    const { own, rateKeys, countryPrefix } = this.#options
    const identification =
      customerIdentification === undefined
        ? own.identification
        : compileIdentification(customerIdentification, countryPrefix)
    let { finder } = own
    if (rateCalculators !== undefined) {
      finder = new RateFinder(compileCalculators(rateCalculators), rateKeys)
      this.#finders.add(finder)
      await this.#fill(finder)
    }
    this.#sets.set(key, { identification, finder })
  }

  /** Changes during the copy reach the new finder by `update`. */
  async #fill(finder: RateFinder): Promise<void> {
    let page: ChangedRateRevisions[] = []
    for (const rate of this.#options.own.finder.all()) {
      page.push(rate)
      if (page.length < RATES_PER_TURN) continue
      finder.update(page)
      page = []
      await new Promise((resolve) => setImmediate(resolve))
    }
    finder.update(page)
  }

  #dropUnused(used: ReadonlySet<string>): void {
    const gone = [...this.#sets.keys()].filter((key) => !used.has(key))
    this.#former = [...this.#former.filter((key) => gone.includes(key))]
    this.#former.push(...gone.filter((key) => !this.#former.includes(key)))
    for (const key of this.#former.splice(
      0,
      Math.max(0, this.#former.length - FORMER_RULES_KEPT),
    )) {
      const finder = this.#sets.get(key)?.finder
      this.#sets.delete(key)
      if (finder !== undefined && finder !== this.#options.own.finder) this.#finders.delete(finder)
    }
  }
}

/** All rules of the installation, and the selection for a subscriber. */
import { ACTION_TYPES } from './rule-documents.ts'
import { type BalanceRule, SubscriberRules } from './rules.ts'

export interface RuleSubject {
  aid: number
  plan: string
  /** Active services of the subscriber and its account. Read only if a rule names one. */
  services(): Iterable<string>
}

/** Selections that are kept. */
const SELECTIONS_MAX = 10_000

/** Immutable; selections are cached. */
export class BalanceRuleSet {
  /** Rules without restriction to accounts, and those of each account. */
  readonly #common: readonly BalanceRule[]
  readonly #byAccount = new Map<number, BalanceRule[]>()
  /** Services that a rule names. */
  readonly #services: readonly string[]
  readonly #selections = new Map<string, SubscriberRules | null>()
  readonly #active: readonly BalanceRule[]
  /** The rules with actions, in the order in which they apply; null if there are none. */
  readonly withActions: BalanceRuleSet | null

  constructor(rules: readonly BalanceRule[]) {
    const active = rules.filter(({ document }) => document.active !== false)
    this.#active = active
    this.withActions = this.#ofActions(inOrderOfActions(active))
    const accountsOf = ({ document }: BalanceRule) => document.filter?.aid
    this.#common = active.filter((rule) => accountsOf(rule) === undefined)
    for (const rule of active) {
      for (const aid of new Set(accountsOf(rule))) {
        this.#byAccount.set(aid, [...(this.#byAccount.get(aid) ?? []), rule])
      }
    }
    this.#services = [...new Set(active.flatMap(({ document }) => document.filter?.service ?? []))]
  }

  #ofActions(rules: readonly BalanceRule[]): BalanceRuleSet | null {
    if (rules.length === 0) return null
    const isThis =
      rules.length === this.#active.length &&
      rules.every((rule, index) => rule === this.#active[index])
    return isThis ? this : new BalanceRuleSet(rules)
  }

  get isEmpty(): boolean {
    return this.#common.length === 0 && this.#byAccount.size === 0
  }

  /** Whether the services of a subscriber have to be known. */
  get needsServices(): boolean {
    return this.#services.length > 0
  }

  #inOrder(rules: readonly BalanceRule[]): BalanceRule[] {
    const chosen = new Set(rules)
    return this.#active.filter((rule) => chosen.has(rule))
  }

  /** Null if no rule is for the subscriber. */
  of(subject: RuleSubject): SubscriberRules | null {
    const { aid, plan } = subject
    const ofAccount = this.#byAccount.get(aid)
    let key = plan
    if (ofAccount !== undefined) key += `\n${aid}`
    let services: Set<string> = NONE
    if (this.#services.length > 0) {
      services = new Set(subject.services())
      key += `\n${this.#services.filter((name) => services.has(name)).join('\n')}`
    }
    const known = this.#selections.get(key)
    if (known !== undefined) return known
    const candidates =
      ofAccount === undefined ? this.#common : this.#inOrder([...this.#common, ...ofAccount])
    const rules = candidates.filter(({ document: { filter = {} } }) => {
      if (filter.plan !== undefined && !filter.plan.includes(plan)) return false
      return filter.service === undefined || filter.service.some((name) => services.has(name))
    })
    const selection = rules.length === 0 ? null : new SubscriberRules(rules)
    if (this.#selections.size >= SELECTIONS_MAX) this.#selections.clear()
    this.#selections.set(key, selection)
    return selection
  }
}

/** The rules with actions, by type of action, within a type in the order of the settings. */
function inOrderOfActions(rules: readonly BalanceRule[]): BalanceRule[] {
  return ACTION_TYPES.flatMap((type) => rules.filter(({ action }) => action?.type === type))
}

const NONE: Set<string> = new Set()

/**
 * The events of one commit of an account: rules of balances, applied to each request of the
 * attempt. An attempt that is refused is decided again, and so are its events: those of a commit
 * are written with it, or nothing.
 */
import { createHash } from 'node:crypto'
import type { OwnerState } from '../domain/bucket.ts'
import { revisionAt, type SubscriberProfile } from '../domain/catalogue.ts'
import { type Cycle, cycleAt, cycleEndMs } from '../domain/cycle.ts'
import {
  type BalanceEvent,
  eventOf,
  identityOf,
  type UnstampedEvent,
} from '../domain/events/event.ts'
import type { BalanceRuleSet } from '../domain/events/rule-set.ts'
import type { SubscriberRules } from '../domain/events/rules.ts'
import { addToTotals } from '../domain/events/usage-totals.ts'
import { type Use, usesOf } from '../domain/events/uses.ts'
import { activeProductsAt } from '../rating/active-products.ts'
import type { ChargeCommit, ChargeContext, ChargeView } from '../rating/decision.ts'
import type { Item } from './item.ts'

/** The request of which the usage is observed. */
export type ObservedRequest = Pick<Item, 'request' | 'sessionKey'>

interface PendingEvent {
  event: UnstampedEvent
  identity: string
}

export class CommitEvents {
  readonly #rules: BalanceRuleSet
  readonly #context: ChargeContext
  #pending: PendingEvent[] | null = null

  constructor(rules: BalanceRuleSet, context: ChargeContext) {
    this.#rules = rules
    this.#context = context
  }

  /**
   * Applies the rules to a request. `profile`: null if it is unavailable, and then rules for
   * certain services do not apply. Returns the subscriber to commit, with totals of usage that
   * rules need.
   */
  observe(
    item: ObservedRequest,
    view: ChargeView,
    commit: ChargeCommit,
    profile: SubscriberProfile | null,
  ): OwnerState {
    const { subscriber, account, session } = commit
    const { aid, sid } = subscriber
    const plan = planOf(view, commit)
    if (plan === null) return subscriber
    const services = () => activeServices(this.#context, item, profile)
    const rules = this.#rules.of({ aid, plan, services })
    if (rules === null) return subscriber
    const uses = usesOf(view.session, commit, item)
    if (uses.length === 0) return subscriber
    const counted = this.#withTotals(subscriber, rules, uses, item)
    const before = { subscriber: view.subscriber, account: view.account }
    const after = { subscriber: counted, account }
    const usagets = uses.map(({ usaget }) => usaget)
    const found = rules.matches(before, after, { aid, sid, plan }, usagets)
    if (found.length === 0) return counted
    const { request, sessionKey } = item
    const { nowMs } = this.#context
    const usage = { aid, sid, request, sessionKey, session, uses, nowMs }
    this.#pending ??= []
    for (const match of found) {
      const event = eventOf(match, usage)
      this.#pending.push({ event, identity: identityOf(event, match.balance.key) })
    }
    return counted
  }

  /** The events, if the commit writes this version of a subscriber. */
  stamped(versionOf: (sid: number) => number): BalanceEvent[] {
    const seen = new Map<string, number>()
    return (this.#pending ?? []).map(({ event, identity }) => {
      const { aid, sid } = event
      const version = versionOf(sid)
      const text = `${aid} ${sid} ${version} ${identity}`
      // A balance may move to and fro within one commit.
      const count = seen.get(text) ?? 0
      seen.set(text, count + 1)
      return { stamp: digestOf(`${text} ${count}`), ...event }
    })
  }

  #withTotals(
    subscriber: OwnerState,
    { totals }: SubscriberRules,
    uses: readonly Use[],
    { request }: ObservedRequest,
  ): OwnerState {
    if (totals.length === 0) return subscriber
    let owner = subscriber
    const { cycleAt: openCycleAt, nowMs } = this.#context
    const { eventTimeMs } = request
    const { cycle, oldestMs } = openCycleAt(eventTimeMs, nowMs)
    for (const use of uses) {
      if (!this.#isPostpaid(use.plan, eventTimeMs)) continue
      const itsCycle = use.cycle === cycle.key ? cycle : this.#cycleOf(use.cycle)
      // The totals of closed cycles have been dropped.
      if (itsCycle === null || itsCycle.toMs <= oldestMs) continue
      owner = addToTotals(owner, totals, use, itsCycle, oldestMs)
    }
    return owner
  }

  /** Prepaid balances have no cycle. */
  #isPostpaid(plan: string, atMs: number): boolean {
    const revision = revisionAt(this.#context.catalogue.plans.get(plan), atMs)
    return revision?.connectionType === 'postpaid'
  }

  #cycleOf(key: string): Cycle | null {
    const { zone, cycleDay } = this.#context.calendar
    const endMs = cycleEndMs(key, zone, cycleDay)
    return endMs === null ? null : cycleAt(endMs - 1, zone, cycleDay)
  }
}

/** Names of the services that the subscriber has at the event time; none without a profile. */
export function* activeServices(
  { catalogue, calendar }: ChargeContext,
  { request }: ObservedRequest,
  profile: SubscriberProfile | null,
): Iterable<string> {
  if (profile === null) return
  const products = activeProductsAt(catalogue, profile, request.eventTimeMs, calendar)
  for (const { kind, name, isActive } of products?.offers ?? []) {
    if (kind === 'service' && isActive) yield name
  }
}

/** The plan of the latest usage; null if there is none. */
export function planOf(
  { session: before }: ChargeView,
  { session, lines }: ChargeCommit,
): string | null {
  const { services } = session
  for (let index = services.length - 1; index >= 0; index -= 1) {
    const segment = services[index]?.segment
    if (segment) return segment.plan
  }
  return lines.at(-1)?.plan ?? before?.services.at(-1)?.segment?.plan ?? null
}

/** As long as the stamps of existing systems. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

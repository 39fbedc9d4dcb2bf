/**
 * The events of one commit of an account: rules of balances, applied to each request of the
 * attempt. An attempt that is refused is decided again, and so are its events: those of a commit
 * are written with it, or nothing.
 */
import { createHash } from 'node:crypto'
import type { OwnerState } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { CounterOwners } from '../domain/counters.ts'
import { type ActionInForce, actionsInForce } from '../domain/events/actions-in-force.ts'
import {
  type BalanceEvent,
  eventOf,
  identityOf,
  type UnstampedEvent,
} from '../domain/events/event.ts'
import type { BalanceRuleSet } from '../domain/events/rule-set.ts'
import { usesOf } from '../domain/events/uses.ts'
import {
  begunBy,
  type ChargeCommit,
  type ChargeContext,
  type ChargeView,
} from '../rating/decision.ts'
import { activeServices, withUsageTotals } from '../rating/event-usage.ts'
import type { CreditEvent } from '../store/session-events.ts'
import type { PendingCharge } from './pending-charge.ts'

/** The request of which the usage is observed. */
export type ObservedRequest = Pick<PendingCharge, 'request' | 'sessionKey'>

/** Rules for events, and the effect of their actions. */
export interface EventOptions {
  /** Null if there are none; undefined until they are read, which commits nothing meanwhile. */
  eventRules: () => BalanceRuleSet | null | undefined
  /** Asks for the re-authorization of open sessions; does not wait for it. */
  reauthorize: (event: CreditEvent) => void
}

interface PendingEvent {
  event: UnstampedEvent
  identity: string
}

export class CommitEvents {
  readonly #rules: BalanceRuleSet
  readonly #context: ChargeContext
  #pending: PendingEvent[] | null = null
  readonly #changed = new Map<number, CreditEvent>()

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
    const subject = { aid, plan, services: () => activeServices(this.#context, item, profile) }
    const rules = this.#rules.of(subject)
    if (rules === null) return subscriber
    const uses = usesOf(view.session, commit, item)
    if (uses.length === 0) return subscriber
    const counted = withUsageTotals(this.#context, subscriber, rules.totals, uses, item)
    const before = { subscriber: view.subscriber, account: view.account }
    const after = { subscriber: counted, account }
    const using = { aid, sid, plan }
    const acting = this.#rules.withActions?.of(subject) ?? null
    if (acting !== null) {
      const { eventTimeMs } = item.request
      const begunMs = begunBy(eventTimeMs, this.#context)
      const at = (owners: CounterOwners) =>
        actionsInForce(acting.rules, owners, using, eventTimeMs, begunMs)
      this.#addChange(at(before), at(after), item, using)
    }
    const usagets = uses.map(({ usaget }) => usaget)
    const found = rules.matches(before, after, using, usagets)
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

  /**
   * The owners of balances that have brought an action of a rule into force, or out of it: their
   * open sessions are to be re-authorized after the commit.
   */
  get changed(): Iterable<CreditEvent> {
    return this.#changed.values()
  }

  #addChange(
    before: readonly ActionInForce[],
    after: readonly ActionInForce[],
    { request }: ObservedRequest,
    { aid, sid }: Pick<OwnerState, 'aid' | 'sid'>,
  ): void {
    const isIn = (all: readonly ActionInForce[], one: ActionInForce) =>
      all.some((other) => other.rule === one.rule && other.sid === one.sid)
    const changed = [
      ...after.filter((one) => !isIn(before, one)),
      ...before.filter((one) => !isIn(after, one)),
    ]
    if (changed.length === 0) return
    const owner = changed.some((one) => one.sid === 0) ? 0 : sid
    const { origin, sessionId } = request
    const change = { cause: 'credit', aid, sid: owner } as const
    // The session of the request has its answer, unless another one has changed it again.
    const isFirst = !this.#changed.has(owner)
    this.#changed.set(owner, isFirst ? { ...change, origin, sessionId } : change)
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
}

/** The plan of the latest usage; null without usage. */
export function planOf(
  { session: before }: ChargeView,
  { session, lines }: ChargeCommit,
): string | null {
  const { services } = session
  for (let index = services.length - 1; index >= 0; index -= 1) {
    const segment = services[index]?.segment
    if (segment) return segment.pricing.plan
  }
  return lines.at(-1)?.pricing.plan ?? before?.services.at(-1)?.segment?.pricing.plan ?? null
}

/** As long as the stamps of existing systems. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

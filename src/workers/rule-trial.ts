/**
 * Tries a rule on usage without committing it: the decision and the events are those of the next
 * request with this usage.
 */
import type { ChargeRequest } from '../domain/charge-request.ts'
import { digestOf } from '../domain/digest.ts'
import { type ChangedBalance, changedBalances } from '../domain/events/balance.ts'
import { explainRule, type RuleTrial } from '../domain/events/explain.ts'
import { BalanceRuleSet, type RuleSubject } from '../domain/events/rule-set.ts'
import type { BalanceRule } from '../domain/events/rules.ts'
import { usesOf } from '../domain/events/uses.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import { chargeSession } from '../rating/charge-session.ts'
import type { ChargeContext, ChargeView } from '../rating/decision.ts'
import { activeServices } from '../rating/event-usage.ts'
import { CommitEvents, planOf } from './commit-events.ts'

/** `context` has the profile of the subscriber. */
export function tryRule(
  rule: BalanceRule,
  request: ChargeRequest,
  view: ChargeView,
  context: ChargeContext,
): RuleTrial {
  const { origin, sessionId } = request
  const item = { request, sessionKey: sessionKeyOf(origin, sessionId), digest: digestOf(request) }
  const { outcome, commit } = chargeSession(view, item, context)
  const [service] = outcome.services
  const reason = outcome.reason === 'granted' ? (service?.reason ?? 'granted') : outcome.reason
  const nothing = { reason, detail: outcome.detail, plan: '', balances: [], events: [] }
  const plan = commit === null ? null : planOf(view, commit)
  if (commit === null || plan === null) return { ...nothing, excludedBy: null }
  const { aid, sid } = view.subscriber
  const { profile } = context
  const subject = { aid, plan, services: () => activeServices(context, item, profile) }
  const excludedBy = exclusionOf(rule, subject)
  if (excludedBy !== null) return { ...nothing, plan, excludedBy }
  const observed = new CommitEvents(new BalanceRuleSet([rule]), context)
  const subscriber = observed.observe(item, view, commit, profile)
  const changed: ChangedBalance[] = [
    ...changedBalances(0, view.subscriber, subscriber),
    ...changedBalances(1, view.account, commit.account),
  ]
  const usagets = usesOf(view.session, commit, item).map(({ usaget }) => usaget)
  const change = { subscriber: { aid, sid, plan }, usagets }
  return {
    ...nothing,
    excludedBy,
    plan,
    balances: changed.map((balance) => explainRule(rule, { ...change, balance })),
    events: observed.stamped(() => view.subscriber.version + 1),
  }
}

/** The first list of the filter that does not have the subscriber. */
function exclusionOf(rule: BalanceRule, subject: RuleSubject): RuleTrial['excludedBy'] {
  const { document } = rule
  if (document.active === false) return 'active'
  for (const name of ['plan', 'service', 'aid'] as const) {
    const only = { ...rule, document: { ...document, filter: { [name]: document.filter?.[name] } } }
    if (new BalanceRuleSet([only as BalanceRule]).of(subject) === null) return name
  }
  return null
}

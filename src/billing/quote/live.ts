/** Quotes usage of a subscriber from the live catalogue, profile and balances; read-only. */
import { LENIENT } from '../../catalog/compile/document.ts'
import { findProfile } from '../../catalog/feed/profiles.ts'
import { balanceRulesIn } from '../../catalog/settings/events/event-settings.ts'
import { type Taxation, taxationOf } from '../../catalog/settings/money/taxation-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { SubscriberProfile } from '../../domain/catalogue.ts'
import { type ChargeRequest, serviceRequest } from '../../domain/charge-request.ts'
import { digestOf } from '../../domain/digest.ts'
import { BalanceRuleSet } from '../../domain/events/rule-set.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { loadOwners } from '../../ledger/loading.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext, ChargeView } from '../../rating/decision.ts'
import { createTaxMapping } from '../../rating/tax-mapping.ts'
import { customerProfile } from '../credit/customer-profile.ts'
import type { CustomerSource } from '../customer-lookup.ts'
import { BillingError } from '../errors.ts'
import { deniedResult, type EventResult, usedResult } from './event-result.ts'
import type { LiveCatalogue, LiveRates } from './live-catalogue.ts'
import type { QuoteSettings } from './settings.ts'

/** The usage to quote. */
export interface LiveUsage {
  sid: number
  usaget: string
  usagev: number
  calledNumber: string
  /** Empty if the rate is to be matched. */
  rateKey: string
  /** Epoch ms. */
  atMs: number
}

/** The state that the quote is computed from. */
export interface LiveState extends LiveRates {
  profile: SubscriberProfile
  subscriber: OwnerState
  account: OwnerState
  taxation: Taxation
  /** The event rules with actions; null without such rules. */
  actionRules: BalanceRuleSet | null
}

/** The rules by which usage is priced. */
export type LiveRules = LiveRates & Pick<LiveState, 'taxation'>

/** Where the state is read. */
export interface LiveSource extends CustomerSource {
  readonly ledger: Ledger
  readonly catalogue: LiveCatalogue
}

/** Throws `BillingError` if there is no such subscriber. */
export async function readLiveState(
  source: LiveSource,
  { rating }: Pick<Config, 'rating'>,
  usage: Pick<LiveUsage, 'sid' | 'atMs'>,
): Promise<LiveState> {
  const { catalog, ledger } = source
  const profile = await profileOf(source, usage)
  const [subscriber, account] = await loadOwners(ledger, profile.aid, [usage.sid, 0])
  const rules = await readLiveRules(source, { rating })
  const events = await readCategory(catalog, 'events')
  const { withActions: actionRules } = new BalanceRuleSet(balanceRulesIn(events.value).rules)
  return { ...rules, profile, subscriber, account, actionRules } as LiveState
}

export async function readLiveRules(
  { catalog, catalogue }: Pick<LiveSource, 'catalog' | 'catalogue'>,
  { rating }: Pick<Config, 'rating'>,
): Promise<LiveRules> {
  const rates = await catalogue.current()
  const { value } = await readCategory(catalog, 'taxation')
  return { ...rates, taxation: taxationOf(value, rating) }
}

/** Pure. The same decision as for a request with `pretend`. `nowMs`: the node's clock. */
export function quoteUsage(
  state: LiveState,
  usage: LiveUsage,
  settings: QuoteSettings,
  nowMs: number,
): EventResult {
  const context = liveContext(state, settings, nowMs)
  const request: ChargeRequest = { ...liveRequest(usage, 'start'), pretend: true }
  const identified = { request, sessionKey: request.sessionId, digest: digestOf(request) }
  const { outcome } = chargeSession(liveView(state), identified, context)
  const service = outcome.services[0]
  const line = service?.quote?.line ?? null
  const action = service?.action ?? null
  if (outcome.reason !== 'granted') return deniedResult(outcome.reason, outcome.detail)
  const result = usedResult(line === null ? [] : [line], 0)
  return action === null ? result : { ...result, action }
}

/** The states on which a request that opens a session is decided. */
export function liveView({ subscriber, account }: LiveState): ChargeView {
  return { subscriber, account, session: null }
}

/** The context of a decision by the rules of the installation. */
export function liveContext(
  state: LiveRules & Pick<ChargeContext, 'profile' | 'actionRules'>,
  settings: QuoteSettings,
  nowMs: number,
): ChargeContext {
  const { catalogue, finder, profile, taxation, actionRules } = state
  return {
    catalogue,
    profile,
    finder,
    nowMs,
    calendar: { zone: settings.timeZone, cycleDay: settings.cycleDay },
    cycleAt: settings.cycleAt,
    defaultTax: taxation.defaultTax,
    mapTax: createTaxMapping(taxation.taxPriorities, catalogue.taxes),
    isFreeNumber: settings.isFreeNumber,
    actionRules,
    settings: {
      validityMs: 1000,
      graceMs: 0,
      replayMs: 0,
      refundMicrosMax: 0,
      refundUnitsMax: 0,
      clockDifferenceMs: settings.clockDifferenceMs,
    },
  }
}

export function liveRequest(
  { sid, usaget, usagev, calledNumber, rateKey, atMs }: LiveUsage,
  kind: 'start' | 'event',
): ChargeRequest {
  return {
    kind,
    origin: 'quote',
    sessionId: 'quote',
    requestNumber: -1,
    stamp: '',
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: String(sid),
    eventTimeMs: atMs,
    eventTimeGiven: true,
    services: [serviceRequest({ usaget, requested: usagev, calledNumber, rateKey })],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
  }
}

async function profileOf(
  { catalog, lookup }: CustomerSource,
  { sid, atMs }: Pick<LiveUsage, 'sid' | 'atMs'>,
): Promise<SubscriberProfile> {
  const outside = await customerProfile(lookup, sid, atMs, LENIENT)
  if (outside) return outside
  const query = { key: 'sid', value: String(sid), atMs }
  const stored = outside === null ? null : await findProfile(catalog, query, () => true)
  if (stored !== null) return stored.profile
  throw new BillingError(`there is no subscriber ${sid} at ${new Date(atMs).toISOString()}`, {
    path: 'sid',
  })
}

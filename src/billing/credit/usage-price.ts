/** The price of a credit by usage: the decision of charging, without balances. Pure. */
import { emptyOwner } from '../../domain/bucket.ts'
import type {
  Catalogue,
  PlanRevision,
  RateRevision,
  SubscriberProfile,
} from '../../domain/catalogue.ts'
import { type ChargeRequest, serviceRequest } from '../../domain/charge-request.ts'
import { createCycleFinder } from '../../domain/cycle.ts'
import { digestOf } from '../../domain/digest.ts'
import type { Line } from '../../domain/line.ts'
import { FOREVER_MS, NO_BEGIN_MS } from '../../domain/time.ts'
import { bareCatalogue, bareProfile, negated } from '../../rating/bare-prices.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext } from '../../rating/decision.ts'
import { compileCalculators } from '../../rating/match/calculators.ts'
import { RateFinder } from '../../rating/match/finder.ts'
import type { TaxContext } from '../../rating/price.ts'
import type { BillingCalendar } from '../cycle/cycle-key.ts'

export interface UsageToPrice {
  readonly rate: RateRevision
  readonly usaget: string
  /** In the unit of the catalogue; negative for the price with the sign reversed. */
  readonly units: number
  readonly atMs: number
}

export interface UsageContext {
  readonly catalogue: Pick<Catalogue, 'plans' | 'services'>
  /** Null for a usage of the account, which has no plan and services. */
  readonly profile: SubscriberProfile | null
  readonly taxation: TaxContext
  readonly calendar: BillingCalendar
  readonly nowMs: number
  /** By how much the clock of a network element may differ, ms. */
  readonly clockDifferenceMs: number
}

/**
 * The line that charging would write for the usage without included units, limits and prepaid
 * credit; a text if it cannot be priced. Overrides of plans, services and subscribers apply.
 */
export function usageLine(usage: UsageToPrice, context: UsageContext): Line | string {
  const { rate, usaget, units, atMs } = usage
  const profile = chargeable(context.profile ?? NOBODY)
  const request = requestOf(rate.key, usaget, Math.abs(units), atMs)
  const identified = { request, sessionKey: request.sessionId, digest: digestOf(request) }
  const { aid, sid } = profile
  const state = { subscriber: emptyOwner(aid, sid), account: emptyOwner(aid, 0), session: null }
  const decided = chargeSession(state, identified, chargeContext(usage, context, profile))
  const [line, ...others] = decided.commit?.lines ?? []
  const { reason, detail } = decided.outcome
  if (line === undefined || others.length > 0) {
    return `rate ${rate.key} has no price: ${detail === '' ? reason : detail}`
  }
  return units < 0 ? negated(line) : line
}

function chargeContext(
  { rate }: UsageToPrice,
  { catalogue, taxation, calendar, nowMs, clockDifferenceMs }: UsageContext,
  profile: SubscriberProfile,
): ChargeContext {
  const { plans, services } = catalogue
  const always = { ...rate, fromMs: NO_BEGIN_MS, toMs: FOREVER_MS }
  const known = plans.get(profile.plan) ?? []
  const whole: Catalogue = {
    revision: 1,
    rates: new Map([[rate.key, [always]]]),
    plans: new Map([[profile.plan, [...known, anyPlan(profile.plan)].map(allowingAll)]]),
    services,
    taxes: taxation.taxes,
    prepaidIncludes: new Map(),
  }
  const { defaultTax, mapTax } = taxation
  return {
    catalogue: bareCatalogue(whole),
    finder: new RateFinder(compileCalculators({}), []),
    cycleAt: createCycleFinder(calendar.zone, calendar.cycleDay),
    calendar,
    defaultTax,
    mapTax,
    isFreeNumber: () => false,
    actionRules: null,
    profile,
    nowMs,
    settings: {
      validityMs: 1,
      graceMs: 0,
      replayMs: 0,
      refundMicrosMax: 0,
      refundUnitsMax: 0,
      clockDifferenceMs,
    },
  }
}

/** Barring and the validity of the subscriber restrict usage, not credits. */
function chargeable(profile: SubscriberProfile): SubscriberProfile {
  const period = { fromMs: NO_BEGIN_MS, toMs: FOREVER_MS }
  const active = { activeFromMs: NO_BEGIN_MS, activeToMs: FOREVER_MS }
  return { ...bareProfile(profile), ...period, ...active, barred: false }
}

function allowingAll(plan: PlanRevision): PlanRevision {
  return { ...plan, disallowedRates: new Set() }
}

/** For times without a revision of the plan: the prices of the rate apply. */
function anyPlan(name: string): PlanRevision {
  return {
    id: '',
    fromMs: NO_BEGIN_MS,
    toMs: FOREVER_MS,
    name,
    connectionType: 'postpaid',
    disallowedRates: new Set(),
    services: [],
    prices: new Map(),
    groups: [],
    facts: {},
  }
}

const NOBODY: SubscriberProfile = {
  id: '',
  fromMs: NO_BEGIN_MS,
  toMs: FOREVER_MS,
  aid: 0,
  sid: 0,
  plan: '',
  barred: false,
  activeFromMs: NO_BEGIN_MS,
  activeToMs: FOREVER_MS,
  planFromMs: NO_BEGIN_MS,
  services: [],
  accountServices: [],
  overrides: [],
  creditLimit: null,
  accountCreditLimit: null,
  timeZone: '',
  play: '',
  facts: {},
  pool: null,
}

function requestOf(
  rateKey: string,
  usaget: string,
  requested: number,
  atMs: number,
): ChargeRequest {
  return {
    kind: 'event',
    origin: 'credit',
    sessionId: 'credit',
    requestNumber: 1,
    stamp: '',
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: '',
    eventTimeMs: atMs,
    eventTimeGiven: true,
    services: [serviceRequest({ usaget, requested, rateKey })],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
  }
}

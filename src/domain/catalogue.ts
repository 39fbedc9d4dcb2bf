/**
 * The compiled catalogue: the operator's entities as the hot path needs them, immutable, looked up
 * by key and instant. Revisions of one key are sorted by `fromMs` and do not overlap.
 */
import type { BucketKind } from './bucket.ts'
import type { Tariff, TariffTerms } from './tariff.ts'
import type { LineRounding } from './tax.ts'

/** Tariff category in which every usage must have a rate. */
export const RETAIL = 'retail'

export interface Revision {
  /** Identity of the revision, for segment keys and lines. */
  id: string
  /** Validity [fromMs, toMs). */
  fromMs: number
  toMs: number
}

/** The prices of one usage type at one rate. */
export interface RateUsage {
  base: PriceSet | null
  /** Prices of certain plans, by plan name. */
  plans: ReadonlyMap<string, PriceSet>
}

/** A price by time: that of the first time band in force, otherwise the plain one. */
export interface PriceSet {
  tariff: Tariff
  bands: readonly TimeBand[]
}

/** A time band with its own price, in the subscriber's time zone. */
export interface TimeBand {
  name: string
  /** ISO days of the week, Monday 1; empty for all. */
  days: ReadonlySet<number>
  /** `YYYY-MM-DD`, or `MM-DD` of every year; empty for all. */
  dates: ReadonlySet<string>
  /** Seconds of the day [from, to). If `from` is above `to`, the band continues past midnight. */
  fromSecond: number
  toSecond: number
  tariff: Tariff
}

/** A price of a plan or service for one rate: its own, or a percentage of the rate's price. */
export type PriceOverride =
  | { kind: 'price'; price: PriceSet }
  | { kind: 'percentage'; factor: number; factorDigits: number }

/** Overrides by rate key, then usage type. */
export type PriceOverrides = ReadonlyMap<string, ReadonlyMap<string, PriceOverride>>

/** The tax hint of a rate, plan or service. */
export interface TaxHint {
  type: string
  taxation: 'global' | 'default' | 'no' | 'custom'
  customTax: string
  customLogic: 'override' | 'fallback'
}

export interface RoundingRules extends LineRounding {
  stage: 'before_tax' | 'after_tax'
}

/** A rate, plan or service, for its taxes. */
export interface Taxable {
  key: string
  /** Fields of the document that rules compare: `params` and others. */
  params: Readonly<Record<string, unknown>>
  taxHints: readonly TaxHint[]
}

export interface RateRevision extends Revision, Taxable {
  usages: ReadonlyMap<string, RateUsage>
  /** Like `rounding`, applies to prices of plans and services too (tariff-terms.ts). */
  method: TariffTerms['method']
  /** Tariff category, such as `retail`. */
  category: string
  /** Whether a category other than retail is part of the customer's price. */
  addToRetail: boolean
  /** Subscriber type that the rate is for; empty for all. */
  play: string
  rounding: RoundingRules | null
}

/** A compiled regular expression. */
export interface Pattern {
  readonly source: string
  test(text: string): boolean
}

/** Units or money that a plan or service includes per period. */
export interface IncludedGroup {
  name: string
  /** `units` of usage, or money at the price of the rate. */
  kind: 'units' | 'totalCost'
  /** Units or micros; UNLIMITED_TOTAL if unlimited. */
  total: number
  /** Empty for every usage type. */
  usagets: ReadonlySet<string>
  rates: 'all' | ReadonlySet<string> | Pattern
  /**
   * `shared`: one counter for the account. `pool`: one counter with the shares of all its
   * subscribers.
   */
  sharing: 'none' | 'shared' | 'pool'
  /** Whether the amount is multiplied by the quantity of the service. */
  isPerQuantity: boolean
}

/** The fields for charging that plans and services share. */
export interface Offer {
  prices: PriceOverrides
  groups: readonly IncludedGroup[]
}

export interface PlanRevision extends Revision, Offer {
  name: string
  connectionType: 'prepaid' | 'postpaid'
  /** Rate keys that subscribers of this plan may not use. */
  disallowedRates: ReadonlySet<string>
  /** Services that the plan includes. */
  services: readonly string[]
  /** Scalar fields of the document, for conditions of overrides. */
  facts: Facts
}

/** The period and duration of a service that a subscriber begins to hold under this revision. */
export interface ServiceTerms {
  /** Null if counters follow the billing cycle. */
  period: ServicePeriod | null
  /**
   * Months after which the service ends (`limit_cycles`, or the end of its last price); null if it
   * does not end.
   */
  limitMonths: number | null
}

export interface ServiceRevision extends Revision, Offer, ServiceTerms {
  name: string
  facts: Facts
}

/** A period that begins with the service, in calendar units (`balance_period`). */
export interface ServicePeriod {
  months: number
  days: number
  hours: number
  /** The period ends at midnight, `days` days after the day on which it begins. */
  untilMidnight: boolean
}

export type Facts = Readonly<Record<string, string | number | boolean>>

/** A tax, with the fields that tax mapping reads. */
export interface TaxRevision extends Revision {
  key: string
  description: string
  /** Fraction as decimal text. */
  rate: string
  isEmbedded: boolean
  params: Readonly<Record<string, unknown>>
}

/** Definition of a bucket (`prepaidincludes`). */
export interface PrepaidInclude extends Revision {
  externalId: number
  name: string
  kind: BucketKind
  /** Usage type that it pays for; empty for `totalCost`. */
  usaget: string
  priority: number
  /** True if its buckets belong to the account (sid 0). */
  shared: boolean
  /** True if its buckets never expire. */
  unlimited: boolean
  /** Rates that it may pay for, by plan name or `BASE`; null if it may pay for all. */
  allowedIn: ReadonlyMap<string, ReadonlySet<string>> | null
  /** Further usage types that it pays for. */
  moreUsagets: readonly string[]
}

export interface Catalogue {
  /** Incremented by every change. */
  revision: number
  rates: ReadonlyMap<string, readonly RateRevision[]>
  plans: ReadonlyMap<string, readonly PlanRevision[]>
  services: ReadonlyMap<string, readonly ServiceRevision[]>
  taxes: ReadonlyMap<string, readonly TaxRevision[]>
  prepaidIncludes: ReadonlyMap<number, readonly PrepaidInclude[]>
}

/** A service of a subscriber or account. */
export interface SubscribedService {
  name: string
  /** Distinguishes instances of one service; 0 if the plan includes it or no id was given. */
  serviceId: number
  /** Active in [fromMs, toMs). */
  fromMs: number
  toMs: number
  quantity: number
}

/** Replaces fields of a plan or service for one subscriber or account. */
export interface Override {
  type: 'plan' | 'service'
  key: string
  /** `service_id` to which it applies; 0 for every instance. */
  serviceId: number
  conditions: readonly Condition[]
  /** The replaced fields; null for fields that stay. */
  prices: PriceOverrides | null
  groups: readonly IncludedGroup[] | null
  disallowedRates: ReadonlySet<string> | null
}

/** A test on a fact of the overridden entity. */
export interface Condition {
  field: string
  op: 'eq' | 'ne' | 'in' | 'nin' | 'lt' | 'lte' | 'gt' | 'gte' | 'regex' | 'exists'
  /** A `Pattern` if `op` is `regex`. */
  value: unknown
}

export function isPattern(value: unknown): value is Pattern {
  return typeof value === 'object' && value !== null && 'test' in value
}

/** The plan and services of one subscriber of the account, for pooled groups. */
export type PoolMember = Pick<SubscriberProfile, 'plan' | 'planFromMs' | 'services' | 'timeZone'>

/** The data of an account that charging needs, at an instant. */
export interface AccountProfile extends Revision {
  aid: number
  services: readonly SubscribedService[]
  overrides: readonly Override[]
  /** Micros per cycle; null if there is no limit. */
  creditLimit: number | null
}

/** The data of a subscriber that charging needs, at an instant. */
export interface SubscriberProfile extends Revision {
  aid: number
  sid: number
  plan: string
  barred: boolean
  /** Active in [activeFromMs, activeToMs). */
  activeFromMs: number
  activeToMs: number
  /**
   * When the plan and its included services began; all revisions with one plan have the same value.
   */
  planFromMs: number
  /** Services of the subscriber, and of its account. */
  services: readonly SubscribedService[]
  accountServices: readonly SubscribedService[]
  /** Overrides of the account, then of the subscriber: later ones take precedence. */
  overrides: readonly Override[]
  /** Micros per cycle; null if there is no limit. */
  creditLimit: number | null
  accountCreditLimit: number | null
  /** IANA name; empty for the time zone of the installation. */
  timeZone: string
  play: string
  /** Fields that the node does not know, which rules read as `subscriber.<name>`. */
  facts: Facts
  /** The subscribers of the account; null if nothing is pooled. */
  pool: readonly PoolMember[] | null
}

/** The revision in force at an instant, or null. */
export function revisionAt<T extends Revision>(
  revisions: readonly T[] | undefined,
  atMs: number,
): T | null {
  if (revisions === undefined) return null
  for (const revision of revisions) {
    if (atMs >= revision.fromMs && atMs < revision.toMs) return revision
  }
  return null
}

/** A field of a document by its dotted path; undefined if it is absent. */
export function fieldAt(document: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = document
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

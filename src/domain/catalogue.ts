/**
 * The compiled catalogue: what the hot path needs of the operator's entities, immutable, looked up
 * by key and instant. Revisions of one key are sorted by `fromMs` and do not overlap.
 */
import type { BucketKind } from './bucket.ts'
import type { Tariff, TariffTerms } from './tariff.ts'
import type { LineRounding } from './tax.ts'

/** The tariff category that every usage must have a rate of. */
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

/** A price by time: the first band that holds prices, else the plain one. */
export interface PriceSet {
  tariff: Tariff
  bands: readonly TimeBand[]
}

/** When a price of its own holds, in the subscriber's time zone. */
export interface TimeBand {
  name: string
  /** ISO days of the week, Monday 1; empty for all. */
  days: ReadonlySet<number>
  /** `YYYY-MM-DD`, or `MM-DD` of every year; empty for all. */
  dates: ReadonlySet<string>
  /** Seconds of the day [from, to); from above to goes on past midnight. */
  fromSecond: number
  toSecond: number
  tariff: Tariff
}

/** A price of a plan or service for one rate: its own, or a part of the rate's. */
export type PriceOverride =
  | { kind: 'price'; price: PriceSet }
  | { kind: 'percentage'; factor: number; factorDigits: number }

/** Overrides by rate key, then usage type. */
export type PriceOverrides = ReadonlyMap<string, ReadonlyMap<string, PriceOverride>>

/** What of a rate's tax hint matters (spec/action-api.md 5.8). */
export interface TaxHint {
  type: string
  taxation: 'global' | 'default' | 'no' | 'custom'
  customTax: string
  customLogic: 'override' | 'fallback'
}

export interface RoundingRules extends LineRounding {
  stage: 'before_tax' | 'after_tax'
}

export interface RateRevision extends Revision {
  key: string
  usages: ReadonlyMap<string, RateUsage>
  /** With `rounding`: holds for prices of plans and services too (tariff-terms.ts). */
  method: TariffTerms['method']
  /** Tariff category, such as `retail`. */
  category: string
  /** Whether a category other than retail is part of what the customer pays. */
  addToRetail: boolean
  /** Subscriber type that it is for; empty for all. */
  play: string
  /** What matching reads: `params` and other fields of the document. */
  params: Readonly<Record<string, unknown>>
  taxHints: readonly TaxHint[]
  rounding: RoundingRules | null
}

/** A compiled regular expression. */
export interface Pattern {
  readonly source: string
  test(text: string): boolean
}

/** Units or money that a plan or service includes per period (spec/entity-api.md 4.3). */
export interface IncludedGroup {
  name: string
  /** `units` of usage, or money at the price of the rate. */
  kind: 'units' | 'totalCost'
  /** Units or micros; UNLIMITED_TOTAL for no end. */
  total: number
  /** Empty for every usage type. */
  usagets: ReadonlySet<string>
  rates: 'all' | ReadonlySet<string> | Pattern
  /** One counter for the account; `pool`: with the shares of all its subscribers. */
  sharing: 'none' | 'shared' | 'pool'
  /** Whether the quantity of a service multiplies it. */
  isPerQuantity: boolean
}

/** What plans and services have in common for charging. */
export interface Offer {
  prices: PriceOverrides
  groups: readonly IncludedGroup[]
}

export interface PlanRevision extends Revision, Offer {
  name: string
  connectionType: 'prepaid' | 'postpaid'
  /** Rate keys that subscribers of this plan may not use. */
  disallowedRates: ReadonlySet<string>
  /** Services that come with it. */
  services: readonly string[]
  /** Plain fields of the document, for conditions of overrides. */
  facts: Facts
}

/** How long whoever begins to hold a service under a revision of it holds it. */
export interface ServiceTerms {
  /** Null: counters follow the billing cycle. */
  period: ServicePeriod | null
  /** Months after which it ends (`limit_cycles`, or the end of its last price); null: never. */
  limitMonths: number | null
}

export interface ServiceRevision extends Revision, Offer, ServiceTerms {
  name: string
  facts: Facts
}

/** A period that begins with the service, in calendar steps (`balance_period`). */
export interface ServicePeriod {
  months: number
  days: number
  hours: number
  /** Ends at midnight, this many days after the day of the beginning. */
  untilMidnight: boolean
}

export type Facts = Readonly<Record<string, string | number | boolean>>

/** A tax (spec/entity-api.md 4.10), with the fields that mapping reads. */
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
  /** Usage type it pays for; empty for `totalCost`. */
  usaget: string
  priority: number
  /** True: its buckets belong to the account (sid 0). */
  shared: boolean
  /** True: its buckets never end. */
  unlimited: boolean
  /** Rates that it may pay for, by plan name or `BASE`; null for all. */
  allowedIn: ReadonlyMap<string, ReadonlySet<string>> | null
  /** Usage types that it pays for beside its own. */
  moreUsagets: readonly string[]
}

export interface Catalogue {
  /** Grows with every change. */
  revision: number
  rates: ReadonlyMap<string, readonly RateRevision[]>
  plans: ReadonlyMap<string, readonly PlanRevision[]>
  services: ReadonlyMap<string, readonly ServiceRevision[]>
  taxes: ReadonlyMap<string, readonly TaxRevision[]>
  prepaidIncludes: ReadonlyMap<number, readonly PrepaidInclude[]>
}

/** A service as a subscriber or account holds it (interface.md 2.2). */
export interface SubscribedService {
  name: string
  /** Tells instances of one service apart; 0 if it came with the plan, or was given none. */
  serviceId: number
  /** Held [fromMs, toMs). */
  fromMs: number
  toMs: number
  quantity: number
}

/** Replaces fields of a plan or service for one subscriber or account (interface.md 2.3). */
export interface Override {
  type: 'plan' | 'service'
  key: string
  /** `service_id` that it is meant for; 0 for every instance. */
  serviceId: number
  conditions: readonly Condition[]
  /** Whole fields, where they are given. */
  prices: PriceOverrides | null
  groups: readonly IncludedGroup[] | null
  disallowedRates: ReadonlySet<string> | null
}

/** A test on a fact of the entity that an override is meant for. */
export interface Condition {
  field: string
  op: 'eq' | 'ne' | 'in' | 'nin' | 'lt' | 'lte' | 'gt' | 'gte' | 'regex' | 'exists'
  /** Of `regex` a `Pattern`. */
  value: unknown
}

export function isPattern(value: unknown): value is Pattern {
  return typeof value === 'object' && value !== null && 'test' in value
}

/** What one subscriber of the account holds, for pooled groups. */
export type PoolMember = Pick<SubscriberProfile, 'plan' | 'planFromMs' | 'services' | 'timeZone'>

/** What charging needs to know of an account at an instant. */
export interface AccountProfile extends Revision {
  aid: number
  services: readonly SubscribedService[]
  overrides: readonly Override[]
  /** Micros per cycle; null for no limit. */
  creditLimit: number | null
}

/** What charging needs to know of a subscriber at an instant. */
export interface SubscriberProfile extends Revision {
  aid: number
  sid: number
  plan: string
  barred: boolean
  /** May use anything in [activeFromMs, activeToMs). */
  activeFromMs: number
  activeToMs: number
  /** When its plan began, with the services that it includes; revisions of one plan agree on it. */
  planFromMs: number
  /** Its own services, and those of its account. */
  services: readonly SubscribedService[]
  accountServices: readonly SubscribedService[]
  /** Of the account, then of the subscriber: the later ones win. */
  overrides: readonly Override[]
  /** Micros per cycle; null for no limit. */
  creditLimit: number | null
  accountCreditLimit: number | null
  /** IANA name; empty for the installation's. */
  timeZone: string
  play: string
  /** The subscribers of the account, if something is pooled; else null. */
  pool: readonly PoolMember[] | null
}

/** The revision that holds an instant, or null. */
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

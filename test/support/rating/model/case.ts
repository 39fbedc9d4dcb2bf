/**
 * A case of the offline tariff bench as stored in a file: documents in the form of the entity API,
 * events in order, and the expected results. Amounts are decimals, money in the currency, volumes
 * in base units; credit is positive. Instants without a zone are in `config.time_zone`.
 */
import type { PricingMethod } from '../../../../src/domain/pricing/models.ts'

export interface QuoteCase {
  name: string
  catalogue: Catalogue
  account?: AccountDocument
  subscriber?: SubscriberDocument
  /** In place of `subscriber`; events name one of them by `sid`. */
  subscribers?: SubscriberDocument[]
  config?: CaseConfig
  events: QuoteEvent[]
  expect?: Partial<QuoteResult>[]
}

export interface Catalogue {
  rates?: RateDocument[]
  plans?: PlanDocument[]
  services?: ServiceDocument[]
  prepaidincludes?: PrepaidIncludeDocument[]
  taxes?: TaxDocument[]
}

export interface CaseConfig {
  cycle_day?: number
  time_zone?: string
  default_tax?: string
}

/** Validity `[from, to)`; unbounded on a side that is absent. */
export interface Validity {
  from?: string
  to?: string
}

export interface TierDocument {
  from?: number
  to?: number | 'UNLIMITED'
  interval: number
  price: number
  ceil?: boolean
}

export interface PriceDocument {
  rate: TierDocument[]
  access?: number
  minimum_charge?: number
}

/** The value of a plan or a service that may replace a price. */
export type OverrideDocument = PriceDocument | { percentage: number }

/** Rate key, usage type. */
export type OverridesDocument = Record<string, Record<string, OverrideDocument>>

export interface RoundingDocument {
  rounding_type?: 'up' | 'down' | 'nearest' | 'None'
  rounding_decimals?: number
  rounding_stage?: 'before_tax' | 'after_tax'
}

export interface TaxHint {
  type: string
  taxation: 'global' | 'default' | 'no' | 'custom'
  custom_logic?: 'override' | 'fallback'
  custom_tax?: string
}

export interface RateDocument extends Validity {
  key: string
  /** Usage type, then `BASE` or the name of a plan. */
  rates: Record<string, Record<string, PriceDocument>>
  pricing_method?: PricingMethod
  rounding_rules?: RoundingDocument
  tax?: TaxHint[]
}

/** Units (`value`) or money (`cost`); in the old form the usage type is the name of the amount. */
export interface GroupDocument {
  value?: number | 'UNLIMITED'
  cost?: number
  usage_types?: Record<string, object>
  rates?: string[] | string
  account_shared?: boolean
  account_pool?: boolean
  quantity_affected?: boolean
  [usaget: string]: unknown
}

export interface PlanDocument extends Validity {
  name: string
  connection_type: 'prepaid' | 'postpaid'
  include?: { services?: string[]; groups?: Record<string, GroupDocument> }
  rates?: OverridesDocument
  disallowed_rates?: string[]
}

export interface ServiceDocument extends Validity {
  name: string
  balance_period?: string
  include?: { groups?: Record<string, GroupDocument> }
  rates?: OverridesDocument
}

export interface PrepaidIncludeDocument extends Validity {
  name: string
  external_id: number
  priority: number
  charging_by: 'usagev' | 'cost' | 'total_cost'
  charging_by_usaget: string
  shared?: boolean
  unlimited?: boolean
  allowed_in?: Record<string, string[]>
  additional_charging_usaget?: string[]
}

export interface TaxDocument extends Validity {
  key: string
  rate: number
  embed_tax?: boolean
}

export interface ServiceEntry extends Validity {
  name: string
  service_id?: number
  quantity?: number
}

/** Fields of a plan or service overridden for one account or subscriber. */
export interface EntityOverride {
  type: 'plan' | 'service'
  key: string
  id?: string
  value: Partial<PlanDocument> | Partial<ServiceDocument>
}

export interface AccountDocument {
  aid?: number
  services?: ServiceEntry[]
  overrides?: EntityOverride[]
  credit_limit?: number
}

export interface SubscriberDocument {
  sid?: number
  aid?: number
  plan: string
  services?: ServiceEntry[]
  overrides?: EntityOverride[]
  credit_limit?: number
  activation_date?: string
  deactivation_date?: string
  buckets?: BucketDocument[]
}

export interface BucketDocument extends Validity {
  pp_includes_external_id: number
  value: number
}

export interface QuoteEvent {
  sid?: number
  usaget: string
  usagev: number
  /** Key of the rate. */
  rate: string
  called_number?: string
  urt: string
  /** `event_request`: all or nothing. */
  record_type?: string
}

/** A denied event reports only `granted`, `aprice` and `returnCode`. */
export interface QuoteResult {
  returnCode: number
  granted: number
  aprice: number
  in_group: number
  over_group: number
  out_group: number
  final_charge: number
  arate_key: string
}

/**
 * Documents to what charging uses (domain/catalogue.ts). Pure. A document is compiled whole or not
 * at all: each function throws `CompileError` with the path of the field that cannot be used.
 */
import type { BucketKind } from '../domain/bucket.ts'
import type {
  PlanRevision,
  PrepaidInclude,
  RateRevision,
  RateUsage,
  Revision,
  SubscriberProfile,
} from '../domain/catalogue.ts'
import type { Tariff } from '../domain/tariff.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { compileTariff } from './compile-tariff.ts'
import { AccountSchema } from './entities/account.ts'
import { checkSchema, type Stored } from './entities/entity.ts'
import { type PlanDocument, PlanSchema } from './entities/plan.ts'
import { type PrepaidIncludeDocument, PrepaidIncludeSchema } from './entities/prepaid-include.ts'
import { type RateDocument, RateSchema } from './entities/rate.ts'
import { type SubscriberDocument, SubscriberSchema } from './entities/subscriber.ts'
import { CompileError } from './errors.ts'
import { type Fields, objectAt, unsupported } from './field.ts'

/** A document as it comes from the store: nothing is known but where it is. */
export type RawDocument = Stored & Record<string, unknown>

export function compileRate(document: RawDocument): RateRevision {
  checkSchema(RateSchema, document)
  const rate = document as RawDocument & RateDocument
  if (rate.pricing_method === 'volume') {
    throw new CompileError('pricing_method', "'volume' is not supported yet")
  }
  if (rate.tariff_category !== undefined && rate.tariff_category !== 'retail') {
    throw new CompileError('tariff_category', "other than 'retail' is not supported yet")
  }
  refuseRounding(rate.rounding_rules)
  const usages = new Map<string, RateUsage>()
  for (const [usaget, prices] of Object.entries(rate.rates)) {
    const path = `rates.${usaget}`
    checkUsageType(usaget, path)
    usages.set(usaget, compileUsage(prices, path))
  }
  if (usages.size === 0) throw new CompileError('rates', 'must have at least one usage type')
  return { ...revisionOf(rate), key: rate.key, usages }
}

function compileUsage(prices: unknown, path: string): RateUsage {
  let base: Tariff | null = null
  const plans = new Map<string, Tariff>()
  const entries = Object.entries(objectAt(prices, path))
  if (entries.length === 0) throw new CompileError(path, 'must have a price: BASE or a plan')
  for (const [name, price] of entries) {
    // Caps of a single grant stand beside the prices and are no plans (spec/realtime.md 4.5).
    if (name.startsWith('prepaid_granted_')) unsupported([price], `${path}.${name}`)
    const tariff = compileTariff(price, `${path}.${name}`)
    if (name === 'BASE') base = tariff
    else plans.set(name, tariff)
  }
  return { base, plans }
}

export function compilePlan(document: RawDocument): PlanRevision {
  checkSchema(PlanSchema, document)
  const plan = document as RawDocument & PlanDocument
  unsupported(plan.rates, 'rates')
  unsupported((plan.include as Fields | null | undefined)?.['groups'], 'include.groups')
  refuseRounding(document['rounding_rules'])
  return {
    ...revisionOf(plan),
    name: plan.name,
    connectionType: plan.connection_type,
    disallowedRates: new Set(plan.disallowed_rates ?? []),
  }
}

const KIND_OF_CHARGING: Readonly<Record<PrepaidIncludeDocument['charging_by'], BucketKind>> = {
  usagev: 'units',
  cost: 'cost',
  total_cost: 'totalCost',
}

export function compilePrepaidInclude(document: RawDocument): PrepaidInclude {
  checkSchema(PrepaidIncludeSchema, document)
  const include = document as RawDocument & PrepaidIncludeDocument
  unsupported(include.allowed_in, 'allowed_in')
  unsupported(include.additional_charging_usaget, 'additional_charging_usaget')
  const kind = KIND_OF_CHARGING[include.charging_by]
  checkUsageType(include.charging_by_usaget, 'charging_by_usaget')
  return {
    ...revisionOf(include),
    externalId: include.external_id,
    name: include.name,
    kind,
    usaget: kind === 'totalCost' ? '' : include.charging_by_usaget,
    priority: include.priority,
    shared: include.shared ?? false,
    unlimited: include.unlimited ?? false,
  }
}

export function compileSubscriber(document: RawDocument): SubscriberProfile {
  checkSchema(SubscriberSchema, document)
  const subscriber = document as RawDocument & SubscriberDocument
  return {
    ...revisionOf(subscriber),
    aid: subscriber.aid,
    sid: subscriber.sid,
    plan: subscriber.plan,
    barred: subscriber.barred ?? false,
  }
}

/** Nothing of an account is charged by yet; what is stored must be right all the same. */
export function compileAccount(document: RawDocument): Revision {
  checkSchema(AccountSchema, document)
  return revisionOf(document as RawDocument & { from: Date; to: Date })
}

/**
 * The identity holds the number of the write: a revision that was edited in place is another one
 * for sessions, which so end the segment with the old price.
 */
function revisionOf(document: Stored & { from: Date; to: Date }): Revision {
  const fromMs = document.from.getTime()
  const toMs = Math.min(document.to.getTime(), FOREVER_MS)
  if (!(toMs > fromMs)) throw new CompileError('to', 'must be after from')
  return { id: `${document._id.toHexString()}.${document.rev ?? 0}`, fromMs, toMs }
}

/**
 * Usage types become parts of field paths in balances, so they hold nothing that means more there.
 */
function checkUsageType(usaget: string, path: string): void {
  if (!/^[A-Za-z0-9_-]+$/.test(usaget)) {
    throw new CompileError(path, 'must be named with letters, digits, _ and - only')
  }
}

function refuseRounding(rules: unknown): void {
  if (typeof rules !== 'object' || rules === null) return
  const { rounding_type: type } = rules as Fields
  if (type !== undefined && type !== '' && type !== 'None') {
    throw new CompileError('rounding_rules.rounding_type', 'is not supported yet')
  }
}

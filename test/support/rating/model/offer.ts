/**
 * The products of a subscriber at an instant: its plan and services with overrides, and whose price
 * applies.
 */
import { instantOf, isWithin, periodEnd } from './calendar.ts'
import type {
  GroupDocument,
  OverrideDocument,
  OverridesDocument,
  PlanDocument,
  PriceDocument,
  QuoteCase,
  RateDocument,
  ServiceDocument,
  ServiceEntry,
  SubscriberDocument,
} from './case.ts'

/** A plan or an instance of a service, in the order in which prices are looked up. */
export interface ProductInstance {
  kind: 'plan' | 'service'
  name: string
  /** Identifies this instance among all of the subscriber. */
  instance: string
  groups: Record<string, GroupDocument>
  rates: OverridesDocument
  quantity: number
  isActive: boolean
  /** The period of a service, if it has its own; null for the billing cycle. */
  period: { fromMs: number; toMs: number } | null
}

export interface Offer {
  plan: PlanDocument
  planInstance: ProductInstance
  services: ProductInstance[]
}

export function zoneOf({ config }: QuoteCase): string {
  return config?.time_zone ?? 'UTC'
}

export function validAt<T extends { from?: string; to?: string }>(
  documents: readonly T[] | undefined,
  atMs: number,
  zone: string,
): T[] {
  return (documents ?? []).filter((document) => isWithin(document, atMs, zone))
}

/**
 * Null without a plan. Services: those included in the plan, the subscriber's, the account's. A
 * service of the account is active for each of its subscribers, and counted for the account.
 */
export function offerOf(
  testCase: QuoteCase,
  subscriber: SubscriberDocument,
  atMs: number,
): Offer | null {
  const zone = zoneOf(testCase)
  const found = validAt(testCase.catalogue.plans, atMs, zone).find(
    ({ name }) => name === subscriber.plan,
  )
  if (found === undefined) return null
  const plan = overridden(found, testCase, subscriber, 'plan', undefined)
  const services: ProductInstance[] = []
  const hold = (entries: readonly ServiceEntry[], by: string) => {
    for (const [index, entry] of entries.entries()) {
      const document = validAt(testCase.catalogue.services, atMs, zone).find(
        ({ name }) => name === entry.name,
      )
      if (document === undefined) continue
      const service = overridden(document, testCase, subscriber, 'service', entry.service_id)
      const instance = `${by} ${entry.service_id ?? index} ${entry.name}`
      services.push(productInstanceOf(service, entry, instance, atMs, zone))
    }
  }
  hold(
    (plan.include?.services ?? []).map((name) => ({ name })),
    'included',
  )
  // A service without a begin is active from the activation on.
  const begun = (subscriber.services ?? []).map((entry) => {
    const from = entry.from ?? subscriber.activation_date
    return from === undefined ? entry : { ...entry, from }
  })
  hold(begun, 'own')
  hold(testCase.account?.services ?? [], 'account')
  const planInstance: ProductInstance = {
    kind: 'plan',
    name: plan.name,
    instance: `plan ${plan.name}`,
    groups: plan.include?.groups ?? {},
    rates: plan.rates ?? {},
    quantity: 1,
    isActive: true,
    period: null,
  }
  return { plan, planInstance, services }
}

function productInstanceOf(
  service: ServiceDocument,
  entry: ServiceEntry,
  instance: string,
  atMs: number,
  zone: string,
): ProductInstance {
  const { balance_period = 'default' } = service
  let period: ProductInstance['period'] = null
  if (balance_period !== 'default' && entry.from !== undefined) {
    const fromMs = instantOf(entry.from, zone)
    period = { fromMs, toMs: periodEnd(balance_period, fromMs, zone) }
  }
  return {
    kind: 'service',
    name: service.name,
    instance,
    groups: service.include?.groups ?? {},
    rates: service.rates ?? {},
    quantity: entry.quantity ?? 1,
    isActive: isWithin(entry, atMs, zone) && (period === null || atMs < period.toMs),
    period,
  }
}

/** The account's overrides, then the subscriber's; each replaces whole fields. */
function overridden<T extends PlanDocument | ServiceDocument>(
  document: T,
  testCase: QuoteCase,
  subscriber: SubscriberDocument,
  type: 'plan' | 'service',
  serviceId: number | undefined,
): T {
  const overrides = [...(testCase.account?.overrides ?? []), ...(subscriber.overrides ?? [])]
  const meant = overrides.filter(
    (override) =>
      override.type === type &&
      override.key === document.name &&
      (override.id === undefined || override.id === String(serviceId)),
  )
  return Object.assign({}, document, ...meant.map(({ value }) => value))
}

export interface ChosenPrice {
  base: PriceDocument
  override: OverrideDocument | null
}

/** The first service, then the plan, then the rate for this plan, then `BASE`; null if blocked. */
export function chosenPrice(offer: Offer, rate: RateDocument, usaget: string): ChosenPrice | null {
  if (offer.plan.disallowed_rates?.includes(rate.key)) return null
  const active = [...offer.services, offer.planInstance].filter(({ isActive }) => isActive)
  const overrides = active.map(({ rates }) => rates[rate.key]?.[usaget])
  const override = overrides.find((one) => one !== undefined) ?? null
  const own = rate.rates[usaget]?.[offer.plan.name]
  const standard = rate.rates[usaget]?.['BASE']
  // A percentage is of the standard price; all other fields put the own price before it.
  const isPart = override !== null && 'percentage' in override
  const base = isPart ? (standard ?? own) : (own ?? standard)
  if (base !== undefined) return { base, override }
  return override !== null && !isPart ? { base: override, override } : null
}

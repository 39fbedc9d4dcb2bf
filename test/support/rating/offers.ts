/** Plans and services with included units and prices. */
import type {
  IncludedGroup,
  PriceOverrides,
  ServiceRevision,
  SubscribedService,
} from '../../../src/domain/catalogue.ts'
import { priceFrom } from './catalogue.ts'

export function groupOf(name: string, total: number, more: Partial<IncludedGroup> = {}) {
  const group: IncludedGroup = {
    name,
    kind: 'units',
    total,
    usagets: new Set<string>(),
    rates: 'all',
    sharing: 'none',
    isPerQuantity: true,
    ...more,
  }
  return group
}

export function serviceOf(name: string, more: Partial<ServiceRevision> = {}): ServiceRevision {
  return {
    id: `${name}@0`,
    name,
    fromMs: 0,
    toMs: 1e15,
    prices: new Map(),
    groups: [],
    period: null,
    limitMonths: null,
    facts: { name },
    ...more,
  }
}

export function subscribedTo(
  name: string,
  more: Partial<SubscribedService> = {},
): SubscribedService {
  return { name, serviceId: 0, fromMs: 0, toMs: 1e15, quantity: 1, ...more }
}

/** One price for a rate and usage type. */
export function pricesOf(rateKey: string, usaget: string, price: string): PriceOverrides {
  return new Map([[rateKey, new Map([[usaget, { kind: 'price', price: priceFrom(price) }]])]])
}

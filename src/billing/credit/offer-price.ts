/** The price of a rate, plan or service now, with its taxes. Nothing is written. */
import type { Decimal } from 'decimal.js'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { paramsOf } from '../../catalog/compile/document.ts'
import { roundingAt } from '../../catalog/compile/rounding.ts'
import { taxHintsAt } from '../../catalog/compile/tax.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { RoundingRules, Taxable } from '../../domain/catalogue.ts'
import { FieldError, isObject } from '../../domain/fields.ts'
import { MICROS_PER_UNIT } from '../../domain/money.ts'
import type { FinalCharge, TaxRule } from '../../domain/tax.ts'
import { Exact, finalChargeOf, roundedPrice } from '../../rating/line-tax.ts'
import { chooseTaxes } from '../../rating/price.ts'
import { amountFrom } from '../amount.ts'
import { creditCustomers } from './credit-customers.ts'
import { type CreditData, rateAt, readByName, readCreditData } from './credit-data.ts'
import { roundingOf } from './credit-lines.ts'
import { CreditProcessError, CreditRefusal } from './credit-request.ts'
import { type CreditStores, priceUsage, refuseUnknown } from './credits.ts'

export interface PricedOffer {
  readonly kind: 'rate' | 'plan' | 'service'
  readonly name: string
  /** The price before tax; null for that of the offer. */
  readonly aprice: Decimal | null
  /** 0: no subscriber. */
  readonly sid: number
  /** 0: no account. */
  readonly aid: number
}

/** Throws `CreditRefusal` or `CreditProcessError`. */
export async function offerPrice(stores: CreditStores, offer: PricedOffer): Promise<FinalCharge> {
  const { catalog, config, lookup, nowMs } = stores
  const { kind, name, sid } = offer
  const aids = offer.aid === 0 ? [] : [offer.aid]
  const customers = await creditCustomers(lookup, [{ ...offer, atMs: nowMs }], nowMs)
  const stored = await readCreditData(
    catalog,
    {
      rateKeys: kind === 'rate' ? [name] : [],
      sids: sid === 0 || customers !== null ? [] : [sid],
      aids: customers === null ? aids : [],
      allAids: aids,
    },
    config.rating,
  )
  const data = { ...stored, ...customers }
  const atMs = payerAtMs(data, offer, nowMs)
  if (kind === 'rate') return ratePrice(stores, data, offer, atMs)
  return recurringPrice(data, offer, await revisionAt(catalog, kind, name, nowMs), nowMs)
}

/** An instant at which the subscriber exists; now without one. */
function payerAtMs(data: CreditData, { aid, sid }: PricedOffer, nowMs: number): number {
  if (sid === 0) return aid === 0 ? nowMs : refuseUnknown(data, { aid, sid, atMs: nowMs })
  const [period] = data.subscribers.get(sid) ?? []
  const payer = aid === 0 ? (period?.aid ?? 0) : aid
  return refuseUnknown(data, { aid: payer, sid, atMs: nowMs })
}

/** The price of one unit of its first usage type, with the overrides of the subscriber. */
async function ratePrice(
  stores: CreditStores,
  data: CreditData,
  { name, aprice, sid }: PricedOffer,
  atMs: number,
): Promise<FinalCharge> {
  const { nowMs } = stores
  const rate = rateAt(data.rates.get(name) ?? [], nowMs)
  if (rate === null) throw new CreditRefusal(`Rate doesn't exist`, { path: 'rate' })
  if (aprice !== null) {
    return finalChargeOf(aprice, taxesOf(data, rate, nowMs), roundingOf(rate))
  }
  const [usaget = ''] = rate.usages.keys()
  const usagev = new Exact(1)
  const usage = { rateKey: name, sid, atMs: nowMs, usagev, kind: 'charge' } as const
  const { line } = await priceUsage(stores, data, usage, usaget, atMs)
  const price = new Exact(line.counts.charged).div(MICROS_PER_UNIT)
  return finalChargeOf(price, line.pricing.taxes, roundingOf(rate))
}

/** The price of the first cycle. */
function recurringPrice(
  data: CreditData,
  { kind, name, aprice }: PricedOffer,
  document: RawDocument,
  nowMs: number,
): FinalCharge {
  try {
    const rules = roundingAt(document['rounding_rules'], 'rounding_rules')
    const taxable = {
      key: name,
      params: paramsOf(document, NO_PARAMS),
      taxHints: taxHintsAt(document['tax'], 'tax'),
    }
    const isTaxed = document['vatable'] !== false
    const taxes = isTaxed ? taxesOf(data, taxable, nowMs) : []
    const price = aprice ?? firstPrice(document)
    return finalChargeOf(beforeTax(price, rules), taxes, afterTax(rules))
  } catch (error) {
    if (error instanceof FieldError)
      throw new CreditProcessError(`${kind} ${error.message}`, { path: kind })
    throw error
  }
}

function beforeTax(price: Decimal, rules: RoundingRules | null): Decimal {
  return rules?.stage === 'before_tax' ? roundedPrice(price, rules) : price
}

function afterTax(rules: RoundingRules | null): RoundingRules | null {
  return rules?.stage === 'after_tax' ? rules : null
}

/** Fields with which taxes are not mapped. */
const NO_PARAMS = new Set(['rates', 'tax', 'rounding_rules', 'include', 'price', 'description'])

function firstPrice({ price }: RawDocument): Decimal {
  const tiers: readonly unknown[] = Array.isArray(price) ? price : []
  const first = tiers.find((tier) => isObject(tier) && Number(tier['from']) === 0) ?? tiers[0]
  const amount = amountFrom(isObject(first) ? stored(first['price']) : null)
  if (amount === null) throw new FieldError('price', 'has no price of the first cycle')
  return amount
}

/** Decimals of the store are objects. */
function stored(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? String(value) : value
}

function taxesOf({ taxation }: CreditData, offer: Taxable, atMs: number): readonly TaxRule[] {
  const taxes = chooseTaxes(taxation, offer, atMs)
  if (taxes !== null) return taxes
  const at = new Date(atMs).toISOString()
  throw new CreditProcessError(`${offer.key}: no tax is in force at ${at}`, 'refused')
}

async function revisionAt(
  catalog: Catalog,
  kind: 'plan' | 'service',
  name: string,
  nowMs: number,
): Promise<RawDocument> {
  const found = await readByName(catalog, `${kind}s`, 'name', [name])
  const current = (found.get(name) ?? []).find((each) => {
    const { from, to } = each as RawDocument & { from: Date; to: Date }
    return from.getTime() <= nowMs && nowMs < to.getTime()
  })
  if (current !== undefined) return current
  throw new CreditRefusal(`${kind === 'plan' ? 'Plan' : 'Service'} doesn't exist`, { path: kind })
}

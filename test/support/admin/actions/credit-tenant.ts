/** A small tenant for credits: a tax, rates, a plan with an override, an account, a subscriber. */
import { ObjectId } from '../../../../src/catalog/collections.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'

const FROM = new Date('2020-01-01')
const TO = new Date('2170-01-01')
const common = () => ({ _id: new ObjectId(), rev: 1, from: FROM, to: TO })
const priced = (price: number, interval = 1) => ({
  BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval, price }] },
})

export const TAXED = { TOLLGATE_RATING_DEFAULT_TAX: 'DEFAULT_VAT' }

const rate = (key: string, rates: object, more: object = {}) => ({
  ...common(),
  key,
  description: key,
  pricing_method: 'tiered',
  tariff_category: 'retail',
  rates,
  ...more,
})

/** Adds the documents; a rate that has ended is EXPIRED. */
export async function addTenant(catalog: Catalog): Promise<void> {
  const insert = async (name: 'taxes' | 'rates' | 'plans' | 'subscribers', documents: object[]) => {
    await catalog[name].insertMany(documents as never)
  }
  await insert('taxes', [
    { ...common(), key: 'DEFAULT_VAT', description: 'Vat', rate: 0.17, embed_tax: false },
    { ...common(), key: 'REDUCED', description: 'Reduced', rate: 0.05, embed_tax: false },
  ])
  await insert('rates', [
    rate('FEE_A', { fee: priced(4), call: priced(9) }),
    rate('CALL_A', { call: priced(0.1, 60) }),
    rate('UNTAXED', { fee: priced(1) }, { tax: [{ type: 'vat', taxation: 'no' }] }),
    rate(
      'REDUCED',
      { fee: priced(1) },
      {
        tax: [{ type: 'vat', taxation: 'custom', custom_tax: 'REDUCED', custom_logic: 'override' }],
      },
    ),
    rate(
      'ROUNDED',
      { fee: priced(1) },
      {
        rounding_rules: { rounding_type: 'up', rounding_decimals: 2, rounding_stage: 'after_tax' },
      },
    ),
    rate('EXPIRED', { fee: priced(1) }, { to: new Date('2021-01-01') }),
  ])
  await insert('plans', [
    {
      ...common(),
      name: 'GOLD',
      description: 'Gold',
      connection_type: 'prepaid',
      upfront: false,
      price: [{ from: 0, to: 'UNLIMITED', price: 10 }],
      recurrence: { frequency: 1, start: 1 },
      rates: {
        CALL_A: { call: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 0.01 }] } },
      },
      include: { groups: { FREE: { value: 1000, usage_types: { call: {} } } } },
    },
  ])
  await insert('subscribers', [
    { ...common(), type: 'account', aid: 1001 },
    subscriber(7, {}),
    subscriber(8, { barred: true }),
    subscriber(9, { from: new Date('2026-05-01'), to: new Date('2026-06-01') }),
  ])
}

function subscriber(sid: number, more: object) {
  const plan_activation = FROM
  return { ...common(), type: 'subscriber', aid: 1001, sid, plan: 'GOLD', plan_activation, ...more }
}

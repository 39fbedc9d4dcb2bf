import { UNLIMITED } from '../../../src/domain/pricing/tier.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'

/** `10/60+5`: 10 micros for each begun interval of 60 units, and an access price of 5. */
export function tariffFrom(text: string): Tariff {
  const [price = '', access = '0'] = text.split('+')
  const [micros, interval] = price.split('/').map(Number)
  const tiers = [{ units: UNLIMITED, interval: interval!, price: micros!, ceil: true }]
  return { tiers, access: Number(access), extraDigits: 0, terms: null }
}

const TIER = { interval: 1, ceil: true }
const VOLUME = { method: 'volume', unitScale: 1, factor: 1, factorDigits: 0 } as const

/** A unit costs 10 micros up to 10 units, and all of them 1 beyond. */
export const FALLING: Tariff = {
  tiers: [
    { ...TIER, units: 10, price: 10 },
    { ...TIER, units: UNLIMITED, price: 1 },
  ],
  access: 0,
  extraDigits: 0,
  terms: { ...VOLUME, minimum: 0, rounding: null },
}

/** Reads what old sessions and records have of prices: by position, defaults are left out. */
import type { CategoryPrice } from '../domain/session.ts'
import type { PriceRounding, Tariff, TariffTerms } from '../domain/tariff.ts'
import type { LineRounding, TaxRule } from '../domain/tax.ts'

export type Packed = unknown[]

const MODES: readonly PriceRounding['mode'][] = ['up', 'down', 'nearest']

export function unpackTariff([access, extraDigits, tiers, terms = null]: Packed): Tariff {
  return {
    tiers: (tiers as [number, number, number, boolean][]).map((tier) => {
      const [units, interval, price, ceil] = tier
      return { units, interval, price, ceil }
    }),
    access: access as number,
    extraDigits: extraDigits as number,
    terms: terms === null ? null : unpackTerms(terms as Packed),
  }
}

function unpackTerms([isVolume, unitScale, factor, factorDigits, minimum, ...rest]: Packed) {
  const [mode, step] = rest
  const terms: TariffTerms = {
    method: isVolume === true ? 'volume' : 'tiered',
    unitScale: unitScale as number,
    factor: factor as number,
    factorDigits: factorDigits as number,
    minimum: minimum as number,
    rounding: mode === undefined ? null : { mode: modeOf(mode), step: step as number },
  }
  return terms
}

export function unpackOther([category, rateKey, tariff, isAdded]: Packed): CategoryPrice {
  return {
    category: category as string,
    rateKey: rateKey as string,
    tariff: unpackTariff(tariff as Packed),
    isAdded: isAdded as boolean,
  }
}

export function unpackTax([key, description, type, rate, isEmbedded]: Packed): TaxRule {
  return {
    key: key as string,
    description: description as string,
    type: type as string,
    rate: rate as string,
    isEmbedded: isEmbedded as boolean,
  }
}

export function unpackRounding(fields: Packed | null): LineRounding | null {
  return fields === null ? null : { mode: modeOf(fields[0]), decimals: fields[1] as number }
}

function modeOf(number: unknown): PriceRounding['mode'] {
  const mode = MODES[number as number]
  if (mode === undefined) throw new RangeError('there is no such rounding')
  return mode
}

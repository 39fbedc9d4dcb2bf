/** What a segment or line depends on for its price, packed by position; defaults are left out. */
import type { CategoryPrice } from '../domain/session.ts'
import type { PriceRounding, Tariff, TariffTerms, Tier } from '../domain/tariff.ts'
import type { LineRounding, TaxRule } from '../domain/tax.ts'

export type Packed = unknown[]

const MODES: readonly PriceRounding['mode'][] = ['up', 'down', 'nearest']

/** Without the fields at its end that are null. */
export function trimmed(fields: Packed): Packed {
  let end = fields.length
  while (end > 0 && fields[end - 1] === null) end -= 1
  return fields.slice(0, end)
}

export function packTariff({ access, extraDigits, tiers, terms }: Tariff): Packed {
  const fields = [access, extraDigits, tiers.map(packTier)]
  return terms === null ? fields : [...fields, packTerms(terms)]
}

export function unpackTariff([access, extraDigits, tiers, terms = null]: Packed): Tariff {
  return {
    access: access as number,
    extraDigits: extraDigits as number,
    tiers: (tiers as [number, number, number, boolean][]).map((tier) => {
      const [units, interval, price, ceil] = tier
      return { units, interval, price, ceil }
    }),
    terms: terms === null ? null : unpackTerms(terms as Packed),
  }
}

function packTier({ units, interval, price, ceil }: Tier): Packed {
  return [units, interval, price, ceil]
}

function packTerms(terms: TariffTerms): Packed {
  const { method, unitScale, factor, factorDigits, minimum, rounding } = terms
  const fields = [method === 'volume', unitScale, factor, factorDigits, minimum]
  return rounding === null ? fields : [...fields, modeNumber(rounding.mode), rounding.step]
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

export function packOther({ category, rateKey, tariff, isAdded }: CategoryPrice): Packed {
  return [category, rateKey, packTariff(tariff), isAdded]
}

export function unpackOther([category, rateKey, tariff, isAdded]: Packed): CategoryPrice {
  return {
    category: category as string,
    rateKey: rateKey as string,
    tariff: unpackTariff(tariff as Packed),
    isAdded: isAdded as boolean,
  }
}

export function packTax({ key, description, type, rate, isEmbedded }: TaxRule): Packed {
  return [key, description, type, rate, isEmbedded]
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

export function packRounding(rounding: LineRounding | null): Packed | null {
  return rounding === null ? null : [modeNumber(rounding.mode), rounding.decimals]
}

export function unpackRounding(fields: Packed | null): LineRounding | null {
  return fields === null ? null : { mode: modeOf(fields[0]), decimals: fields[1] as number }
}

function modeNumber(mode: PriceRounding['mode']): number {
  return MODES.indexOf(mode)
}

function modeOf(number: unknown): PriceRounding['mode'] {
  const mode = MODES[number as number]
  if (mode === undefined) throw new RangeError('there is no such rounding')
  return mode
}

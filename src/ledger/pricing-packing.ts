/**
 * The price terms of a segment or a line, which never change:
 *
 *   u8 flags | key | rate key | plan, cycle | tariff | price of | band | others | taxes | rounding
 *
 * Plan and cycle are omitted if the key contains them. All other fields except rate key and tariff
 * are omitted if they have their usual values.
 */
import { present } from '../domain/assert.ts'
import { PRICE_MODELS, PRICING_METHODS } from '../domain/pricing/models.ts'
import type { Tier } from '../domain/pricing/tier.ts'
import type { CategoryPrice, Pricing } from '../domain/segment-parts.ts'
import type { PriceRounding, Tariff, TariffTerms } from '../domain/tariff.ts'
import type { LineRounding, TaxRule } from '../domain/tax.ts'
import { type Memory, memoryOf, Reader } from './reader.ts'
import { Writer } from './writer.ts'

/** The price terms of a segment; a line has no key, and is written as prepaid. */
interface KeyedPricing {
  readonly key: string
  readonly isPrepaid: boolean
  readonly pricing: Pricing
}

const IN_KEY = 1
const PRICE_OF = 2
const BAND = 4
const OTHERS = 8
const TAXES = 16
const ROUNDING = 32
const POSTPAID = 64

const BASE = 'BASE'
const MODES: readonly PriceRounding['mode'][] = ['up', 'down', 'nearest']

/** Distinct price terms that are cached: few are in use at a time. */
const PRICINGS_CACHED_MAX = 2000
/** Decoded price terms by a hash of their bytes, shared by sessions. */
const pricingByHash = new Map<number, { memory: Memory; keyed: KeyedPricing }>()
/** Encoded price terms: copying takes a fifth of the time of encoding. */
const bytesByTariff = new Map<Tariff, Map<string, KeyedPricing & { bytes: Buffer }>>()
let packedCount = 0
const scratch = new Writer(512)

/** Number of bytes, then the bytes. */
export function writePricing(writer: Writer, { key, isPrepaid, pricing }: KeyedPricing): void {
  const before = bytesByTariff.get(pricing.tariff)?.get(key)
  if (before?.isPrepaid === isPrepaid && isSame(before.pricing, pricing)) {
    writer.chunk(before.bytes)
    return
  }
  scratch.clear()
  writeParts(scratch, key, isPrepaid, pricing)
  writer.chunk(scratch.bytes())
  if (key !== '') cacheBytes({ key, isPrepaid, pricing, bytes: scratch.take() })
}

/** As `writePricing`. Lines have no key and differ from each other, so nothing is cached. */
export function writeLinePricing(writer: Writer, pricing: Pricing): void {
  scratch.clear()
  writeParts(scratch, '', true, pricing)
  writer.chunk(scratch.bytes())
}

function cacheBytes(encoded: KeyedPricing & { bytes: Buffer }): void {
  if (packedCount >= PRICINGS_CACHED_MAX) {
    bytesByTariff.clear()
    packedCount = 0
  }
  const { tariff } = encoded.pricing
  let ofTariff = bytesByTariff.get(tariff)
  if (ofTariff === undefined) {
    ofTariff = new Map()
    bytesByTariff.set(tariff, ofTariff)
  }
  packedCount += 1
  ofTariff.set(encoded.key, encoded)
}

/** Whether two price terms with the same tariff and key are equal. */
function isSame(one: Pricing, other: Pricing): boolean {
  if (one === other) return true
  return (
    one.rateKey === other.rateKey &&
    one.plan === other.plan &&
    one.cycle === other.cycle &&
    one.priceOf === other.priceOf &&
    one.band === other.band &&
    one.rounding?.mode === other.rounding?.mode &&
    one.rounding?.decimals === other.rounding?.decimals &&
    (one.others === other.others || one.others.length + other.others.length === 0) &&
    hasSameTaxes(one.taxes, other.taxes)
  )
}

function hasSameTaxes(ones: readonly TaxRule[], others: readonly TaxRule[]): boolean {
  if (ones === others) return true
  if (ones.length !== others.length) return false
  for (let index = 0; index < ones.length; index += 1) {
    const one = ones[index] as TaxRule
    const other = others[index] as TaxRule
    const isSameTax = one.key === other.key && one.type === other.type && one.rate === other.rate
    if (!isSameTax || one.description !== other.description) return false
    if (one.isEmbedded !== other.isEmbedded) return false
  }
  return true
}

/** Returns a shared object, which must not be changed. */
export function readPricing(reader: Reader): KeyedPricing {
  const length = reader.number()
  const hash = reader.hash(length)
  const known = pricingByHash.get(hash)
  if (known?.memory.bytes.length === length && reader.skipIfSame(known.memory)) return known.keyed
  const bytes = Buffer.from(reader.bytes(length))
  const keyed = readParts(new Reader(bytes))
  if (pricingByHash.size >= PRICINGS_CACHED_MAX) pricingByHash.clear()
  pricingByHash.set(hash, { memory: memoryOf(bytes), keyed })
  return keyed
}

function writeParts(writer: Writer, key: string, isPrepaid: boolean, pricing: Pricing): void {
  const { plan, cycle, tariff, priceOf, band, others, taxes, rounding } = pricing
  const isInKey = hasInKey(key, plan, cycle)
  let flags = isInKey ? IN_KEY : 0
  if (priceOf !== BASE) flags |= PRICE_OF
  if (band !== '') flags |= BAND
  if (others.length > 0) flags |= OTHERS
  if (taxes.length > 0) flags |= TAXES
  if (rounding !== null) flags |= ROUNDING
  if (!isPrepaid) flags |= POSTPAID
  writer.u8(flags)
  writer.string(key)
  writer.string(pricing.rateKey)
  if (!isInKey) {
    writer.string(plan)
    writer.string(cycle)
  }
  writeTariff(writer, tariff)
  if (flags & PRICE_OF) writer.string(priceOf)
  if (flags & BAND) writer.string(band)
  if (flags & OTHERS) writeOthers(writer, others)
  if (flags & TAXES) writeTaxes(writer, taxes)
  if (rounding !== null) writeRounding(writer, rounding)
}

function readParts(reader: Reader): KeyedPricing {
  const flags = reader.u8()
  const key = reader.string()
  const rateKey = reader.word()
  const planAt = key.indexOf('|') + 1
  const cycleAt = key.indexOf('|', planAt) + 1
  const isInKey = (flags & IN_KEY) !== 0
  const pricing: Pricing = {
    rateKey,
    plan: isInKey ? key.slice(planAt, cycleAt - 1) : reader.word(),
    cycle: isInKey ? key.slice(cycleAt, key.indexOf('|', cycleAt)) : reader.word(),
    tariff: readTariff(reader),
    priceOf: flags & PRICE_OF ? reader.word() : BASE,
    band: flags & BAND ? reader.word() : '',
    others: flags & OTHERS ? readOthers(reader) : [],
    taxes: flags & TAXES ? readTaxes(reader) : [],
    rounding: flags & ROUNDING ? readRounding(reader) : null,
  }
  if (!reader.isAtEnd) throw new RangeError('a price has a wrong length')
  return { key, isPrepaid: (flags & POSTPAID) === 0, pricing }
}

/**
 * Whether plan and cycle can be read from the key, `<rate>|<plan>|<cycle>|…` (rating/program.ts).
 */
function hasInKey(key: string, plan: string, cycle: string): boolean {
  const planAt = key.indexOf('|') + 1
  if (planAt === 0 || !key.startsWith(plan, planAt)) return false
  const cycleAt = planAt + plan.length + 1
  const end = cycleAt + cycle.length
  if (key[cycleAt - 1] !== '|' || key[end] !== '|' || !key.startsWith(cycle, cycleAt)) return false
  return !plan.includes('|') && !cycle.includes('|')
}

function writeTariff(writer: Writer, { access, extraDigits, tiers, terms }: Tariff): void {
  writer.number(extraDigits * 2 + (terms === null ? 0 : 1))
  writer.number(access)
  writer.number(tiers.length)
  for (const { units, interval, price, ceil } of tiers) {
    writer.number(units)
    writer.number(interval)
    writer.number(price)
    writer.u8(ceil ? 1 : 0)
  }
  if (terms !== null) writeTerms(writer, terms)
}

function readTariff(reader: Reader): Tariff {
  const digits = reader.number()
  const access = reader.number()
  const tiers: Tier[] = []
  for (let left = reader.number(); left > 0; left -= 1) {
    tiers.push({
      units: reader.number(),
      interval: reader.number(),
      price: reader.number(),
      ceil: reader.u8() === 1,
    })
  }
  const extraDigits = Math.floor(digits / 2)
  return { tiers, access, extraDigits, terms: digits % 2 === 1 ? readTerms(reader) : null }
}

const METHODS = new Map(PRICING_METHODS.map((method) => [PRICE_MODELS[method].code, method]))

/** Models of which an earlier release knows nothing have codes from 2. */
const LATER_MODELS = 2
/** In place of a mode: not rounded. */
const NO_MODE = 15

/**
 * Bit 0 of the first byte is the code of the first two models, bit 1 says that a mode of rounding
 * follows. A later model has its code in the upper half of the mode, which is unknown to earlier
 * releases: they report the value as damaged instead of pricing it by another model.
 */
function writeTerms(writer: Writer, terms: TariffTerms): void {
  const { method, rounding } = terms
  const { code } = PRICE_MODELS[method]
  const isLater = code >= LATER_MODELS
  writer.u8((rounding === null && !isLater ? 0 : 2) + (isLater ? 0 : code))
  writer.number(terms.unitScale)
  writer.number(terms.factor)
  writer.number(terms.factorDigits)
  writer.number(terms.minimum)
  const mode = rounding === null ? NO_MODE : MODES.indexOf(rounding.mode)
  if (isLater) writer.u8(code * 16 + mode)
  else if (rounding !== null) writer.u8(mode)
  if (rounding !== null) writer.number(rounding.step)
}

function readTerms(reader: Reader): TariffTerms {
  const flags = reader.u8()
  const [unitScale, factor] = [reader.number(), reader.number()]
  const [factorDigits, minimum] = [reader.number(), reader.number()]
  const last = flags & 2 ? reader.u8() : NO_MODE
  const code = last >> 4 || flags & 1
  const mode = last & NO_MODE
  return {
    method: present(METHODS.get(code), 'price model'),
    ...{ unitScale, factor, factorDigits, minimum },
    rounding: mode === NO_MODE ? null : { mode: modeOf(mode), step: reader.number() },
  }
}

function writeOthers(writer: Writer, others: readonly CategoryPrice[]): void {
  writer.number(others.length)
  for (const { category, rateKey, tariff, isAdded } of others) {
    writer.string(category)
    writer.string(rateKey)
    writeTariff(writer, tariff)
    writer.u8(isAdded ? 1 : 0)
  }
}

function readOthers(reader: Reader): CategoryPrice[] {
  const others: CategoryPrice[] = []
  for (let left = reader.number(); left > 0; left -= 1) {
    others.push({
      category: reader.word(),
      rateKey: reader.word(),
      tariff: readTariff(reader),
      isAdded: reader.u8() === 1,
    })
  }
  return others
}

function writeTaxes(writer: Writer, taxes: readonly TaxRule[]): void {
  writer.number(taxes.length)
  for (const { key, description, type, rate, isEmbedded } of taxes) {
    writer.string(key)
    writer.string(description)
    writer.string(type)
    writer.string(rate)
    writer.u8(isEmbedded ? 1 : 0)
  }
}

function readTaxes(reader: Reader): TaxRule[] {
  const taxes: TaxRule[] = []
  for (let left = reader.number(); left > 0; left -= 1) {
    taxes.push({
      key: reader.word(),
      description: reader.word(),
      type: reader.word(),
      rate: reader.word(),
      isEmbedded: reader.u8() === 1,
    })
  }
  return taxes
}

function writeRounding(writer: Writer, { mode, decimals }: LineRounding): void {
  writer.u8(MODES.indexOf(mode))
  writer.number(decimals)
}

function readRounding(reader: Reader): LineRounding {
  return { mode: modeOf(reader.u8()), decimals: reader.number() }
}

function modeOf(code: number): PriceRounding['mode'] {
  return present(MODES[code], 'mode of rounding')
}

/** Installation settings that a case may override: `config`. */
import { zoneAt } from '../../catalog/compile/profile.ts'
import { createCycleFinder, type OpenCycle } from '../../domain/cycle.ts'
import { FieldError, type Fields, objectAt, textAt, wholeAt } from '../../domain/fields.ts'
import { type Calculators, compileCalculators } from '../../rating/match/calculators.ts'
import { createFreeNumbers } from '../../rating/match/free-numbers.ts'
import { compileTaxMapping, type TaxPriorities } from '../../rating/tax-mapping.ts'

export interface QuoteSettings {
  /** IANA name. */
  timeZone: string
  cycleDay: number
  /** Derived from time zone and cycle day; shared because it caches cycles. */
  cycleAt: (atMs: number, nowMs: number) => OpenCycle
  /** Tax key; null if rates without a tax are untaxed. */
  defaultTax: string | null
  /** Rate key templates, used where no calculators are configured. */
  rateKeys: readonly string[]
  calculators: Calculators
  taxPriorities: TaxPriorities
  isFreeNumber: (calledNumber: string) => boolean
  /** By how much the clock of a network element may differ, ms. */
  clockDifferenceMs: number
}

/** Installation settings that affect prices. */
export interface RatingConfig {
  timeZone: string
  cycleDay: number
  defaultTax: string
  rateKeys: readonly string[]
  rateCalculators: Readonly<Record<string, unknown>>
  taxMapping: Readonly<Record<string, unknown>>
  freeNumbers: readonly string[]
  eventFutureMsMax: number
}

/** Throws `FieldError` for invalid rules. */
export function settingsOf(rating: RatingConfig): QuoteSettings {
  const { timeZone, cycleDay, defaultTax, rateKeys } = rating
  return {
    timeZone,
    cycleDay,
    rateKeys,
    defaultTax: defaultTax || null,
    cycleAt: createCycleFinder(timeZone, cycleDay),
    calculators: compileCalculators(rating.rateCalculators),
    taxPriorities: compileTaxMapping(rating.taxMapping),
    isFreeNumber: createFreeNumbers(rating.freeNumbers),
    clockDifferenceMs: rating.eventFutureMsMax,
  }
}

/** Settings of an installation without configuration. */
export const STANDARD: QuoteSettings = settingsOf({
  timeZone: 'UTC',
  cycleDay: 1,
  defaultTax: '',
  rateKeys: ['{USAGET}_{rating_group}', '{called_number}', '{USAGET}'],
  rateCalculators: {},
  taxMapping: {},
  freeNumbers: [],
  eventFutureMsMax: 300_000,
})

const CONFIG_KEYS = [
  'rate_calculators',
  'tax_mapping',
  'default_tax',
  'free_numbers',
  'cycle_day',
  'time_zone',
]

/** The defaults with the overrides of a case. Throws `FieldError` with the path. */
export function settingsAt(value: unknown, defaults: QuoteSettings): QuoteSettings {
  if (value === undefined) return defaults
  const config = objectAt(value, 'config')
  for (const key of Object.keys(config)) {
    if (!CONFIG_KEYS.includes(key)) throw new FieldError(`config.${key}`, 'is not known', 'unknown')
  }
  const { cycle_day: day, default_tax: tax, time_zone: zone } = config
  const timeZone =
    zone === undefined
      ? defaults.timeZone
      : zoneAt(textAt(zone, 'config.time_zone'), 'config.time_zone')
  const cycleDay = day === undefined ? defaults.cycleDay : cycleDayAt(day)
  const isSame = timeZone === defaults.timeZone && cycleDay === defaults.cycleDay
  return {
    ...defaults,
    timeZone,
    cycleDay,
    cycleAt: isSame ? defaults.cycleAt : createCycleFinder(timeZone, cycleDay),
    ...(tax !== undefined && { defaultTax: textAt(tax, 'config.default_tax') }),
    ...rulesAt(config),
  }
}

function rulesAt(config: Fields): Partial<QuoteSettings> {
  const { rate_calculators: calculators, tax_mapping: mapping, free_numbers: numbers } = config
  const rules: Partial<QuoteSettings> = {}
  if (calculators !== undefined) {
    rules.calculators = compileCalculators(calculators, 'config.rate_calculators')
  }
  if (mapping !== undefined) {
    rules.taxPriorities = compileTaxMapping(mapping, 'config.tax_mapping')
  }
  if (numbers !== undefined) rules.isFreeNumber = createFreeNumbers(numbersAt(numbers))
  return rules
}

/** 1 to 28: days that every month has. */
function cycleDayAt(value: unknown): number {
  const day = wholeAt(value, 'config.cycle_day', 1)
  if (day > 28) throw new FieldError('config.cycle_day', `must be from 1 to 28, is ${day}`)
  return day
}

function numbersAt(value: unknown): string[] {
  if (!Array.isArray(value)) throw new FieldError('config.free_numbers', 'must be a list')
  return value.map((number, index) => textAt(number, `config.free_numbers.${index}`))
}

/**
 * Rates as rows of an export: one for each usage type, and one for each plan or service that
 * overrides its price. The steps of a price share one cell, separated by commas.
 */
import type { Fields } from '../../domain/fields.ts'
import { fromBaseUnits, toBaseUnits, UNITS } from '../../file-types/units.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { cellOf } from './cells.ts'
import { type Column, withConfigured } from './columns.ts'

const text = (name: string): Column => ({ name, type: 'text' })

const COLUMNS: readonly Column[] = [
  text('key'),
  text('description'),
  text('usaget'),
  text('plan'),
  text('price.from'),
  text('price.to'),
  text('price.interval'),
  text('price.price'),
  text('price.uom_display.range'),
  text('price.uom_display.interval'),
  text('tax.0.type'),
  text('tax.0.custom_tax'),
  text('tax.0.taxation'),
  text('tax.0.custom_logic'),
  text('pricing_method'),
  { name: 'add_to_retail', type: 'boolean' } as const,
  ...(['from', 'to'] as const).map((name) => ({ name, type: 'date' }) as const),
]

/** In the order that existing clients expect; configured fields come last. */
export function rateColumns(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly Column[] {
  // The first tax has its own columns.
  const others = fields.filter(({ field_name: name }) => name !== 'tax')
  return withConfigured(COLUMNS, definition, others)
}

/** Name of the rate's own prices in the column `plan`. */
export const BASE = 'BASE'
/** Prefix that distinguishes the name of a service from that of a plan. */
export const SERVICE = 'service:'

/** Price of a rate in a plan or service. */
export interface RateOverride {
  /** Name of the plan, or of the service with the prefix `service:`. */
  plan: string
  usaget: string
  price: unknown
}

/** The rows of a rate, as texts of their cells. */
export function rateRows(
  rate: Fields,
  overrides: readonly RateOverride[],
  columns: readonly Column[],
  timeZone: string,
): string[][] {
  const own = membersOf(rate['rates']).flatMap(([usaget, prices]) =>
    membersOf(prices).map(([plan, price]): RateOverride => ({ plan, usaget, price })),
  )
  const first = own.toSorted((a, b) => Number(b.plan === BASE) - Number(a.plan === BASE))
  return [...first, ...overrides].flatMap(({ plan, usaget, price }) => {
    const tiers = membersOf(fieldsOf(price)['rate']).map(([, tier]) => fieldsOf(tier))
    // A percentage price has no steps, and there is no column for it.
    if (tiers.length === 0) return []
    const special = { usaget, plan, ...tierCells(tiers) }
    return [columns.map((column) => specialCell(special, column) ?? cellOf(rate, column, timeZone))]
  })
}

function specialCell(special: Readonly<Record<string, string>>, { name }: Column): string | null {
  return special[name] ?? null
}

function tierCells(tiers: readonly Fields[]): Readonly<Record<string, string>> {
  const cells = tiers.map(cellsOfTier)
  const joined = (part: keyof TierCells) => {
    const values = cells.map((tier) => tier[part])
    const isUnit = part === 'range' || part === 'step'
    return isUnit && new Set(values).size === 1 ? (values[0] ?? '') : values.join(', ')
  }
  return {
    'price.from': joined('from'),
    'price.to': joined('to'),
    'price.interval': joined('interval'),
    'price.price': joined('price'),
    'price.uom_display.range': joined('range'),
    'price.uom_display.interval': joined('step'),
  }
}

interface TierCells {
  from: string
  to: string
  interval: string
  price: string
  /** Units of `from` and `to`, and of the interval; empty for base units. */
  range: string
  step: string
}

function cellsOfTier({ from, to, interval, price, uom_display: display }: Fields): TierCells {
  const { range, interval: step } = fieldsOf(display)
  const rangeUnit = usableUnit(range, [from, to])
  const stepUnit = usableUnit(step, [interval])
  return {
    from: inUnit(from, rangeUnit),
    to: inUnit(to, rangeUnit),
    interval: inUnit(interval, stepUnit),
    price: price === undefined ? '' : String(price),
    range: rangeUnit,
    step: stepUnit,
  }
}

/** The unit, if it can express all values exactly; otherwise empty for base units. */
function usableUnit(unit: unknown, values: readonly unknown[]): string {
  if (typeof unit !== 'string' || unit === 'hhmmss' || !UNITS.includes(unit)) return ''
  const isExact = (value: unknown) =>
    typeof value !== 'number' ||
    (Number.isSafeInteger(value) && toBaseUnits(fromBaseUnits(value, unit), unit) === value)
  const isExpressible = (value: unknown) =>
    value === undefined || value === 'UNLIMITED' || isExact(value)
  return values.every((value) => typeof value !== 'string' || value === 'UNLIMITED') &&
    values.every(isExpressible)
    ? unit
    : ''
}

function inUnit(value: unknown, unit: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'number' || unit === '') return String(value)
  return fromBaseUnits(value, unit)
}

function membersOf(value: unknown): [string, unknown][] {
  return Object.entries(fieldsOf(value))
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

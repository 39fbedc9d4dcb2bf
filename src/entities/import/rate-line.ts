/** Reads the price in a line of a rate import. */
import type { Fields } from '../../domain/fields.ts'
import { parseDecimal } from '../../domain/money.ts'
import { isDecimalUnit, toBaseUnits, UNITS } from '../../file-types/units.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { exactText } from '../export/cells.ts'
import { BASE, SERVICE } from '../export/rate-rows.ts'
import { quotedExcerpt } from './cells.ts'

export interface LinePrice {
  usaget: string
  /** The plan or service that the price belongs to; null for the rate itself. */
  offer: { collection: 'plans' | 'services'; name: string } | null
  tiers: Fields[]
}

export interface RateLine {
  /** Fields of the rate other than the price. */
  fields: Fields
  /** Null if the line has no price. */
  price: LinePrice | null
}

/** Columns that are not fields of a rate, by their names in a map and in an export. */
const MANUAL = [
  'price_from',
  'price_to',
  'price_interval',
  'price_value',
  'usage_type_value',
  'usage_type_unit',
  'price_plan',
  'price_service',
] as const
const EXPORTED = ['usaget', 'plan', 'price'] as const
const TAX = ['tax__taxation', 'tax__custom_tax', 'tax__custom_logic'] as const

/** Throws `EntityRuleError` with the name of the column. */
export function rateLineOf(update: Fields): RateLine {
  const rest: Record<string, unknown> = { ...update }
  const line = new Map<string, string>()
  for (const name of [...MANUAL, ...EXPORTED, ...TAX]) {
    const value = rest[name]
    delete rest[name]
    if (value === undefined || value === null || value === '') continue
    if (name === 'price') for (const [key, cell] of exportedPrice(value)) line.set(key, cell)
    else line.set(name, String(value))
  }
  const tax = taxOf(line)
  const fields = tax === null ? rest : { ...rest, tax: [tax] }
  return { fields, price: priceOf(line) }
}

/** Renames the exported columns `price.*` to those of a map. */
function exportedPrice(value: unknown): [string, string][] {
  const { from, to, interval, price, uom_display: display } = value as Fields
  const { range, interval: step } = (display ?? {}) as Fields
  const cells = {
    price_from: from,
    price_to: to,
    price_interval: interval,
    price_value: price,
    usage_type_unit: range,
    interval_unit: step,
  }
  return Object.entries(cells).flatMap(([name, cell]): [string, string][] =>
    cell === undefined || cell === null || cell === '' ? [] : [[name, String(cell)]],
  )
}

function taxOf(line: ReadonlyMap<string, string>): Fields | null {
  const taxation = line.get('tax__taxation')
  const custom = line.get('tax__custom_tax')
  const logic = line.get('tax__custom_logic')
  if (taxation === undefined && custom === undefined && logic === undefined) return null
  return {
    type: 'vat',
    taxation: taxation ?? (custom === undefined ? 'global' : 'custom'),
    ...(custom !== undefined && { custom_tax: custom }),
    ...(logic !== undefined && { custom_logic: logic }),
  }
}

const USAGET = /^[A-Za-z0-9_-]{1,64}$/

function priceOf(line: ReadonlyMap<string, string>): LinePrice | null {
  const value = line.get('price_value')
  const usaget = line.get('usage_type_value') ?? line.get('usaget')
  if (value === undefined && !line.has('price_interval') && !line.has('price_to')) return null
  if (value === undefined) throw fieldRule('price_value', 'is missing', 'missing')
  if (usaget === undefined)
    throw fieldRule('usage_type_value', 'is missing: a price needs a usage type', 'missing')
  if (!USAGET.test(usaget)) {
    throw fieldRule('usage_type_value', `${quotedExcerpt(usaget)} must be letters, digits, _ and -`)
  }
  return { usaget, offer: offerOf(line), tiers: tiersOf(line) }
}

const NAME = /^[A-Z0-9_]+$/

function offerOf(line: ReadonlyMap<string, string>): LinePrice['offer'] {
  const exported = line.get('plan') ?? BASE
  const isService = exported.startsWith(SERVICE)
  const plan = line.get('price_plan') ?? (isService ? BASE : exported)
  const service = line.get('price_service') ?? (isService ? exported.slice(SERVICE.length) : BASE)
  if (plan !== BASE && service !== BASE) {
    throw new EntityRuleError('price_plan and price_service must not both be given', {
      path: 'price_plan',
    })
  }
  const name = plan === BASE ? service : plan
  if (name === BASE) return null
  const column = plan === BASE ? 'price_service' : 'price_plan'
  if (!NAME.test(name)) {
    throw fieldRule(column, `${quotedExcerpt(name)} must be capital letters, digits and _`)
  }
  return { collection: plan === BASE ? 'services' : 'plans', name }
}

/** A cell may have several steps, separated by commas. */
function tiersOf(line: ReadonlyMap<string, string>): Fields[] {
  const prices = valuesOf(line, 'price_value')
  const count = prices.length
  const column = (name: string) => columnOf(line, name, count)
  const froms = column('price_from')
  const tos = column('price_to')
  const intervals = column('price_interval')
  const units = column('usage_type_unit')
  const steps = line.has('interval_unit') ? column('interval_unit') : units
  return prices.map((price, index) => {
    const [unit, step] = [unitOf(units[index]), unitOf(steps[index])]
    const from = froms[index] ?? ''
    const to = tos[index] ?? ''
    const isOpen = to === '' || to.toUpperCase() === 'UNLIMITED'
    return {
      ...(from !== '' && { from: amountIn(from, unit, 'price_from') }),
      to: isOpen ? 'UNLIMITED' : amountIn(to, unit, 'price_to'),
      interval: amountIn(intervals[index] || '1', step, 'price_interval'),
      price: amountIn(price, '', 'price_value'),
      ...((unit !== '' || step !== '') && { uom_display: { range: unit, interval: step } }),
    }
  })
}

function valuesOf(line: ReadonlyMap<string, string>, name: string): string[] {
  return (line.get(name) ?? '').split(',').map((value) => value.trim())
}

/** A single unit or empty value applies to all steps. */
function columnOf(line: ReadonlyMap<string, string>, name: string, count: number): string[] {
  const values = valuesOf(line, name)
  if (values.length === count) return values
  const isUnit = name.endsWith('_unit')
  if (values.length === 1 && (isUnit || values[0] === '')) {
    return Array.from({ length: count }, () => values[0] ?? '')
  }
  throw fieldRule(name, `has ${values.length} steps, price_value ${count}`)
}

function unitOf(unit = ''): string {
  if (unit === '' || UNITS.includes(unit)) return unit
  throw fieldRule('usage_type_unit', `${quotedExcerpt(unit)} must be one of ${UNITS.join(', ')}`)
}

const NUMBER_LENGTH_MAX = 40

/** Converts to base units exactly: a number, or decimal text if a number would lose digits. */
function amountIn(text: string, unit: string, column: string): number | string {
  const decimal = text.length > NUMBER_LENGTH_MAX ? null : parseDecimal(text)
  if (decimal === null) throw fieldRule(column, `must be a number, is ${quotedExcerpt(text)}`)
  if (unit !== '' && !isDecimalUnit(unit)) return clockUnitsIn(text, unit, column)
  const factor = unit === '' ? 1 : Number(toBaseUnits(1, unit))
  const exact = exactText({ digits: decimal.digits * BigInt(factor), scale: decimal.scale })
  return String(Number(exact)) === exact ? Number(exact) : exact
}

function clockUnitsIn(text: string, unit: string, column: string): number {
  const units = toBaseUnits(text, unit)
  if (typeof units === 'number') return units
  throw fieldRule(column, units)
}

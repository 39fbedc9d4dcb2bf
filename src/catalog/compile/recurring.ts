/**
 * Recurring prices of plans and services. They do not affect usage and are only validated when
 * written.
 */
import {
  amountAt,
  arrayAt,
  choiceAt,
  FieldError,
  type Fields,
  isEmpty,
  isUnset,
  objectAt,
  wholeAt,
} from '../../domain/fields.ts'
import { taxHintsAt } from './tax.ts'

/** `price`, `recurrence` and `tax`. Throws `FieldError` with the path of the field. */
export function checkRecurring(document: Fields): void {
  const { price, recurrence, tax } = document
  if (!isEmpty(price)) checkCyclePrices(price, 'price')
  if (!isEmpty(recurrence)) checkRecurrence(objectAt(recurrence, 'recurrence'))
  taxHintsAt(tax, 'tax')
}

/** Prices by cycle since the activation: [`from`, `to`), where `to` may be UNLIMITED. */
export function checkCyclePrices(value: unknown, path: string): void {
  for (const [index, entry] of arrayAt(value, path).entries()) {
    const at = `${path}.${index}`
    const price = objectAt(entry, at)
    const from = cyclesAt(price['from'], `${at}.from`)
    const isEndless = price['to'] === 'UNLIMITED'
    const to = isEndless ? Number.POSITIVE_INFINITY : cyclesAt(price['to'], `${at}.to`)
    if (to <= from) throw new FieldError(`${at}.to`, `must be above from (${from}), is ${to}`)
    amountAt(price['price'], `${at}.price`)
  }
}

/** Cycles may be fractions; the numbers are only compared. */
function cyclesAt(value: unknown, path: string): number {
  const { digits, scale } = amountAt(value, path)
  return Number(digits) / 10 ** scale
}

const PERIODICITIES = ['month', 'year'] as const

/** Every `frequency` months from the month `start`; the legacy form is `periodicity`. */
function checkRecurrence({ periodicity, frequency, start }: Fields): void {
  if (!isUnset(periodicity)) choiceAt(periodicity, 'recurrence.periodicity', PERIODICITIES)
  if (!isUnset(frequency)) wholeAt(frequency, 'recurrence.frequency', 1)
  if (!isUnset(start) && wholeAt(start, 'recurrence.start', 1) > 12) {
    throw new FieldError('recurrence.start', 'must be a month from 1 to 12')
  }
}

/**
 * What plans and services cost by themselves, cycle after cycle (spec/entity-api.md 4.3, 4.4).
 * Nothing of it is charged with usage: it is checked when it is written.
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

/** `price` and `recurrence`. Throws `FieldError` with the path of the field. */
export function checkRecurring(document: Fields): void {
  const { price, recurrence } = document
  if (!isEmpty(price)) checkCyclePrices(price, 'price')
  if (!isEmpty(recurrence)) checkRecurrence(objectAt(recurrence, 'recurrence'))
}

/** A price by the months since the activation: `from` included, `to` not, or UNLIMITED. */
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

/** Only compared: cycles may be fractions. */
function cyclesAt(value: unknown, path: string): number {
  const { digits, scale } = amountAt(value, path)
  return Number(digits) / 10 ** scale
}

const PERIODICITIES = ['month', 'year'] as const

/** Every so many months from a month of the year; the old form is a word. */
function checkRecurrence({ periodicity, frequency, start }: Fields): void {
  if (!isUnset(periodicity)) choiceAt(periodicity, 'recurrence.periodicity', PERIODICITIES)
  if (!isUnset(frequency)) wholeAt(frequency, 'recurrence.frequency', 1)
  if (!isUnset(start) && wholeAt(start, 'recurrence.start', 1) > 12) {
    throw new FieldError('recurrence.start', 'must be a month from 1 to 12')
  }
}

/**
 * Recurring prices of plans and services. They do not affect usage and are only validated when
 * written.
 */
import { readAll, readEach } from '../../domain/field-errors.ts'
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
  readAll({
    price: () => isEmpty(price) || checkCyclePrices(price, 'price'),
    recurrence: () => isEmpty(recurrence) || checkRecurrence(objectAt(recurrence, 'recurrence')),
    tax: () => taxHintsAt(tax, 'tax'),
  })
}

/** Prices by cycle since the activation: [`from`, `to`), where `to` may be UNLIMITED. */
export function checkCyclePrices(value: unknown, path: string): void {
  readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const price = objectAt(entry, at)
    readAll({
      span: () => checkSpan(price, at),
      price: () => amountAt(price['price'], `${at}.price`),
    })
  })
}

function checkSpan(price: Fields, path: string): void {
  const isEndless = price['to'] === 'UNLIMITED'
  const { from, to } = readAll({
    from: () => cyclesAt(price['from'], `${path}.from`),
    to: () => (isEndless ? Number.POSITIVE_INFINITY : cyclesAt(price['to'], `${path}.to`)),
  })
  if (to <= from) throw new FieldError(`${path}.to`, `must be above from (${from}), is ${to}`)
}

/** Cycles may be fractions; the numbers are only compared. */
function cyclesAt(value: unknown, path: string): number {
  const { digits, scale } = amountAt(value, path)
  return Number(digits) / 10 ** scale
}

const PERIODICITIES = ['month', 'year'] as const

/** Every `frequency` months from the month `start`; the legacy form is `periodicity`. */
function checkRecurrence({ periodicity, frequency, start }: Fields): void {
  readAll({
    periodicity: () =>
      isUnset(periodicity) || choiceAt(periodicity, 'recurrence.periodicity', PERIODICITIES),
    frequency: () => isUnset(frequency) || wholeAt(frequency, 'recurrence.frequency', 1),
    start: () => {
      if (isUnset(start) || wholeAt(start, 'recurrence.start', 1) <= 12) return
      throw new FieldError('recurrence.start', 'must be a month from 1 to 12')
    },
  })
}

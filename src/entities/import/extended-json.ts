/** MongoDB Extended JSON, in which `mongoexport` writes dates, ids and numbers. */
import { isObject } from '../../domain/fields.ts'

const EXTENDED = new Map<string, (value: unknown) => unknown>([
  ['$oid', (value) => value],
  ['$date', dateIn],
  ['$numberInt', numberIn],
  ['$numberLong', numberIn],
  ['$numberDouble', numberIn],
  ['$numberDecimal', numberIn],
])

/** The value with dates as ISO texts, ids as texts, and exact numbers as numbers. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue)
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const [first] = entries
  const read = first === undefined || entries.length > 1 ? undefined : EXTENDED.get(first[0])
  if (read !== undefined) return read(first?.[1])
  return Object.fromEntries(entries.map(([name, each]) => [name, plainValue(each)]))
}

const MS_MAX = 8.64e15

/** An ISO text, or milliseconds since 1970. */
function dateIn(value: unknown): unknown {
  const ms = Number(plainValue(value))
  if (typeof value === 'string' || !(Math.abs(ms) <= MS_MAX)) return value
  return new Date(ms).toISOString()
}

function numberIn(value: unknown): unknown {
  const number = Number(value)
  return typeof value === 'string' && String(number) !== value.replace(/\.0+$/, '') ? value : number
}

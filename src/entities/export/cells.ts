/** Formats values as cells of an export. */
import type { Fields } from '../../domain/fields.ts'
import { type ExactDecimal, parseDecimal } from '../../domain/money.ts'
import { dateText } from '../views.ts'
import type { CellType, Column } from './columns.ts'

/** The text of a cell, empty if the document has no value. `timeZone`: zone of dates. */
export function cellOf(document: Fields, { name, type }: Column, timeZone: string): string {
  return textOf(valueIn(document, name), type, timeZone)
}

/**
 * Follows a dotted name, with indexes into lists; a key that contains the dots takes precedence.
 */
export function valueIn(document: Fields, name: string): unknown {
  if (Object.hasOwn(document, name)) return document[name]
  let value: unknown = document
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Fields)[step]
  }
  return value
}

function textOf(value: unknown, type: CellType, timeZone: string): string {
  if (value === undefined || value === null || value === '') return ''
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? '' : dateText(value.getTime(), timeZone)
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object') {
    return type === 'percentage' ? percentOf(value) : String(value)
  }
  if ('_bsontype' in value) return String(value)
  if (type === 'json') return jsonOf(value)
  if (Array.isArray(value)) return listOf(value, type, timeZone)
  if (type === 'range') return rangeOf(value as Fields, timeZone)
  return jsonOf(value)
}

/** Separated by commas; as JSON if a member could be read as two. */
function listOf(list: readonly unknown[], type: CellType, timeZone: string): string {
  const isPlain = list.every((member) => {
    if (member === null || typeof member === 'object') return member instanceof Date
    return typeof member !== 'string' || (/^[^,[{]*$/.test(member) && member.trim() === member)
  })
  if (!isPlain) return jsonOf(list)
  return list.map((member) => textOf(member, type, timeZone)).join(', ')
}

function rangeOf(range: Fields, timeZone: string): string {
  const { from, to } = range
  return `${textOf(from, 'date', timeZone)} - ${textOf(to, 'date', timeZone)}`
}

/** Empty lists and objects become empty cells. */
function jsonOf(value: object): string {
  return Object.keys(value).length === 0 ? '' : JSON.stringify(value)
}

/** `0.125` is `12.5%`. */
function percentOf(value: unknown): string {
  const isNumber = typeof value === 'number' || typeof value === 'string'
  const fraction = isNumber ? parseDecimal(value) : null
  if (fraction === null) return String(value)
  return `${exactText({ digits: fraction.digits * 100n, scale: fraction.scale })}%`
}

/** An exact decimal as its shortest text. */
export function exactText({ digits, scale }: ExactDecimal): string {
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale)
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

/** Values of rows in JSON and as text. Numbers are exact decimals. */
import { Decimal } from 'decimal.js'
import { isSealed } from '../catalog/sealing/sealing.ts'
import { parseDecimal } from '../domain/money.ts'
import { exactText } from '../entities/export/cells.ts'
import { dateText } from '../entities/views.ts'

/** A BSON value without a native type, or a decimal of a format, as text. */
export function plainText(value: unknown): string {
  if (value instanceof Decimal) return value.toFixed()
  const text = String(value)
  const isDecimal = typeof value === 'object' && value !== null && bsonType(value) === 'Decimal128'
  const decimal = isDecimal || typeof value === 'number' ? parseDecimal(text) : null
  return decimal === null ? text : exactText(decimal)
}

function bsonType(value: object): unknown {
  return '_bsontype' in value ? value._bsontype : undefined
}

/** The value in a JSON row: a number if it has the same text, `TRUE` and `FALSE` for flags. */
export function jsonValue(value: unknown, timeZone: string): unknown {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return isSealed(value) ? null : value
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'bigint') return numberOrText(String(value))
  if (typeof value !== 'object') return value
  if (value instanceof Date) return dateOrNull(value, timeZone)
  if (value instanceof Decimal) return numberOrText(value.toFixed())
  if (Array.isArray(value)) return value.map((member) => jsonValue(member, timeZone))
  const type = bsonType(value)
  if (type !== undefined) {
    const text = plainText(value)
    return type === 'ObjectId' || type === 'ObjectID' ? text : numberOrText(text)
  }
  return membersOf(value, timeZone)
}

function membersOf(value: object, timeZone: string): Record<string, unknown> {
  const members = Object.entries(value).filter(
    ([name, member]) => name !== '__proto__' && !(typeof member === 'string' && isSealed(member)),
  )
  return Object.fromEntries(members.map(([name, member]) => [name, jsonValue(member, timeZone)]))
}

function dateOrNull(date: Date, timeZone: string): string | null {
  const atMs = date.getTime()
  return Number.isNaN(atMs) ? null : dateText(atMs, timeZone)
}

function numberOrText(text: string): number | string {
  const number = Number(text)
  return String(number) === text ? number : text
}

/** The value as a cell: empty if absent, compound values as JSON. */
export function cellText(value: unknown, timeZone: string): string {
  if (typeof value === 'number' || value instanceof Decimal) return plainText(value)
  const plain = jsonValue(value, timeZone)
  if (plain === null) return ''
  return typeof plain === 'object' ? JSON.stringify(plain) : plainText(plain)
}

/** The value as JSON text. */
export function jsonText(value: unknown): string {
  return JSON.stringify(jsonValue(value, 'UTC')) ?? ''
}

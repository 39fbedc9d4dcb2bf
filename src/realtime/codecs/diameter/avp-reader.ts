import type { Message } from '../../../file-types/file-type.ts'
import { limitProblems, messageLimits } from '../../../file-types/message-limits.ts'
import type { DiameterForm } from './diameter-form.ts'
import { type Avp, avpByKey } from './dictionary.ts'

type JsonRecord = Record<string, unknown>
/** An AVP as an element of a list: its key and value. */
type Member = { key: string; value: unknown }

const KEY_NAMES = ['code', 'name', 'avp']
const VALUE_NAMES = ['value', 'data', 'avps']
const VENDOR_NAMES = ['vendor', 'vendorId', 'vendor_id', 'vendor-id']
const DIGITS = /^\d{1,10}$/

/**
 * Converts the AVPs of a message in any layout into records by dictionary names; AVPs that are not
 * in the dictionary keep the name or code of the message. A single AVP becomes its value and a
 * repeated one a list, regardless of the layout.
 */
export class AvpReader {
  /** The limit that the message exceeds; empty if within the limits. */
  problem = ''
  readonly #form: DiameterForm
  #members = 0

  /** Records the observed layout in `form`. */
  constructor(form: DiameterForm) {
    this.#form = form
  }

  /** The AVPs in a record or list, or why it has none. */
  read(body: object): Message | string {
    const isList = Array.isArray(body)
    if (isList && body.length > 0) this.#form.layout = Array.isArray(body[0]) ? 'pairs' : 'entries'
    if (isList && !body.every(isMember)) return 'has an element that is not an AVP'
    const message = isList ? this.#listed(body, 1) : this.#keyed(body as JsonRecord, 1)
    return this.problem === '' ? message : this.problem
  }

  #keyed(record: JsonRecord, depth: number): Message {
    const message: JsonRecord = Object.create(null)
    const keys = Object.keys(record)
    if (!this.#countMembers(keys.length, depth)) return message
    for (const key of keys) this.#addAvp(message, key, record[key], depth, false)
    return message
  }

  #listed(list: readonly unknown[], depth: number): Message {
    const message: JsonRecord = Object.create(null)
    if (!this.#countMembers(list.length, depth)) return message
    for (const item of list) {
      if (!this.#countMembers(2, depth + 1)) return message
      const { key, value } = Array.isArray(item)
        ? this.#pair(item)
        : this.#entry(item as JsonRecord)
      this.#addAvp(message, key, value, depth + 1, true)
    }
    return message
  }

  #pair([key, value]: readonly unknown[]): Member {
    if (typeof key === 'number') this.#form.hasNumberCodes = true
    return { key: String(key), value }
  }

  #entry(entry: JsonRecord): Member {
    const { entryKeys } = this.#form
    const keyName = ownOf(entry, KEY_NAMES) ?? 'name'
    const valueName = ownOf(entry, VALUE_NAMES) ?? 'value'
    const vendorName = ownOf(entry, VENDOR_NAMES)
    const value = entry[valueName]
    entryKeys.key = keyName
    if (typeof value === 'object') entryKeys.group = valueName
    else entryKeys.value = valueName
    if (vendorName !== undefined) entryKeys.vendor = vendorName
    const vendor = vendorName === undefined ? undefined : entry[vendorName]
    const key = String(entry[keyName])
    const hasVendor = isKey(vendor) && DIGITS.test(String(vendor)) && Number(vendor) > 0
    return { key: hasVendor && DIGITS.test(key) ? `${Number(vendor)}:${key}` : key, value }
  }

  /** Counts the members of a container. Returns false if the message exceeds a limit. */
  #countMembers(size: number, depth: number): boolean {
    this.#members += size
    if (depth > messageLimits.depth) this.problem = limitProblems.depth
    if (this.#members > messageLimits.members) this.problem = limitProblems.members
    return this.problem === ''
  }

  /** Adds an AVP to its record. `isListed`: an empty list is a group without AVPs. */
  #addAvp(record: JsonRecord, key: string, value: unknown, depth: number, isListed: boolean): void {
    if (key.length > messageLimits.nameChars) this.problem = limitProblems.nameChars
    if (this.problem !== '') return
    const avp = avpByKey(key)
    // Every message has a Session-Id, so its key shows whether AVPs are named or numbered.
    if (avp?.name === 'Session-Id') this.#form.isByCode = key !== avp.name
    const read = isListed && isEmptyList(value) ? emptyGroup() : this.#value(value, avp, depth + 1)
    if (read !== undefined) put(record, avp?.name ?? key, read)
  }

  #value(value: unknown, avp: Avp | undefined, depth: number): unknown {
    if (typeof value === 'string') return this.#text(value, avp)
    if (typeof value !== 'object') return value
    if (value === null) return undefined
    if (!Array.isArray(value)) return this.#record(value as JsonRecord, avp, depth)
    const mayBeGroup = avp === undefined || avp.type === 'Grouped'
    if (mayBeGroup && value.length > 0 && value.every(isMember)) return this.#listed(value, depth)
    if (!this.#countMembers(value.length, depth)) return undefined
    const repeated: unknown[] = []
    for (const item of value) {
      const read = this.#value(item, avp, depth + 1)
      if (read !== undefined) repeated.push(read)
    }
    return repeated
  }

  /** Converts a named value, given by name or as digits, to its number. */
  #text(text: string, avp: Avp | undefined): unknown {
    const values = avp?.values
    if (values === undefined || values === null) return text
    const number = values.get(text)
    if (number === undefined) return DIGITS.test(text) ? Number(text) : text
    this.#form.hasNamedValues = true
    return number
  }

  #record(record: JsonRecord, avp: Avp | undefined, depth: number): unknown {
    if (avp?.type === 'Unsigned64' || avp?.type === 'Integer64') {
      const number = longOf(record, avp.type === 'Unsigned64')
      if (number !== undefined) return number
    }
    return isMember(record) ? this.#listed([record], depth) : this.#keyed(record, depth)
  }
}

/** Whether an element of a list is an AVP with its key. */
function isMember(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false
  if (Array.isArray(item)) return item.length === 2 && isKey(item[0])
  const record = item as JsonRecord
  const name = ownOf(record, KEY_NAMES)
  return name !== undefined && isKey(record[name]) && ownOf(record, VALUE_NAMES) !== undefined
}

function isKey(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value))
}

function ownOf(record: JsonRecord, names: readonly string[]): string | undefined {
  for (const name of names) if (Object.hasOwn(record, name)) return name
  return undefined
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function emptyGroup(): JsonRecord {
  return Object.create(null)
}

/** Values of the same AVP become one list. */
function put(record: JsonRecord, name: string, value: unknown): void {
  const earlier = record[name]
  if (!Array.isArray(value)) {
    if (earlier === undefined) record[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else record[name] = [earlier, value]
    return
  }
  if (value.length === 0) return
  if (earlier === undefined) {
    record[name] = value.length === 1 ? value[0] : value
    return
  }
  const values: unknown[] = Array.isArray(earlier) ? earlier : [earlier]
  for (const one of value) values.push(one)
  record[name] = values
}

/**
 * A 64-bit number in the representation of the package `long` (two 32-bit halves). Digits if a
 * number would not be exact.
 */
function longOf(record: JsonRecord, isUnsigned: boolean): number | string | undefined {
  const { high, low } = record
  if (!Number.isSafeInteger(high) || !Number.isSafeInteger(low)) return undefined
  const bits = (BigInt(high as number) << 32n) | BigInt.asUintN(32, BigInt(low as number))
  const value = isUnsigned ? BigInt.asUintN(64, bits) : BigInt.asIntN(64, bits)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

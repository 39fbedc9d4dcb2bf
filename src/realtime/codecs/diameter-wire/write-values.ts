/** Encodes answer values as AVPs, by the type of the AVP. */
import { type AnswerValue, NumberText } from '../../../file-types/file-type.ts'
import { amountOf } from '../diameter/amount.ts'
import type { AnswerBytes } from './answer-bytes.ts'
import { type AvpRule, kinds, ruleByKey } from './avp-rules.ts'
import { DiameterWireError } from './message.ts'
import { NTP_UNIX_SECONDS } from './protocol.ts'
import { addressBytes } from './write-address.ts'

const TWO_32 = 2 ** 32
/** NTP seconds are above this value, Unix seconds below it until 2040. */
const NTP_FROM = NTP_UNIX_SECONDS
const UNIT_VALUE = ruleByKey('Unit-Value') as AvpRule
const VALUE_DIGITS = ruleByKey('Value-Digits') as AvpRule
const EXPONENT = ruleByKey('Exponent') as AvpRule
const WHOLE = /^-?\d{1,20}$/
const HEX = /^(?:[0-9a-f]{2})*$/

/**
 * A list yields repeated AVPs. Throws `DiameterWireError` for a value that does not fit the AVP.
 */
export function writeValue(bytes: AnswerBytes, rule: AvpRule, value: AnswerValue): void {
  switch (typeof value) {
    case 'number':
      writeNumber(bytes, rule, value)
      break
    case 'string':
      writeString(bytes, rule, value)
      break
    case 'boolean':
      writeNumber(bytes, rule, value ? 1 : 0)
      break
    default:
      if (value instanceof NumberText) writeDecimal(bytes, rule, value.digits)
      else if (isList(value)) for (const one of value) writeValue(bytes, rule, one)
      else writeRecord(bytes, rule, value)
  }
}

/** Array.isArray does not distinguish a readonly list from a record. */
function isList(value: object): value is readonly AnswerValue[] {
  return Array.isArray(value)
}

function writeNumber(bytes: AnswerBytes, rule: AvpRule, value: number): void {
  switch (rule.kind) {
    case kinds.unsigned32:
      if (!(value >= 0 && value < TWO_32 && Number.isInteger(value))) refuse(rule, value)
      bytes.uint32(rule, value)
      break
    case kinds.integer32:
      if (!(value >= -(2 ** 31) && value < 2 ** 31 && Number.isInteger(value))) refuse(rule, value)
      bytes.uint32(rule, value)
      break
    case kinds.unsigned64:
      if (!(Number.isSafeInteger(value) && value >= 0)) refuse(rule, value)
      bytes.uint64(rule, Math.floor(value / TWO_32), value % TWO_32)
      break
    case kinds.integer64:
      if (!Number.isSafeInteger(value)) refuse(rule, value)
      bytes.uint64(rule, Math.floor(value / TWO_32), value)
      break
    case kinds.time:
      if (!Number.isInteger(value)) refuse(rule, value)
      bytes.uint32(rule, (value < NTP_FROM ? value + NTP_UNIX_SECONDS : value) % TWO_32)
      break
    default:
      writeDecimal(bytes, rule, String(value))
  }
}

/** A number by its digits; written as text to AVPs that are not numeric. */
function writeDecimal(bytes: AnswerBytes, rule: AvpRule, digits: string): void {
  if (rule === UNIT_VALUE) writeAmount(bytes, digits)
  else if (rule.kind === kinds.text) bytes.text(rule, digits)
  else writeString(bytes, rule, digits)
}

function writeString(bytes: AnswerBytes, rule: AvpRule, text: string): void {
  switch (rule.kind) {
    case kinds.text:
      bytes.text(rule, text)
      break
    case kinds.binary:
      bytes.octets(rule, Buffer.from(text, HEX.test(text) ? 'hex' : 'utf8'))
      break
    case kinds.address:
      bytes.octets(rule, addressBytes(rule, text) ?? refuse(rule, text))
      break
    case kinds.group:
      if (rule === UNIT_VALUE) writeAmount(bytes, text)
      else refuse(rule, text)
      break
    default:
      writeDigits(bytes, rule, text)
  }
}

/** Text with a number, or the name of a value. */
function writeDigits(bytes: AnswerBytes, rule: AvpRule, text: string): void {
  const named = rule.values?.get(text)
  if (named !== undefined) writeNumber(bytes, rule, named)
  else if (!WHOLE.test(text)) refuse(rule, text)
  else if (Number.isSafeInteger(Number(text))) writeNumber(bytes, rule, Number(text))
  else writeLong(bytes, rule, BigInt(text))
}

function writeLong(bytes: AnswerBytes, rule: AvpRule, value: bigint): void {
  const isSigned = rule.kind === kinds.integer64
  const isHeld = (isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value
  if (!isHeld || rule.size !== 8) refuse(rule, String(value))
  bytes.uint64(rule, Number(BigInt.asUintN(32, value >> 32n)), Number(BigInt.asUintN(32, value)))
}

/** Money as digits and an exponent of ten (RFC 8506 section 8.8). */
function writeAmount(bytes: AnswerBytes, decimal: string): void {
  const amount = amountOf(decimal)
  if (amount === undefined) refuse(UNIT_VALUE, decimal)
  const start = bytes.open(UNIT_VALUE)
  writeDigits(bytes, VALUE_DIGITS, amount.digits)
  if (amount.scale > 0) writeNumber(bytes, EXPONENT, -amount.scale)
  bytes.close(start)
}

/** A group by AVP names; names that are not in the dictionary are left out. */
function writeRecord(bytes: AnswerBytes, rule: AvpRule, record: object): void {
  if (rule.kind !== kinds.group) refuse(rule, 'a group')
  const start = bytes.open(rule)
  for (const [name, value] of Object.entries(record)) {
    const inner = ruleByKey(name)
    if (inner !== undefined) writeValue(bytes, inner, value)
  }
  bytes.close(start)
}

function refuse({ name }: AvpRule, value: string | number): never {
  throw new DiameterWireError(`${name} cannot be ${String(value).slice(0, 64)}`)
}

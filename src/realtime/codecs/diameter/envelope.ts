import { quote } from '../json/text.ts'
import type { DiameterForm } from './diameter-form.ts'

type JsonRecord = Readonly<Record<string, unknown>>

/** Limits of repeated envelope members: their number, and the characters of each. */
const MEMBERS_MAX = 32
const CHARS_MAX = 256

const ANSWERS: ReadonlyMap<string, string> = new Map([
  ['CCR', 'CCA'],
  ['Credit-Control-Request', 'Credit-Control-Answer'],
])
/** Command flags (RFC 6733 section 3). */
const PROXIABLE = 0x40
const ERROR = 0x20
const FLAGS = ['flags', 'commandFlags', 'command_flags', 'Command-Flags']
/** Flags that differ between request and answer; answers are never retransmitted. */
const REQUEST_FLAGS = ['request', 'isRequest']
const ERROR_FLAGS = ['error', 'isError']
const RETRANSMITTED_FLAGS = ['potentiallyRetransmitted', 'retransmitted']
/** Result codes of protocol errors, for which the error flag is set. */
const isProtocolError = (code: number) => code >= 3000 && code < 4000

/**
 * Wraps the AVPs in the envelope of the request, if it has one. Its other members are repeated,
 * such as the identifiers by which a sender correlates the answer; flags are set to those of an
 * answer.
 */
export function wrap({ envelope }: DiameterForm, avps: string, resultCode: number): string {
  if (envelope === null) return avps
  const { record, bodyKey } = envelope
  const members: string[] = []
  for (const name of Object.keys(record).slice(0, MEMBERS_MAX)) {
    const value = record[name]
    if (name === bodyKey) members.push(`${quote(name)}:${avps}`)
    else if (name === 'header' && isRecord(value)) {
      members.push(`${quote(name)}:{${repeated(value, resultCode).join(',')}}`)
    } else members.push(...member(name, value, resultCode))
  }
  return `{${members.join(',')}}`
}

function repeated(record: JsonRecord, resultCode: number): string[] {
  const names = Object.keys(record).slice(0, MEMBERS_MAX)
  return names.flatMap((name) => member(name, record[name], resultCode))
}

/**
 * A simple member or flags. Other members are left out, and so is the length, which is different.
 */
function member(name: string, value: unknown, resultCode: number): string[] {
  if (name.length > CHARS_MAX || name === 'length') return []
  const key = quote(name)
  switch (typeof value) {
    case 'boolean':
      return [`${key}:${flag(name, value, resultCode)}`]
    case 'number':
      if (!Number.isFinite(value)) return []
      return [`${key}:${FLAGS.includes(name) ? bits(value, resultCode) : value}`]
    case 'string':
      return value.length > CHARS_MAX ? [] : [`${key}:${quote(ANSWERS.get(value) ?? value)}`]
    default:
      if (!FLAGS.includes(name) || !isRecord(value)) return []
      return [`${key}:{${flagsOf(value, resultCode).join(',')}}`]
  }
}

function flagsOf(flags: JsonRecord, resultCode: number): string[] {
  const members: string[] = []
  for (const name of Object.keys(flags).slice(0, MEMBERS_MAX)) {
    const value = flags[name]
    if (typeof value !== 'boolean' || name.length > CHARS_MAX) continue
    members.push(`${quote(name)}:${flag(name, value, resultCode)}`)
  }
  return members
}

function flag(name: string, value: boolean, resultCode: number): boolean {
  if (ERROR_FLAGS.includes(name)) return isProtocolError(resultCode)
  const isOfRequest = REQUEST_FLAGS.includes(name) || RETRANSMITTED_FLAGS.includes(name)
  return isOfRequest ? false : value
}

function bits(flags: number, resultCode: number): number {
  return (flags & PROXIABLE) | (isProtocolError(resultCode) ? ERROR : 0)
}

function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

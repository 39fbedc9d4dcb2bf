/**
 * Reads a credit-control request in one pass: checks each AVP, including nested ones, and decodes
 * the values that the file type may read.
 */

import { limitProblems, messageLimits } from '../../../file-types/message-limits.ts'
import { codesOnceIn } from '../diameter/dictionary.ts'
import type { MessageRecord } from '../message-record.ts'
import { type AvpRule, bitsOf, kinds, ONCE_CODES, ruleOf } from './avp-rules.ts'
import { int32At, uint24At, uint32At } from './bytes.ts'
import { copyOf, exampleAt, wrapInGroup } from './failed-avp.ts'
import type { WireAvp } from './message.ts'
import { avpCode, avpFlags, HEADER_BYTES, resultCode } from './protocol.ts'
import type { AvpNames } from './read-names.ts'
import { readAddress, readInteger64, readOctets, readTime, readUnsigned64 } from './read-values.ts'
import type { AvpProblem } from './wire-problem.ts'

const RESERVED_AVP_FLAGS = 0x1f

/** AVPs that may occur in a request at most once. */
const ONCE = bitsOf(codesOnceIn('Credit-Control-Request'))

/** Bit of a code in `ONCE`, as in `WireReader.seen`. */
export function bitOnce(code: number): number {
  return ONCE[code] as number
}

/**
 * Reads one message at a time. After `read` the fields describe what was read up to the first
 * problem; they refer to the bytes by offset only.
 */
export class WireReader {
  problem: AvpProblem | null = null
  /** Offsets of AVPs of the message; -1 if missing. */
  sessionIdAt = -1
  authApplicationAt = -1
  requestTypeAt = -1
  requestNumberAt = -1
  requestedActionAt = -1
  originHostAt = -1
  /** Offsets of all `Proxy-Info` AVPs. */
  readonly proxiesAt: number[] = []
  /** Bits of the codes in `ONCE` that occur in the message. */
  seen = 0
  readonly #names: AvpNames
  #bytes: Buffer = Buffer.alloc(0)
  #members = 0

  constructor(names: AvpNames) {
    this.#names = names
  }

  /**
   * The AVPs by name, without those that the file type does not read. The names are those of the
   * dictionary and of the file type, never of the message, so that the records may have a
   * prototype.
   */
  read(bytes: Buffer): MessageRecord {
    this.problem = null
    this.sessionIdAt = -1
    this.authApplicationAt = -1
    this.requestTypeAt = -1
    this.requestNumberAt = -1
    this.requestedActionAt = -1
    this.originHostAt = -1
    this.proxiesAt.length = 0
    this.seen = 0
    this.#members = 0
    this.#bytes = bytes
    const message: MessageRecord = {}
    this.#avps(HEADER_BYTES, bytes.length, 1, ONCE, message)
    this.#bytes = NO_BYTES
    return message
  }

  /**
   * Returns false after a problem. `once`: see `AvpRule`; `record`: null if the group is not read.
   */
  #avps(
    start: number,
    end: number,
    depth: number,
    once: Uint32Array | null,
    record: MessageRecord | null,
  ): boolean {
    const bytes = this.#bytes
    let seen = 0
    let at = start
    while (at < end) {
      if (end - at < 8) return this.#failTail(end - at)
      const code = uint32At(bytes, at)
      const flags = bytes[at + 4] as number
      const length = uint24At(bytes, at + 5)
      const head = (flags & avpFlags.vendor) !== 0 ? 12 : 8
      if (length < head || length > end - at) return this.#failLength(at, end, length)
      if ((flags & RESERVED_AVP_FLAGS) !== 0) return this.#failFlags(at)
      this.#members += 1
      if (this.#members > messageLimits.members) return this.#failBody(limitProblems.members)
      const vendor = head === 12 ? uint32At(bytes, at + 8) : 0
      const rule = ruleOf(code, vendor)
      if (rule === undefined) {
        if ((flags & avpFlags.mandatory) !== 0) return this.#failUnknown(at, code, vendor)
        if (record !== null) this.#readUnknown(code, vendor, at + head, at + length, record)
      } else {
        if (once !== null && vendor === 0 && code < ONCE_CODES) {
          const bit = once[code] as number
          if ((seen & bit) !== 0) return this.#failRepeated(at, rule)
          seen |= bit
        }
        if (depth === 1) this.#recordPosition(code, vendor, at)
        if (!this.#value(rule, at, at + head, at + length, depth, record)) return false
      }
      at += (length + 3) & ~3
    }
    if (depth === 1) this.seen = seen
    return true
  }

  /** Records the offsets of AVPs that the answer needs or that are checked at the end. */
  #recordPosition(code: number, vendor: number, at: number): void {
    if (vendor !== 0) return
    switch (code) {
      case avpCode.sessionId:
        this.sessionIdAt = at
        break
      case avpCode.authApplicationId:
        this.authApplicationAt = at
        break
      case avpCode.ccRequestType:
        this.requestTypeAt = at
        break
      case avpCode.ccRequestNumber:
        this.requestNumberAt = at
        break
      case avpCode.requestedAction:
        this.requestedActionAt = at
        break
      case avpCode.originHost:
        this.originHostAt = at
        break
      case avpCode.proxyInfo:
        this.proxiesAt.push(at)
        break
    }
  }

  /** Checks the data of an AVP, and stores its value in the record if it is read. */
  #value(
    rule: AvpRule,
    at: number,
    from: number,
    to: number,
    depth: number,
    record: MessageRecord | null,
  ): boolean {
    const { kind, size } = rule
    if (size >= 0 && to - from !== size) return this.#failSize(rule, at, to - from)
    const isRead = record !== null && this.#names.isRead(rule)
    if (kind === kinds.group) {
      const inner: MessageRecord | null = isRead ? {} : null
      if (depth >= messageLimits.depth) return this.#failBody(limitProblems.depth)
      if (!this.#avps(from, to, depth + 1, rule.once, inner)) return this.#within(rule, at)
      if (isRead) put(record, rule.name, inner)
      return true
    }
    if (kind === kinds.address && to - from < 2) return this.#failSize(rule, at, to - from)
    if (isRead) put(record, rule.name, readValue(this.#bytes, kind, from, to))
    return true
  }

  #readUnknown(code: number, vendor: number, from: number, to: number, record: MessageRecord) {
    const name = this.#names.unknown(code, vendor)
    if (name !== null) put(record, name, readOctets(this.#bytes, from, to))
  }

  #failTail(rest: number): false {
    return this.#fail('body', `ends with ${rest} bytes that are not an AVP`, null)
  }

  #failBody(why: string): false {
    return this.#fail('body', why, null, resultCode.unableToComply)
  }

  #failLength(at: number, end: number, length: number): false {
    const failed = exampleAt(this.#bytes, at, end)
    const name = nameOf(failed)
    return this.#fail(name, `has an invalid length of ${length}`, failed)
  }

  #failFlags(at: number): false {
    const copy = copyOf(this.#bytes, at)
    // Reserved flags would make the answer invalid, too.
    const failed = { ...copy, flags: copy.flags & ~RESERVED_AVP_FLAGS }
    const why = 'has reserved flags set'
    return this.#fail(nameOf(failed), why, failed, resultCode.invalidAvpBits)
  }

  #failUnknown(at: number, code: number, vendor: number): false {
    const name = vendor === 0 ? String(code) : `${vendor}:${code}`
    const why = 'is mandatory but unknown'
    return this.#fail(name, why, copyOf(this.#bytes, at), resultCode.avpUnsupported)
  }

  #failRepeated(at: number, { name }: AvpRule): false {
    const failed = copyOf(this.#bytes, at)
    return this.#fail(name, 'is there twice', failed, resultCode.avpOccursTooManyTimes)
  }

  #failSize({ name, size }: AvpRule, at: number, is: number): false {
    const why = `must have ${size < 0 ? 'at least 2' : size} bytes, has ${is}`
    return this.#fail(name, why, exampleAt(this.#bytes, at, this.#bytes.length))
  }

  #fail(field: string, why: string, failed: WireAvp | null, code = 5014): false {
    this.problem = { field, why, failed, resultCode: code }
    return false
  }

  /** Nests the failed AVP of a problem in the group that contains it. */
  #within({ name }: AvpRule, at: number): false {
    const problem = this.problem as AvpProblem
    const group = exampleAt(this.#bytes, at, this.#bytes.length)
    const isAll = problem.field === 'body' && problem.resultCode === resultCode.invalidAvpLength
    if (isAll) {
      problem.failed = group
      problem.field = name
    } else if (problem.failed !== null) {
      problem.failed = wrapInGroup(group, problem.failed)
      problem.field = `${name}.${problem.field}`
    }
    return false
  }
}

const NO_BYTES = Buffer.alloc(0)

function nameOf({ code, vendor }: WireAvp): string {
  const text = vendor === 0 ? String(code) : `${vendor}:${code}`
  return ruleOf(code, vendor)?.name ?? text
}

function readValue(bytes: Buffer, kind: number, from: number, to: number): string | number {
  switch (kind) {
    case kinds.text:
      return readOctets(bytes, from, to)
    case kinds.unsigned32:
      return uint32At(bytes, from)
    case kinds.integer32:
      return int32At(bytes, from)
    case kinds.unsigned64:
      return readUnsigned64(bytes, from)
    case kinds.time:
      return readTime(bytes, from)
    case kinds.integer64:
      return readInteger64(bytes, from)
    case kinds.address:
      return readAddress(bytes, from, to)
    default:
      return bytes.toString('hex', from, to)
  }
}

/** Values of the same AVP become one list. */
function put(record: MessageRecord, name: string, value: unknown): void {
  const earlier = record[name]
  if (earlier === undefined) record[name] = value
  else if (Array.isArray(earlier)) earlier.push(value)
  else record[name] = [earlier, value]
}

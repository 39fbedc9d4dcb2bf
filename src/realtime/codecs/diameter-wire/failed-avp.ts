/**
 * Content of a Failed-AVP (RFC 6733 section 7.5): the offending AVP as bytes, nested in its groups,
 * or an example of a missing AVP.
 */
import { type AvpRule, kinds, ruleByKey, ruleOf } from './avp-rules.ts'
import { uint24At, uint32At } from './bytes.ts'
import { avp, DiameterWireError, padded, readAvps, type WireAvp } from './message.ts'
import { avpFlags } from './protocol.ts'

/** For a larger AVP only an example is returned. */
const COPY_BYTES_MAX = 4096
const ZEROS = Buffer.alloc(8)
/** Minimum data of texts and octets: host names and the like are never empty. */
const OCTETS_MIN = 1
/** Minimum data of an address, including its family. */
const ADDRESS_MIN = 6

/** A copy of the AVP at an offset; its length must be valid. */
export function copyOf(bytes: Buffer, at: number): WireAvp {
  const length = uint24At(bytes, at + 5)
  const flags = bytes[at + 4] as number
  const head = headBytes(flags)
  if (length > COPY_BYTES_MAX) return exampleAt(bytes, at, bytes.length)
  const data = Buffer.from(bytes.subarray(at + head, at + length))
  return { code: uint32At(bytes, at), vendor: vendorAt(bytes, at, bytes.length), flags, data }
}

/**
 * An example of an AVP whose length is invalid: its header, which must end at or before `end`, and
 * the minimum number of zeros for its type.
 */
export function exampleAt(bytes: Buffer, at: number, end: number): WireAvp {
  const code = uint32At(bytes, at)
  const vendor = vendorAt(bytes, at, end)
  const hasVendor = vendor !== 0 ? avpFlags.vendor : 0
  const flags = ((bytes[at + 4] as number) & avpFlags.mandatory) | hasVendor
  return { code, vendor, flags, data: zeros(ruleOf(code, vendor)) }
}

/** An example of an AVP that is missing in a request. */
export function missingAvp(code: number, vendor = 0): WireAvp {
  const rule = ruleOf(code, vendor)
  return rule === undefined ? avp(code, Buffer.alloc(0), vendor) : exampleOf(rule)
}

function exampleOf(rule: AvpRule): WireAvp {
  const { code, vendor, flags } = rule
  return { code, vendor, flags, data: zeros(rule) }
}

function zeros(rule: AvpRule | undefined): Buffer {
  return ZEROS.subarray(0, rule === undefined ? 0 : leastOf(rule))
}

function leastOf({ kind, size }: AvpRule): number {
  if (size >= 0) return size
  if (kind === kinds.group) return 0
  return kind === kinds.address ? ADDRESS_MIN : OCTETS_MIN
}

function headBytes(flags: number): number {
  return (flags & avpFlags.vendor) !== 0 ? 12 : 8
}

function vendorAt(bytes: Buffer, at: number, end: number): number {
  const isFlagged = headBytes(bytes[at + 4] as number) === 12
  const hasVendor = isFlagged && end - at >= 12 && uint24At(bytes, at + 5) >= 12
  return hasVendor ? uint32At(bytes, at + 8) : 0
}

/** A step of a path: an AVP name, and which of its occurrences. */
interface Step {
  rule: AvpRule
  /** Index among the AVPs of this name. */
  index: number
  /** Selector `[name=value]`, or `[name]` with an empty value; null if absent. */
  selector: { rule: AvpRule; value: string } | null
}

const STEP = /^([^[\]]+)(?:\[([^=\]]+)(?:=([^\]]*))?\])?$/

/**
 * The AVP at the path of a field, nested in its groups: a copy, or an example if it is missing.
 * Null if the path does not consist of AVPs.
 */
export function failedAt(avps: readonly WireAvp[], path: string): WireAvp | null {
  const steps = stepsOf(path)
  const [first, ...others] = steps
  if (first === undefined) return null
  // A value that the service lacks may have been read from the message itself, and be invalid
  // there.
  const isElsewhere = others.length > 0 && find(avps, steps) === null && find(avps, others) !== null
  return nested(avps, isElsewhere ? others : steps)
}

function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  for (const part of path.split('.')) {
    const last = steps.at(-1)
    if (/^\d{1,4}$/.test(part) && last !== undefined) {
      last.index = Number(part)
      continue
    }
    const [, name = '', key, value = ''] = STEP.exec(part) ?? []
    const rule = ruleByKey(name)
    if (rule === undefined) return steps
    const keyRule = key === undefined ? undefined : ruleByKey(key)
    const selector = keyRule === undefined ? null : { rule: keyRule, value }
    steps.push({ rule, index: 0, selector })
  }
  return steps
}

/** The AVP at the end of the path. */
function find(avps: readonly WireAvp[], [step, ...others]: readonly Step[]): WireAvp | null {
  const found = step === undefined ? undefined : pick(avps, step)
  if (found === undefined) return null
  return others.length === 0 ? found : find(innerOf(found), others)
}

function nested(avps: readonly WireAvp[], [step, ...others]: readonly Step[]): WireAvp | null {
  if (step === undefined) return null
  const found = pick(avps, step)
  if (found === undefined || others.length > 0) {
    const { code, vendor, flags } = found ?? exampleOf(step.rule)
    const member = nested(found === undefined ? [] : innerOf(found), others)
    if (member !== null) return wrapInGroup({ code, vendor, flags, data: ZEROS }, member)
  }
  if (found === undefined) return exampleOf(step.rule)
  const { code, vendor, flags, data } = found
  const isLarge = data.length > COPY_BYTES_MAX
  return { code, vendor, flags, data: isLarge ? zeros(step.rule) : Buffer.from(data) }
}

function pick(avps: readonly WireAvp[], { rule, index, selector }: Step): WireAvp | undefined {
  const all = avps.filter(({ code, vendor }) => code === rule.code && vendor === rule.vendor)
  if (selector === null) return all[index]
  return all.find((group) => innerOf(group).some((member) => isSelected(member, selector)))
}

function isSelected(
  { code, vendor, data }: WireAvp,
  { rule, value }: NonNullable<Step['selector']>,
) {
  if (code !== rule.code || vendor !== rule.vendor) return false
  if (value === '') return true
  return data.length === 4 && rule.size === 4
    ? String(uint32At(data, 0)) === value
    : data.toString('utf8') === value
}

function innerOf(avp: WireAvp): readonly WireAvp[] {
  if (ruleOf(avp.code, avp.vendor)?.kind !== kinds.group) return []
  try {
    return readAvps(avp.data)
  } catch (error) {
    if (error instanceof DiameterWireError) return []
    throw error
  }
}

/** The group with a single member. */
export function wrapInGroup({ code, vendor, flags }: WireAvp, member: WireAvp): WireAvp {
  const head = headBytes(member.flags)
  const length = head + member.data.length
  const data = Buffer.alloc(padded(length))
  data.writeUInt32BE(member.code, 0)
  data[4] = member.flags
  data.writeUIntBE(length, 5, 3)
  if (head === 12) data.writeUInt32BE(member.vendor, 8)
  member.data.copy(data, head)
  return { code, vendor, flags, data }
}

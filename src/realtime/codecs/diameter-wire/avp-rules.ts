/** Properties of AVPs that reading and writing need, looked up by code without hashing. */
import { type Avp, avpByCode, avpByKey, codesOnceIn } from '../diameter/dictionary.ts'
import { avpFlags } from './protocol.ts'

/** Data type by which an AVP is decoded. */
export const kinds = {
  text: 0,
  binary: 1,
  unsigned32: 2,
  integer32: 3,
  time: 4,
  unsigned64: 5,
  integer64: 6,
  address: 7,
  group: 8,
} as const

export interface AvpRule {
  /** Sequence number of the rule. */
  readonly index: number
  /** Name in messages: `Avp.name`. */
  readonly name: string
  readonly code: number
  readonly vendor: number
  /** One of `kinds`. */
  readonly kind: number
  /** Required size of the data in bytes; -1 for any size. */
  readonly size: number
  /** Flags with which the AVP is written: bits of `avpFlags`. */
  readonly flags: number
  /** Named values; null if absent. */
  readonly values: ReadonlyMap<string, number> | null
  /**
   * For a group: a bit for each AVP of vendor 0 that may occur in it at most once, by code,
   * otherwise 0.
   */
  readonly once: Uint32Array | null
}

/** Lower codes of the IETF and 3GPP are looked up by index. */
const TABLE_CODES = 4096
/** AVPs that may occur in a group at most once have lower codes. */
export const ONCE_CODES = 512
const TGPP = 10415

const KINDS: Readonly<Record<Avp['type'], number>> = {
  OctetString: kinds.text,
  Unsigned32: kinds.unsigned32,
  Integer32: kinds.integer32,
  Time: kinds.time,
  Unsigned64: kinds.unsigned64,
  Integer64: kinds.integer64,
  IPAddress: kinds.address,
  Grouped: kinds.group,
}

/** `AvpRule.size` by kind. */
const SIZES: readonly number[] = [-1, -1, 4, 4, 4, 8, 8, -1, -1]

const rules = new Map<Avp, AvpRule>()
const ietf = tableOf(0)
const tgpp = tableOf(TGPP)

/** Undefined if the AVP is not in the dictionary. */
export function ruleOf(code: number, vendor: number): AvpRule | undefined {
  if (code < TABLE_CODES) {
    if (vendor === 0) return ietf[code]
    if (vendor === TGPP) return tgpp[code]
  }
  const avp = avpByCode(code, vendor)
  return avp === undefined ? undefined : ruleFor(avp)
}

/** Rule by name or code, as `avpByKey`. */
export function ruleByKey(key: string): AvpRule | undefined {
  const avp = avpByKey(key)
  return avp === undefined ? undefined : ruleFor(avp)
}

/** Number of rules so far; every index is lower. */
export function ruleCount(): number {
  return rules.size
}

/** A distinct bit for each of at most 32 codes below `ONCE_CODES`. */
export function bitsOf(codes: readonly number[]): Uint32Array {
  const bits = new Uint32Array(ONCE_CODES)
  for (const [at, code] of codes.entries()) bits[code] = (1 << at) >>> 0
  return bits
}

function tableOf(vendor: number): readonly (AvpRule | undefined)[] {
  return Array.from({ length: TABLE_CODES }, (_, code) => {
    const avp = avpByCode(code, vendor)
    return avp === undefined ? undefined : ruleFor(avp)
  })
}

function ruleFor(avp: Avp): AvpRule {
  const existing = rules.get(avp)
  if (existing !== undefined) return existing
  const { name, code, vendor, values } = avp
  const kind = avp.isBinary ? kinds.binary : KINDS[avp.type]
  const vendorBit = vendor === 0 ? 0 : avpFlags.vendor
  const flags = vendorBit | (avp.isMandatory ? avpFlags.mandatory : 0)
  const codes = vendor === 0 ? codesOnceIn(name) : []
  const once = codes.length === 0 ? null : bitsOf(codes)
  const size = SIZES[kind] as number
  const rule = { index: rules.size, name, code, vendor, kind, size, flags, values, once }
  rules.set(avp, rule)
  return rule
}

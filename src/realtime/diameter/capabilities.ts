/** Capabilities exchange: content of CER and CEA (RFC 6733 section 5.3). */
import { isIPv4 } from 'node:net'
import { ruleOf } from '../codecs/diameter-wire/avp-rules.ts'
import { baseAnswer, type ProtocolError, problemAvps } from '../codecs/diameter-wire/base-answer.ts'
import {
  avp,
  DiameterWireError,
  find,
  groupAvp,
  readAvps,
  readHeader,
  textAvp,
  uint32Avp,
  uint32Of,
  type WireAvp,
} from '../codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  flags,
  resultCode,
  type WireIdentity,
} from '../codecs/diameter-wire/protocol.ts'
import { checkedAvps } from './base-checks.ts'

export const PRODUCT = 'Tollgate'
/** Vendor-Id of the node, which has no IANA number. */
const OWN_VENDOR = 0
export const VENDOR_3GPP = 10415
const NO_INBAND_SECURITY = 0

/** Capabilities of a peer. */
export interface Capabilities {
  readonly originHost: string
  readonly originRealm: string
  /** Whether it advertises credit control as a vendor-specific application of 3GPP. */
  readonly isVendorSpecific: boolean
  /** Origin-State-Id; 0 if it has none. */
  readonly stateId: number
}

/** Capabilities of the node in its CEA. */
export interface OwnCapabilities {
  readonly identity: WireIdentity
  /** Origin-State-Id: start of the node in seconds since 1970. */
  readonly stateId: number
}

const REQUIRED = [
  avpCode.originHost,
  avpCode.originRealm,
  avpCode.hostIpAddress,
  avpCode.vendorId,
  avpCode.productName,
]

/** Reads a CER, or returns why it is refused. */
export function readCapabilities(
  bytes: Buffer,
): { capabilities: Capabilities; problem: null } | { problem: ProtocolError } {
  const problem = headerProblem(bytes)
  if (problem !== null) return { problem }
  const checked = checkedAvps(bytes, REQUIRED)
  if (checked.problem !== null) return checked
  const { avps } = checked
  const wrong = identityProblem(avps) ?? securityProblem(avps)
  if (wrong !== null) return { problem: wrong }
  const applications = applicationsIn(avps)
  if ('problem' in applications) return applications
  if (!applications.isCommon) return { problem: NO_COMMON_APPLICATION }
  const { isVendorSpecific } = applications
  const originHost = identityOf(avps, avpCode.originHost)
  const originRealm = identityOf(avps, avpCode.originRealm)
  const stateId = uint32Of(avps, avpCode.originStateId) ?? 0
  return { capabilities: { originHost, originRealm, isVendorSpecific, stateId }, problem: null }
}

const NO_COMMON_APPLICATION: ProtocolError = {
  resultCode: resultCode.noCommonApplication,
  why: 'credit control (4) is not among the applications',
}

function headerProblem(bytes: Buffer): ProtocolError | null {
  const { flags: bits, application: id } = readHeader(bytes)
  if ((bits & flags.error) !== 0) {
    return { resultCode: resultCode.invalidHeaderBits, why: 'the flags of the header are wrong' }
  }
  if (id === application.base) return null
  return { resultCode: resultCode.applicationUnsupported, why: 'a CER must have application 0' }
}

/** Characters of host and realm names, which are compared and logged. */
const IDENTITY = /^[A-Za-z0-9._-]{1,255}$/

function identityProblem(avps: readonly WireAvp[]): ProtocolError | null {
  for (const code of [avpCode.originHost, avpCode.originRealm]) {
    if (IDENTITY.test(identityOf(avps, code))) continue
    const why = `${ruleOf(code, 0)?.name} must be a domain name`
    return { resultCode: resultCode.invalidAvpValue, failed: find(avps, code) ?? null, why }
  }
  return null
}

function identityOf(avps: readonly WireAvp[], code: number): string {
  return find(avps, code)?.data.toString('latin1') ?? ''
}

/** TLS has its own port (section 13.1); it is not started on an open connection. */
function securityProblem(avps: readonly WireAvp[]): ProtocolError | null {
  const offered = avps.filter((one) => one.vendor === 0 && one.code === avpCode.inbandSecurityId)
  const isNone = offered.some((one) => uint32Of([one], one.code) === NO_INBAND_SECURITY)
  if (offered.length === 0 || isNone) return null
  const why = 'Inband-Security-Id must have NO_INBAND_SECURITY (0)'
  return { resultCode: resultCode.noCommonSecurity, why }
}

type Applications = { isCommon: boolean; isVendorSpecific: boolean } | { problem: ProtocolError }

function applicationsIn(avps: readonly WireAvp[]): Applications {
  let isCommon = false
  let isVendorSpecific = false
  for (const one of avps) {
    if (one.vendor !== 0) continue
    if (one.code === avpCode.vendorSpecificApplicationId) {
      const group = membersOf(one)
      if (group === null) return { problem: brokenGroup(one) }
      if (uint32Of(group, avpCode.authApplicationId) === application.creditControl) {
        isVendorSpecific = uint32Of(group, avpCode.vendorId) === VENDOR_3GPP || isVendorSpecific
        isCommon = true
      }
    } else if (isServed(one)) {
      isCommon = true
    }
  }
  return { isCommon, isVendorSpecific }
}

/** Relays support every application (section 2.4). */
function isServed(one: WireAvp): boolean {
  const id = uint32Of([one], one.code)
  if (one.code === avpCode.acctApplicationId) return id === application.relay
  if (one.code !== avpCode.authApplicationId) return false
  return id === application.creditControl || id === application.relay
}

function membersOf(group: WireAvp): readonly WireAvp[] | null {
  try {
    return readAvps(group.data)
  } catch (error) {
    if (error instanceof DiameterWireError) return null
    throw error
  }
}

function brokenGroup(group: WireAvp): ProtocolError {
  const why = 'Vendor-Specific-Application-Id has a member with a wrong length'
  const failed = { ...group, data: Buffer.alloc(0) }
  return { resultCode: resultCode.invalidAvpLength, failed, why }
}

/** Parameters of the answer, without the node's capabilities. */
export interface CapabilitiesOutcome {
  readonly problem: ProtocolError | null
  /** Local address of this connection. */
  readonly localAddress: string
  readonly isVendorSpecific: boolean
}

export function capabilitiesAnswer(
  request: Buffer,
  own: OwnCapabilities,
  { problem, localAddress, isVendorSpecific }: CapabilitiesOutcome,
): Buffer {
  const code = problem === null ? resultCode.success : problem.resultCode
  return baseAnswer(request, code, own.identity, [
    ...ownAvps(own, localAddress, isVendorSpecific),
    ...(problem === null ? [] : problemAvps(problem)),
  ])
}

/** AVPs common to CER and CEA, which follow Origin-Host and Origin-Realm. */
export function ownAvps(
  { stateId }: Omit<OwnCapabilities, 'identity'>,
  localAddress: string,
  isVendorSpecific: boolean,
): WireAvp[] {
  const auth = uint32Avp(avpCode.authApplicationId, application.creditControl)
  const specific = groupAvp(avpCode.vendorSpecificApplicationId, [
    uint32Avp(avpCode.vendorId, VENDOR_3GPP),
    auth,
  ])
  return [
    avp(avpCode.hostIpAddress, addressData(localAddress)),
    uint32Avp(avpCode.vendorId, OWN_VENDOR),
    optional(textAvp(avpCode.productName, PRODUCT)),
    uint32Avp(avpCode.originStateId, stateId),
    uint32Avp(avpCode.supportedVendorId, VENDOR_3GPP),
    auth,
    ...(isVendorSpecific ? [specific] : []),
  ]
}

/** Product-Name must not have the M bit (section 4.5). */
function optional(one: WireAvp): WireAvp {
  return { ...one, flags: 0 }
}

const FAMILY = { ipv4: 1, ipv6: 2 } as const
const MAPPED = '::ffff:'

/** Data of type Address (section 4.3.1), from an address as a socket reports it. */
export function addressData(address: string): Buffer {
  const [text = ''] = address.split('%')
  const plain = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text
  if (isIPv4(plain)) return Buffer.from([0, FAMILY.ipv4, ...plain.split('.').map(Number)])
  const [head = '', tail = ''] = plain.split('::')
  const parts = (half: string) => (half === '' ? [] : half.split(':'))
  const zeros = Array(Math.max(0, 8 - parts(head).length - parts(tail).length)).fill('0')
  const words = [...parts(head), ...zeros, ...parts(tail)]
  const data = Buffer.alloc(18)
  data.writeUInt16BE(FAMILY.ipv6)
  for (const [index, word] of words.slice(0, 8).entries()) {
    data.writeUInt16BE(Number.parseInt(word, 16) & 0xffff, 2 + 2 * index)
  }
  return data
}

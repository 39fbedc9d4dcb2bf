/**
 * Credit-control requests as packet gateways send them, about 900 bytes with two rating groups,
 * made from one template: only the differing bytes are written.
 */
import { textAvp, uint32Avp, writeMessage } from '../src/realtime/codecs/diameter-wire/message.ts'
import { avpCode, command, flags } from '../src/realtime/codecs/diameter-wire/protocol.ts'
import { type NamedAvps, wireAvps } from '../src/realtime/diameter/named.ts'

export const MIB = 1024 * 1024

/** Fields that differ between requests. */
export interface GatewayRequest {
  /** At most 40 characters. */
  sessionId: string
  /** CC-Request-Type: 1 initial, 2 update, 3 termination. */
  type: 1 | 2 | 3
  number: number
  msisdn: string
  /** CC-Total-Octets of each rating group. */
  used: number
  requested: number
}

const SESSION_CHARS = 40
const MSISDN_CHARS = 14
const SESSION = 'S'.repeat(SESSION_CHARS)
const MSISDN = 'M'.repeat(MSISDN_CHARS)
const NUMBER = 0x7e57_0001
const USED = 0x7e57_0003
const REQUESTED = 0x7e57_0004

const PS_INFORMATION: NamedAvps = {
  '3GPP-Charging-Id': '0x0a0b0c0d',
  '3GPP-PDP-Type': 0,
  'PDP-Address': '172.17.241.255',
  'SGSN-Address': '172.16.10.101',
  'GGSN-Address': '172.16.10.101',
  'CG-Address': '172.16.1.14',
  '3GPP-GGSN-MCC-MNC': '00101',
  '3GPP-SGSN-MCC-MNC': '00101',
  '3GPP-NSAPI': '5',
  'Called-Station-Id': 'internet',
  '3GPP-Selection-Mode': '0',
  '3GPP-Charging-Characteristics': '0800',
  '3GPP-User-Location-Info': '0x8200f110000100f11000000101',
  '3GPP-RAT-Type': '0x06',
  '3GPP-MS-TimeZone': '0x8000',
}

function services(type: number): NamedAvps[] {
  return [10, 20].map((group) => ({
    'Rating-Group': group,
    ...(type === 3 ? {} : { 'Requested-Service-Unit': { 'CC-Total-Octets': REQUESTED } }),
    ...(type === 1
      ? {}
      : {
          'Used-Service-Unit': {
            'CC-Input-Octets': 1000,
            'CC-Output-Octets': 2000,
            'CC-Total-Octets': USED,
            'Reporting-Reason': type === 3 ? 2 : 3,
          },
        }),
  }))
}

function templateOf(type: number): Buffer {
  return writeMessage({
    flags: flags.request | flags.proxiable,
    command: command.creditControl,
    application: 4,
    hopByHopId: 0,
    endToEndId: 0,
    avps: [
      textAvp(avpCode.sessionId, SESSION),
      textAvp(avpCode.originHost, 'pgw1.epc.example.net'),
      textAvp(avpCode.originRealm, 'epc.example.net'),
      textAvp(avpCode.destinationRealm, 'localdomain'),
      uint32Avp(avpCode.authApplicationId, 4),
      textAvp(avpCode.serviceContextId, '32251@3gpp.org'),
      uint32Avp(avpCode.ccRequestType, type),
      uint32Avp(avpCode.ccRequestNumber, NUMBER),
      ...wireAvps({
        'Origin-State-Id': 1_620_183_172,
        'Subscription-Id': [
          { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': MSISDN },
          { 'Subscription-Id-Type': 1, 'Subscription-Id-Data': '999991234567810' },
        ],
        'Multiple-Services-Indicator': 1,
        'Multiple-Services-Credit-Control': services(type),
        'User-Equipment-Info': {
          'User-Equipment-Info-Type': 0,
          'User-Equipment-Info-Value': '3520990017614823',
        },
        'Service-Information': { 'PS-Information': PS_INFORMATION },
      }),
    ],
  })
}

interface Template {
  bytes: Buffer
  session: number
  msisdn: number
  number: number
  used: readonly number[]
  requested: readonly number[]
}

function compile(type: number): Template {
  const bytes = templateOf(type)
  const at = (value: string | Buffer) => bytes.indexOf(value)
  const all = (value: number) => {
    const expected = Buffer.alloc(8)
    expected.writeUInt32BE(value, 4)
    const found: number[] = []
    for (let from = bytes.indexOf(expected); from >= 0; from = bytes.indexOf(expected, from + 8)) {
      found.push(from)
    }
    return found
  }
  const number = Buffer.alloc(4)
  number.writeUInt32BE(NUMBER)
  return {
    bytes,
    session: at(SESSION),
    msisdn: at(MSISDN),
    number: at(number),
    used: all(USED),
    requested: all(REQUESTED),
  }
}

const templates = { 1: compile(1), 2: compile(2), 3: compile(3) }

/** A separate copy of the message. */
export function gatewayRequest(request: GatewayRequest): Buffer {
  const { sessionId, type, number, msisdn, used, requested } = request
  const template = templates[type]
  const bytes = Buffer.from(template.bytes)
  bytes.write(sessionId.padEnd(SESSION_CHARS, '0'), template.session, 'latin1')
  bytes.write(msisdn.padStart(MSISDN_CHARS, '0'), template.msisdn, 'latin1')
  bytes.writeUInt32BE(number, template.number)
  for (const at of template.used) bytes.writeUInt32BE(used, at + 4)
  for (const at of template.requested) bytes.writeUInt32BE(requested, at + 4)
  return bytes
}

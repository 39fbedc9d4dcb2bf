/** Credit-control requests in bytes, as a packet gateway sends them. */
import {
  avp,
  groupAvp,
  textAvp,
  timeAvp,
  uint32Avp,
  uint64Avp,
  type WireAvp,
  writeMessage,
} from '../src/realtime/codecs/diameter-wire/message.ts'
import { avpCode, command, flags } from '../src/realtime/codecs/diameter-wire/protocol.ts'
import { FIRST_MS } from './messages.ts'

const TGPP = 10415
const UPDATE = 2

/** An update with two services of some 900 bytes; each index has another session and subscriber. */
export function updateBytes(index: number): Buffer {
  return requestOf(index, [
    ...headOf(index),
    uint32Avp(avpCode.originStateId, 1_789_000_000),
    timeAvp(avpCode.eventTimestamp, FIRST_MS + index * 1000),
    subscription(0, String(972_500_000_000 + index)),
    subscription(1, `42501${String(index).padStart(10, '0')}`),
    uint32Avp(455, 1),
    service(index, 10),
    service(index, 20),
    groupAvp(458, [uint32Avp(459, 0), textAvp(460, '3569380356438091')]),
    groupAvp(873, [groupAvp(874, sessionOf(index), TGPP)], TGPP),
  ])
}

/** An update with one service and no other AVPs, all of which the package `diameter` knows. */
export function smallUpdateBytes(index: number): Buffer {
  const units = [uint64Avp(421, 1_000_000 + index)]
  return requestOf(index, [
    ...headOf(index),
    timeAvp(avpCode.eventTimestamp, FIRST_MS + index * 1000),
    subscription(0, String(972_500_000_000 + index)),
    groupAvp(456, [
      uint32Avp(avpCode.ratingGroup, 10),
      groupAvp(437, [uint64Avp(421, 10_485_760)]),
      groupAvp(446, units),
    ]),
  ])
}

function requestOf(index: number, avps: readonly WireAvp[]): Buffer {
  return writeMessage({
    flags: flags.request | flags.proxiable,
    command: command.creditControl,
    application: 4,
    hopByHopId: index,
    endToEndId: 0x5000_0000 + index,
    avps,
  })
}

function headOf(index: number): WireAvp[] {
  return [
    textAvp(avpCode.sessionId, `pgw1.epc.example.net;${1_789_000_000 + index};${index}`),
    textAvp(avpCode.originHost, 'pgw1.epc.example.net'),
    textAvp(avpCode.originRealm, 'epc.example.net'),
    textAvp(avpCode.destinationRealm, 'charging.example.net'),
    uint32Avp(avpCode.authApplicationId, 4),
    textAvp(avpCode.serviceContextId, '32251@3gpp.org'),
    uint32Avp(avpCode.ccRequestType, UPDATE),
    uint32Avp(avpCode.ccRequestNumber, 1 + (index % 9)),
  ]
}

function subscription(type: number, number: string): WireAvp {
  return groupAvp(443, [uint32Avp(450, type), textAvp(444, number)])
}

function service(index: number, ratingGroup: number): WireAvp {
  const used = 1_000_000 + ((index * 7_919 + ratingGroup) % 9_000_000)
  return groupAvp(456, [
    groupAvp(437, [uint64Avp(421, 10_485_760)]),
    groupAvp(446, [
      uint32Avp(872, 3, TGPP),
      uint32Avp(420, 300),
      uint64Avp(421, used),
      uint64Avp(412, used >>> 2),
      uint64Avp(414, used - (used >>> 2)),
    ]),
    uint32Avp(avpCode.ratingGroup, ratingGroup),
  ])
}

function sessionOf(index: number): WireAvp[] {
  const hex = (code: number, text: string) => avp(code, Buffer.from(text, 'hex'), TGPP)
  return [
    hex(2, (0x7f000000 + index).toString(16)),
    uint32Avp(3, 0, TGPP),
    hex(1227, '00010a400011'),
    hex(1228, '00010a141e28'),
    hex(847, '00010a141e29'),
    textAvp(30, 'internet.example.net'),
    textAvp(13, '0800', TGPP),
    textAvp(18, '42501', TGPP),
    hex(21, '06'),
    hex(22, '8224f510100024f51010000001'),
    hex(23, '8000'),
  ]
}

/** Messages as records by the names of AVPs, written and read by the generic codec. */
import type { AvpType } from '../../../../../src/realtime/codecs/diameter/avp-entry.ts'
import { avpByCode, avpByKey } from '../../../../../src/realtime/codecs/diameter/dictionary.ts'
import {
  avp,
  groupAvp,
  type Header,
  readAvps,
  readMessage,
  textAvp,
  uint32Avp,
  uint64Avp,
  type WireAvp,
  writeMessage,
} from '../../../../../src/realtime/codecs/diameter-wire/message.ts'
import { NTP_UNIX_SECONDS } from '../../../../../src/realtime/codecs/diameter-wire/protocol.ts'

export type Leaf = string | number | bigint | Buffer
export interface Tree {
  [name: string]: Leaf | Tree | readonly (Leaf | Tree)[]
}

/** In the order of the names; a list is an AVP for each member. */
export function avpsOf(tree: Tree): WireAvp[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? (value as readonly (Leaf | Tree)[]) : [value]
    return values.map((one) => avpOf(name, one as Leaf | Tree))
  })
}

function avpOf(name: string, value: Leaf | Tree): WireAvp {
  const known = avpByKey(name)
  if (known === undefined) throw new Error(`no AVP is called ${name}`)
  const { code, vendor, type } = known
  if (Buffer.isBuffer(value)) return avp(code, value, vendor)
  if (typeof value === 'object') return groupAvp(code, avpsOf(value), vendor)
  if (typeof value === 'string') return textAvp(code, value, vendor)
  if (type === 'Unsigned64' || type === 'Integer64') {
    return uint64Avp(code, BigInt.asUintN(64, BigInt(value)), vendor)
  }
  const number = type === 'Time' ? Number(value) + NTP_UNIX_SECONDS : Number(value)
  return uint32Avp(code, number, vendor)
}

const CCR: Header = {
  flags: 0xc0,
  command: 272,
  application: 4,
  hopByHopId: 0x01020304,
  endToEndId: 0xa0b0c0d0,
}

export function messageOf(tree: Tree, header: Partial<Header> = {}): Buffer {
  return bytesOf(avpsOf(tree), header)
}

export function bytesOf(avps: readonly WireAvp[], header: Partial<Header> = {}): Buffer {
  return writeMessage({ ...CCR, ...header, avps })
}

/** Each name with its value, or the list of its values, as in the JSON form. */
export function treeOf(bytes: Buffer): Record<string, unknown> {
  return recordOf(readMessage(bytes).avps)
}

export function recordOf(avps: readonly WireAvp[]): Record<string, unknown> {
  const record: Record<string, unknown> = {}
  for (const { code, vendor, data } of avps) {
    const known = avpByCode(code, vendor)
    const name = known?.name ?? `${vendor}:${code}`
    const value = dataAs(known?.type ?? 'OctetString', data)
    const earlier = record[name]
    if (earlier === undefined) record[name] = value
    else record[name] = Array.isArray(earlier) ? [...earlier, value] : [earlier, value]
  }
  return record
}

function dataAs(type: AvpType, data: Buffer): unknown {
  switch (type) {
    case 'Grouped':
      return recordOf(readAvps(data))
    case 'Unsigned32':
      return data.readUInt32BE()
    case 'Integer32':
      return data.readInt32BE()
    case 'Unsigned64':
      return Number(data.readBigUInt64BE())
    case 'Integer64':
      return Number(data.readBigInt64BE())
    case 'Time':
      return data.readUInt32BE() - NTP_UNIX_SECONDS
    default:
      return data.toString('utf8')
  }
}

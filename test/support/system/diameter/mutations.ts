/** Damaged requests, as gateways under development and hostile peers send them. */
import {
  avp,
  groupAvp,
  padded,
  readMessage,
  type WireAvp,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { HEADER_BYTES } from '../../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { Random } from '../random.ts'

/** Codes of AVPs: some are groups, some belong to other commands, and some are unknown. */
const CODES = [1, 263, 264, 268, 284, 415, 416, 431, 437, 443, 446, 456, 461, 873, 9_999_999]
const LENGTHS = [0, 1, 7, 8, 9, 11, 12, 13, 0xffff, 0xffffff]

type Mutation = (bytes: Buffer, random: Random) => Buffer

/** Damages a whole message; the remaining header is that of a request with its length. */
export function mutated(message: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(message)
  for (let count = random.between(1, 3); count > 0; count -= 1) {
    bytes = random.pick(MUTATIONS)(bytes, random)
  }
  return bytes
}

/** Damages the header. */
export function withDamagedHeader(message: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(message)
  const at = random.pick([0, 1, 2, 3, 4, 5, 6, 7, 8, 11])
  bytes[at] = random.below(256)
  return bytes
}

const atRandom: Mutation = (bytes, random) => {
  const at = HEADER_BYTES + random.below(Math.max(1, bytes.length - HEADER_BYTES))
  if (at < bytes.length) bytes[at] = random.below(256)
  return bytes
}

const oneBit: Mutation = (bytes, random) => {
  const at = HEADER_BYTES + random.below(Math.max(1, bytes.length - HEADER_BYTES))
  if (at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << random.below(8))
  return bytes
}

/** Changes the header of one AVP, at any depth. */
const inHead =
  (change: (bytes: Buffer, at: number, random: Random) => void): Mutation =>
  (bytes, random) => {
    const positions = headsIn(bytes, HEADER_BYTES, bytes.length)
    if (positions.length > 0) change(bytes, random.pick(positions), random)
    return bytes
  }

/** Truncates the message; the header has the shorter length. */
const truncated: Mutation = (bytes, random) => {
  const end = HEADER_BYTES + 4 * random.below((bytes.length - HEADER_BYTES) / 4 + 1)
  return withLength(bytes.subarray(0, end))
}

/** Changes the list of AVPs, if it can still be parsed. */
const inList =
  (change: (avps: WireAvp[], at: number, random: Random) => void): Mutation =>
  (bytes, random) => {
    try {
      const message = readMessage(bytes)
      const avps = [...message.avps]
      if (avps.length > 0) change(avps, random.below(avps.length), random)
      return writeMessage({ ...message, avps })
    } catch {
      return bytes
    }
  }

const nested = (one: WireAvp, depth: number): WireAvp =>
  depth === 0 ? one : nested(groupAvp(456, [one]), depth - 1)

const MUTATIONS: readonly Mutation[] = [
  atRandom,
  oneBit,
  truncated,
  inHead((bytes, at, random) => bytes.writeUIntBE(random.pick(LENGTHS), at + 5, 3)),
  inHead((bytes, at, random) => bytes.writeUInt32BE(random.pick(CODES), at)),
  inHead((bytes, at, random) => bytes.writeUInt8(random.below(256), at + 4)),
  inList((avps, at) => void avps.splice(at, 1)),
  inList((avps, at, random) => void avps.push(...Array(random.between(1, 40)).fill(avps[at]))),
  inList((avps, at, random) => void avps.splice(at, 0, random.pick(avps))),
  inList((avps, at, random) => {
    avps[at] = nested(avps[at] as WireAvp, random.between(1, 60))
  }),
  inList((avps, at, random) => {
    const { code, vendor } = avps[at] as WireAvp
    const data = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)))
    avps[at] = avp(code, data, vendor)
  }),
]

function withLength(bytes: Buffer): Buffer {
  bytes.writeUIntBE(bytes.length, 1, 3)
  return bytes
}

/** Where AVPs begin, as far as lengths are plausible; what looks like a group is searched too. */
function headsIn(bytes: Buffer, from: number, end: number): number[] {
  const positions: number[] = []
  for (let at = from; at + 8 <= end; ) {
    const length = bytes.readUIntBE(at + 5, 3)
    if (length < 8 || at + length > end) break
    positions.push(at)
    const data = at + (((bytes[at + 4] as number) & 0x80) === 0 ? 8 : 12)
    const isLikeGroup = data + 8 <= at + length && bytes.readUInt16BE(data) === 0
    if (isLikeGroup) positions.push(...headsIn(bytes, data, at + length))
    at += padded(length)
  }
  return positions
}

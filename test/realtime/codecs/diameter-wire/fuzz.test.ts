import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { problemAnswer } from '../../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import {
  readMessage,
  type WireAvp,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { routeOf } from '../../../../src/realtime/codecs/diameter-wire/route.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'
import {
  context,
  identity,
  outcomeFor,
  wire,
} from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { composed } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import { samples } from '../../../support/realtime/codecs/diameter-wire/samples.ts'
import { messageOf } from '../../../support/realtime/codecs/diameter-wire/trees.ts'

const valid = [
  ...Object.values(composed).map((tree) => messageOf(tree)),
  ...samples().map(({ bytes }) => bytes),
]

/** Any bytes have an answer that is a message with their ids. */
function expectAnswer(body: Buffer): void {
  const before = Buffer.from(body)
  const decoded = wire.decode(body, context)
  expect(body.equals(before)).toBe(true)
  if (body.length < 20) {
    expect(decoded.ok).toBe(false)
    return
  }
  const answers: Buffer[] = [problemAnswer(body, { resultCode: 5012, why: 'x' }, identity)]
  routeOf(body)
  if (decoded.ok) {
    const outcome = decoded.request === null ? plainOutcome('granted') : outcomeFor(decoded.request)
    answers.push(wire.encode(decoded.envelope, outcome))
    answers.push(wire.encode(decoded.envelope, plainOutcome('storeDown')))
  } else {
    expect(decoded.error.why).not.toBe('')
    answers.push(wire.encodeError(decoded.error))
  }
  const ids = { hopByHopId: before.readUInt32BE(12), endToEndId: before.readUInt32BE(16) }
  for (const answer of answers) {
    const { avps, ...header } = readMessage(answer)
    expect(header).toMatchObject(ids)
    const code = avps.find((avp) => avp.code === 268)?.data.readUInt32BE() ?? 0
    expect(code).toBeGreaterThan(2000)
    expect(header.flags & 0xb0).toBe(code >= 3000 && code < 4000 ? 0x20 : 0)
    expect(answer.length % 4).toBe(0)
  }
}

/** Offsets of AVP headers, also within groups, as far as they can be recognised. */
function headersOf(body: Buffer): number[] {
  const places: number[] = []
  for (let at = 20; at + 8 <= body.length; at += 4) {
    const length = body.readUIntBE(at + 5, 3)
    const isHeader = body.readUInt32BE(at) < 5000 && ((body[at + 4] as number) & 0x1f) === 0
    if (isHeader && length >= 8 && at + length <= body.length) places.push(at)
  }
  return places
}

const mutation = fc.record({
  at: fc.nat(),
  what: fc.constantFrom('byte', 'length', 'flags', 'code', 'vendor', 'cut', 'twice', 'zero'),
  value: fc.nat({ max: 0xffffff }),
})
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutated(body: Buffer, { at, what, value }: Mutation): Buffer {
  const places = headersOf(body)
  const place = places[at % Math.max(places.length, 1)] ?? 20
  if (place + 8 > body.length) return body
  const copy = Buffer.from(body)
  switch (what) {
    case 'byte':
      copy[20 + (at % (copy.length - 20))] = value & 0xff
      return copy
    case 'length':
      copy.writeUIntBE(value % 3 === 0 ? value : value % 64, place + 5, 3)
      return copy
    case 'flags':
      copy[place + 4] = value & 0xff
      return copy
    case 'code':
      copy.writeUInt32BE([456, 443, 873, 446, 263, value][value % 6] as number, place)
      return copy
    case 'vendor':
      copy[place + 4] = (copy[place + 4] as number) ^ 0x80
      return copy
    case 'cut':
      return copy.subarray(0, 20 + (at % (copy.length - 19)))
    case 'twice': {
      const end = place + body.readUIntBE(place + 5, 3)
      return Buffer.concat([copy, copy.subarray(place, (end + 3) & ~3)])
    }
    default:
      return copy.fill(0, place + 8, Math.min(place + 8 + (value % 16), copy.length))
  }
}

const avp: fc.Arbitrary<WireAvp> = fc
  .record({
    code: fc.nat({ max: 0xffffffff }),
    vendor: fc.constantFrom(0, 10415, 4_000_000_000),
    flags: fc.constantFrom(0, 0x40, 0x20),
    data: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  })
  .map((one) => ({ ...one, flags: one.flags | (one.vendor === 0 ? 0 : 0x80) }))

describe('any bytes are answered', () => {
  it('if they are random', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => expectAnswer(Buffer.from(bytes))),
      propertyRuns(2000),
    )
  })

  it('if they are random AVPs', () => {
    const header = { flags: 0xc0, command: 272, application: 4, hopByHopId: 1, endToEndId: 2 }
    fc.assert(
      fc.property(fc.array(avp, { maxLength: 12 }), (avps) => {
        expectAnswer(writeMessage({ ...header, avps }))
      }),
      propertyRuns(1000),
    )
  })

  it('if they are correct messages with damage', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...valid),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        (body, mutations) => expectAnswer(mutations.reduce(mutated, body)),
      ),
      propertyRuns(5000),
    )
  })

  it('if they are nested groups', () => {
    for (const depth of [1, 30, 31, 32, 500, 100_000]) {
      const bytes = Buffer.alloc(20 + depth * 12)
      messageOf({}).copy(bytes)
      for (let level = 0; level < depth; level += 1) {
        const at = 20 + level * 12
        bytes.writeUInt32BE(873, at)
        bytes.writeUInt32BE(0xc0000000 + Math.min(bytes.length - at, 0xffffff), at + 4)
        bytes.writeUInt32BE(10415, at + 8)
      }
      expectAnswer(bytes)
    }
  })
})

it('unknown AVPs are written as they were read', () => {
  const header = { flags: 0x80, command: 1, application: 2, hopByHopId: 3, endToEndId: 4 }
  fc.assert(
    fc.property(fc.array(avp, { maxLength: 12 }), (avps) => {
      const message = { ...header, avps }
      expect(readMessage(writeMessage(message))).toEqual(message)
      expect(writeMessage(readMessage(writeMessage(message)))).toEqual(writeMessage(message))
    }),
  )
})

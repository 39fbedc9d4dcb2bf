import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { type Avp, avpByCode } from '../../../../src/realtime/codecs/diameter/dictionary.ts'
import {
  readAvps,
  readMessage,
  uint32Avp,
  type WireAvp,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { context, outcomeFor, requestIn, wire } from './codecs.ts'
import { composed, data } from './composed.ts'
import { samples } from './samples.ts'
import { avpsOf, bytesOf, messageOf, type Tree } from './trees.ts'
import { type SeenAvp, seenBy, whyNoTshark } from './tshark.ts'

const requests = Object.values(composed).map((tree) => messageOf(tree))

/** As tshark tells it, so far as it tells it alike: numbers, and plain text. */
interface Expected {
  depth: number
  code: number
  length: number
  flags: string
  value: string | undefined
}

function flatten(avps: readonly WireAvp[], depth: number): Expected[] {
  return avps.flatMap(({ code, vendor, flags, data }) => {
    const avp = avpByCode(code, vendor)
    const letters = [...'VMP'].map((letter, at) => ((flags << at) & 0x80 ? letter : '-'))
    const length = data.length + (vendor === 0 ? 8 : 12)
    const own = { depth, code, length, flags: letters.join(''), value: textOf(avp, data) }
    return avp?.type === 'Grouped' ? [own, ...flatten(readAvps(data), depth + 1)] : [own]
  })
}

function textOf(avp: Avp | undefined, data: Buffer): string | undefined {
  switch (avp?.type) {
    case 'Unsigned32':
    case 'Unsigned64':
      return String(data.length === 4 ? data.readUInt32BE() : data.readBigUInt64BE())
    case 'Integer32':
    case 'Integer64':
      return String(data.length === 4 ? data.readInt32BE() : data.readBigInt64BE())
    case 'OctetString': {
      const text = data.toString('latin1')
      return /^[ -~]+$/.test(text) ? text : undefined
    }
    default:
      return undefined
  }
}

/** `UPDATE_REQUEST (2)` is 2. */
function told({ value }: SeenAvp): string {
  return /^.* \((-?\d+)\)$/.exec(value)?.[1] ?? value
}

/** Captured messages have numbers of equipment that are none, and groups may be empty. */
const SENT_SO = /Trailing stray characters|Data is empty/
const NOTHING = /^$/

/** That tshark sees the same AVPs in each of them as the generic reader does. */
function expectAlike(messages: readonly Buffer[], odd = NOTHING): void {
  const all = seenBy(messages)
  expect(all).toHaveLength(messages.length)
  for (const [index, { problems, avps }] of all.entries()) {
    expect(problems.filter((line) => !odd.test(line))).toEqual([])
    const expected = flatten(readMessage(messages[index] as Buffer).avps, 0)
    const alike = avps.map((avp, at) => {
      const { depth, code, length, flags } = avp
      const isText = expected[at]?.value !== undefined
      // Some octets it shows as hex.
      const value = isText && !/^[0-9a-f]{2,}(…|$)/.test(avp.value) ? told(avp) : undefined
      return { depth, code, length, flags, value }
    })
    const known = expected.map((one, at) => ({
      ...one,
      value: alike[at]?.value === undefined ? undefined : one.value,
    }))
    expect(alike).toEqual(known)
    expect(alike.filter(({ value }) => value !== undefined).length).toBeGreaterThan(3)
  }
}

describe.skipIf(whyNoTshark !== '')(`tshark${whyNoTshark}`, () => {
  it('sees the AVPs of captured and composed requests as we do', () => {
    expectAlike([...samples().map(({ bytes }) => bytes), ...requests], SENT_SO)
  })

  it('finds nothing odd in our answers', () => {
    const answers = requests.flatMap((body) => {
      const decoded = wire.decode(body, context)
      if (!decoded.ok) throw new Error('is refused')
      const outcomes = [outcomeFor(requestIn(wire, body)), plainOutcome('noCredit')]
      return [...outcomes, plainOutcome('timedOut')].map((one) =>
        wire.encode(decoded.envelope, one),
      )
    })
    expectAlike(answers)
  })

  it('nor in our errors', () => {
    const proxy = { 'Proxy-Host': 'p.example.net', 'Proxy-State': 'state' }
    const wrong: Tree[] = [
      { ...data, 'CC-Request-Type': 5, 'Proxy-Info': [proxy, proxy] },
      { ...data, 'Auth-Application-Id': 3 },
      { ...data, 'Session-Id': 'x'.repeat(300) },
    ]
    const { 'Origin-Host': _, ...without } = data
    const bodies = [...wrong.map((tree) => messageOf(tree)), messageOf(without)]
    bodies.push(bytesOf([...avpsOf(data), { ...uint32Avp(278, 1), flags: 0x48 }]))
    const errors = bodies.map((body) => {
      const decoded = wire.decode(body, context)
      if (decoded.ok) throw new Error('is taken')
      return wire.encodeError(decoded.error)
    })
    const [first, ...others] = errors
    expectAlike([first as Buffer, ...others.slice(0, 1)])
    for (const { problems } of seenBy(others.slice(1))) {
      expect(problems).toEqual([])
    }
  })
})

import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { type Avp, avpByCode } from '../../../../src/realtime/codecs/diameter/dictionary.ts'
import {
  readAvps,
  readMessage,
  uint32Avp,
  type WireAvp,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  context,
  outcomeFor,
  requestIn,
  wire,
} from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { composed, data } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import { samples } from '../../../support/realtime/codecs/diameter-wire/samples.ts'
import {
  avpsOf,
  bytesOf,
  messageOf,
  type Tree,
} from '../../../support/realtime/codecs/diameter-wire/trees.ts'
import { hasTshark, type SharkAvp, tsharkOf } from '../../../support/tshark.ts'

const requests = Object.values(composed).map((tree) => messageOf(tree))

/** The texts that tshark may show for a value; null if tshark has its own format. */
function textsOf(avp: Avp | undefined, data: Buffer): string[] | null {
  switch (avp?.type) {
    case 'Unsigned32':
    case 'Unsigned64':
      return [String(data.length === 4 ? data.readUInt32BE() : data.readBigUInt64BE())]
    case 'Integer32':
    case 'Integer64':
      return [String(data.length === 4 ? data.readInt32BE() : data.readBigInt64BE())]
    case 'OctetString':
      return [data.toString('utf8'), [...data].map(hexOf).join(':')]
    default:
      return null
  }
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

/** AVPs of the product as tshark shows them, with the text of `seen` if that is valid. */
function asSeen(avps: readonly WireAvp[], seen: readonly SharkAvp[]): object[] {
  return avps.map(({ code, vendor, flags, data }, at) => {
    const avp = avpByCode(code, vendor)
    const other = seen[at]
    const texts = textsOf(avp, data)
    const isRight = texts === null || texts.includes(other?.value ?? '')
    const members = avp?.type === 'Grouped' ? readAvps(data) : []
    return {
      code,
      vendor,
      flags,
      name: other?.name,
      length: data.length + (vendor === 0 ? 8 : 12),
      value: isRight ? other?.value : texts,
      avps: asSeen(members, other?.avps ?? []),
    }
  })
}

/** Captured messages contain invalid equipment numbers, and groups may be empty. */
const SENT_SO = /Trailing stray characters|Data is empty/
const NOTHING = /^$/

/** Checks that tshark reads the same AVPs in each message as the generic reader. */
async function expectAlike(messages: readonly Buffer[], odd = NOTHING): Promise<void> {
  const all = await tsharkOf(messages)
  for (const [index, { problems, avps }] of all.entries()) {
    expect(problems.filter((line) => !odd.test(line))).toEqual([])
    expect(avps.length).toBeGreaterThan(3)
    expect(avps).toEqual(asSeen(readMessage(messages[index] as Buffer).avps, avps))
  }
}

describe.skipIf(!hasTshark)('tshark (not installed: skipped)', () => {
  it('reads the same AVPs in captured and composed requests', async () => {
    await expectAlike([...samples().map(({ bytes }) => bytes), ...requests], SENT_SO)
  })

  it('reports nothing in our answers', async () => {
    const answers = requests.flatMap((body) => {
      const decoded = wire.decode(body, context)
      if (!decoded.ok) throw new Error('is refused')
      const outcomes = [outcomeFor(requestIn(wire, body)), plainOutcome('noCredit')]
      return [...outcomes, plainOutcome('timedOut')].map((one) =>
        wire.encode(decoded.envelope, one),
      )
    })
    await expectAlike(answers)
  })

  it('reports nothing in our errors', async () => {
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
    await expectAlike([first as Buffer, ...others.slice(0, 1)])
    for (const { problems } of await tsharkOf(others.slice(1))) {
      expect(problems).toEqual([])
    }
  })
})

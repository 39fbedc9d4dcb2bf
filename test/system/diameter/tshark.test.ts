import { describe, expect, it } from 'vitest'
import {
  avp,
  textAvp,
  type WireAvp,
  writeMessage,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { avpCode, command } from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { wireAvps } from '../../../src/realtime/diameter/named.ts'
import { hasTshark, tsharkOf } from '../../support/tshark.ts'

const last = textAvp(avpCode.originHost, 'node.test.example')
const head = { flags: 0x40, command: command.creditControl, application: 4 }

function messageOf(...avps: WireAvp[]): Buffer {
  return writeMessage({ ...head, hopByHopId: 7, endToEndId: 0xfffffffe, avps: [...avps, last] })
}

/** Assumptions of the other tests: tshark is called correctly, and reports problems. */
describe.skipIf(!hasTshark)('tshark (not installed: skipped)', () => {
  it('decodes headers, values and groups', async () => {
    const named = {
      'Session-Id': 'a;1',
      'Result-Code': 2001,
      'Multiple-Services-Credit-Control': [
        { 'Granted-Service-Unit': { 'CC-Total-Octets': 100 }, 'Rating-Group': 1 },
        { 'Rating-Group': 2, 'Quota-Holding-Time': 5 },
      ],
    }
    const [first, second] = await tsharkOf([messageOf(...wireAvps(named)), messageOf()])
    expect(second?.avps).toMatchObject([{ name: 'Origin-Host', value: 'node.test.example' }])
    expect(first).toMatchObject({ ...head, hopByHopId: 7, endToEndId: 0xfffffffe, problems: [] })
    const [one, other] = first?.avps.slice(2, 4) ?? []
    expect(first?.avps.slice(0, 2)).toEqual([
      { name: 'Session-Id', code: 263, vendor: 0, flags: 0x40, length: 11, value: 'a;1', avps: [] },
      { name: 'Result-Code', code: 268, vendor: 0, flags: 64, length: 12, value: '2001', avps: [] },
    ])
    expect(one?.avps).toMatchObject([
      { name: 'Granted-Service-Unit', avps: [{ name: 'CC-Total-Octets', value: '100' }] },
      { name: 'Rating-Group', value: '1', avps: [] },
    ])
    expect(other?.avps).toMatchObject([
      { name: 'Rating-Group', value: '2' },
      { name: 'Quota-Holding-Time', code: 871, vendor: 10415, flags: 0xc0, value: '5' },
    ])
  })

  it.each([
    ['an AVP that it does not know', avp(9999, Buffer.from('ab')), /Unknown AVP 9999/],
    [
      'a length that the type has not',
      avp(avpCode.resultCode, Buffer.from('abc')),
      /Bad Integer32/,
    ],
    [
      'a group that ends too early',
      avp(456, Buffer.from('000001b0400000ff', 'hex')),
      /Wrong AVP.*malformed/,
    ],
  ])('warns of %s', async (_, bad, warning) => {
    const [sound, broken] = await tsharkOf([
      messageOf(textAvp(avpCode.sessionId, 's')),
      messageOf(bad),
    ])
    expect(sound?.problems).toEqual([])
    expect(broken?.problems.join()).toMatch(warning)
  })

  it('reassembles a long message', async () => {
    const long = 'x'.repeat(150_000)
    const [message] = await tsharkOf([messageOf(textAvp(avpCode.sessionId, long))])
    expect(message).toMatchObject({ command: command.creditControl, problems: [] })
    expect(message?.avps[0]?.length).toBe(long.length + 8)
  })
})

import { describe, expect, it } from 'vitest'
import {
  avp,
  find,
  groupAvp,
  readAvps,
  readMessage,
  textAvp,
  textOf,
  uint32Avp,
  uint32Of,
  type WireAvp,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  addressData,
  capabilitiesAnswer,
  readCapabilities,
} from '../../../src/realtime/diameter/capabilities.ts'
import { IDENTITY, nodeOf } from '../../support/realtime/diameter/node-of.ts'
import {
  cer,
  cerAvps,
  HOST,
  openPeer,
  REALM,
  resultOf,
  written,
} from '../../support/realtime/diameter/raw-peer.ts'

const without = (code: number) => cerAvps().filter((one) => one.code !== code)
const noApplication = () => without(258)
const vendorSpecific = (application: number, vendor = 10415) =>
  groupAvp(260, [uint32Avp(266, vendor), uint32Avp(258, application)])

describe('the capabilities of a CER', () => {
  it.each([
    ['credit control', cerAvps(), false],
    ['relay', [...noApplication(), uint32Avp(258, 0xffffffff)], false],
    ['relay of accounting', [...noApplication(), uint32Avp(259, 0xffffffff)], false],
    ["3GPP's form", [...noApplication(), vendorSpecific(4)], true],
    ['both forms', [...cerAvps(), vendorSpecific(4)], true],
    ["another vendor's form", [...noApplication(), vendorSpecific(4, 9)], false],
    ['and other applications', [...cerAvps(), uint32Avp(258, 1), vendorSpecific(16777238)], false],
    ['and no security', [...cerAvps(), uint32Avp(299, 1), uint32Avp(299, 0)], false],
    ['and unknown AVPs', [...cerAvps(), avp(9999, Buffer.from('x'), 0, false)], false],
    ['and AVPs of a vendor', [...cerAvps(), avp(1, Buffer.from('x'), 9, false)], false],
  ])('are read: %s', (_what, avps, isVendorSpecific) => {
    expect(readCapabilities(cer(avps))).toEqual({
      capabilities: { originHost: HOST, originRealm: REALM, isVendorSpecific, stateId: 0 },
      problem: null,
    })
  })

  it('include its state id', () => {
    expect(readCapabilities(cer([...cerAvps(), uint32Avp(278, 77)]))).toMatchObject({
      capabilities: { stateId: 77 },
    })
  })
})

describe('a CER is refused', () => {
  const rows: [what: string, bytes: Buffer, code: number, failed: WireAvp | undefined][] = [
    ['no Origin-Host', cer(without(264)), 5005, avp(264, Buffer.alloc(1))],
    ['no Origin-Realm', cer(without(296)), 5005, avp(296, Buffer.alloc(1))],
    ['no Host-IP-Address', cer(without(257)), 5005, avp(257, Buffer.alloc(6))],
    ['no Vendor-Id', cer(without(266)), 5005, avp(266, Buffer.alloc(4))],
    ['no Product-Name', cer(without(269)), 5005, avp(269, Buffer.alloc(1), 0, false)],
    ['nothing', cer([]), 5005, avp(264, Buffer.alloc(1))],
    ['no application', cer(noApplication()), 5010, undefined],
    ['another application', cer([...noApplication(), uint32Avp(258, 1)]), 5010, undefined],
    ['accounting alone', cer([...noApplication(), uint32Avp(259, 4)]), 5010, undefined],
    ['TLS in band', cer([...cerAvps(), uint32Avp(299, 1)]), 5017, undefined],
    ['unknown, mandatory', cer([...cerAvps(), textAvp(9999, 'x')]), 5001, textAvp(9999, 'x')],
    [
      'of a vendor, mandatory',
      cer([...cerAvps(), textAvp(264, 'x', 9)]),
      5001,
      textAvp(264, 'x', 9),
    ],
    ['two Origin-Hosts', cer([...cerAvps(), textAvp(264, 'again')]), 5009, textAvp(264, 'again')],
    ['no name', cer(cerAvps('a b')), 5004, textAvp(264, 'a b')],
    ['an empty name', cer(cerAvps('')), 5004, textAvp(264, '')],
    ['a name of 256', cer(cerAvps('h'.repeat(256))), 5004, textAvp(264, 'h'.repeat(256))],
    ['no realm', cer(cerAvps(HOST, 'é')), 5004, textAvp(296, 'é')],
    [
      'a broken group',
      cer([...noApplication(), avp(260, Buffer.from([0, 0, 1, 2, 0, 0, 0, 99]))]),
      5014,
      avp(260, Buffer.alloc(0)),
    ],
    [
      'a number of 3 bytes',
      cer([...cerAvps(), avp(278, Buffer.alloc(3))]),
      5014,
      uint32Avp(278, 0),
    ],
    [
      'an application of 8 bytes',
      cer([...cerAvps(), avp(258, Buffer.alloc(8))]),
      5014,
      uint32Avp(258, 0),
    ],
    [
      'an address of 1 byte',
      cer([...cerAvps(), avp(257, Buffer.alloc(1))]),
      5014,
      avp(257, Buffer.alloc(6)),
    ],
    ['the error bit', written(257, { flags: 0xa0, avps: cerAvps() }), 3008, undefined],
    ['the error bit', written(257, { flags: 0xa0, avps: cerAvps() }), 3008, undefined],
    ['application 4', written(257, { application: 4, avps: cerAvps() }), 3007, undefined],
  ]

  it.each(rows)('for %s', async (_what, bytes, code, failed) => {
    const { port, lines, figures } = await nodeOf()
    const peer = await openPeer(port)
    peer.send(bytes)
    const cea = await peer.next()
    expect(resultOf(cea)).toBe(code)
    expect(cea).toMatchObject({ command: 257, flags: code < 4000 ? 0x20 : 0 })
    expect(textOf(cea?.avps ?? [], 264)).toBe(IDENTITY.originHost)
    const group = find(cea?.avps ?? [], 279)
    expect(group === undefined ? undefined : readAvps(group.data)).toEqual(failed && [failed])
    expect(await peer.next()).toBeNull()
    await peer.closed
    expect(lines.map(({ text }) => text)).toEqual(['a Diameter peer is refused'])
    const counted = await figures('tollgate_diameter_peers_refused_total')
    expect(counted).toEqual(['cause=capabilities: 1'])
  })

  it('for an AVP with an invalid length', () => {
    const last = Buffer.from([0, 0, 3, 231, 0x40, 0, 0, 99])
    const bytes = Buffer.concat([cer(), last])
    bytes.writeUIntBE(bytes.length, 1, 3)
    expect(readCapabilities(bytes).problem).toMatchObject({
      resultCode: 5014,
      failed: { code: 999, vendor: 0, flags: 0x40, data: Buffer.alloc(0) },
    })
    bytes.writeUInt8(0xc0, bytes.length - 4)
    expect(readCapabilities(bytes).problem).toMatchObject({
      resultCode: 5014,
      failed: { code: 999, vendor: 0, flags: 0x40 },
    })
    const short = Buffer.concat([cer(), Buffer.alloc(4)])
    short.writeUIntBE(short.length, 1, 3)
    expect(readCapabilities(short).problem).toMatchObject({ resultCode: 5014 })
  })
})

describe('a CEA', () => {
  it('names the application in the form of 3GPP if the CER does', () => {
    const own = { identity: IDENTITY, stateId: 5 }
    const outcome = { problem: null, localAddress: '10.1.2.3', isVendorSpecific: true }
    const { avps } = readMessage(capabilitiesAnswer(cer(), own, outcome))
    const group = readAvps(find(avps, 260)?.data ?? Buffer.alloc(0))
    expect([uint32Of(group, 266), uint32Of(group, 258)]).toEqual([10415, 4])
    expect(uint32Of(avps, 258)).toBe(4)
    expect(find(avps, 269)?.flags).toBe(0)
  })

  it.each([
    ['10.1.2.3', '00010a010203'],
    ['::ffff:10.1.2.3', '00010a010203'],
    ['::1', '000200000000000000000000000000000001'],
    ['2001:db8::a:1', '000220010db80000000000000000000a0001'],
    ['fe80::1%eth0', '0002fe800000000000000000000000000001'],
    ['1:2:3:4:5:6:7:8', '000200010002000300040005000600070008'],
  ])('has the address %s', (address, hex) => {
    expect(addressData(address).toString('hex')).toBe(hex)
  })
})

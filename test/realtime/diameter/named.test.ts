import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  readAvps,
  readMessage,
  type WireAvp,
  writeMessage,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import { namedAvps, wireAvps } from '../../../src/realtime/diameter/named.ts'

const header = { flags: 0xc0, command: 272, application: 4, hopByHopId: 1, endToEndId: 2 }

it('AVPs are written by their names and read back', () => {
  const named = {
    'Session-Id': 'pgw.example;1;2',
    'CC-Request-Type': 'INITIAL_REQUEST',
    'Event-Timestamp': '2026-11-21T10:00:00.000Z',
    'Subscription-Id': [
      { 'Subscription-Id-Type': 'END_USER_E164', 'Subscription-Id-Data': '491700000001' },
      { 'Subscription-Id-Type': 1, 'Subscription-Id-Data': '262019876543210' },
    ],
    'Requested-Service-Unit': { 'CC-Total-Octets': '18446744073709551615' },
    'Unit-Value': { 'Value-Digits': -795, Exponent: -1 },
    'GGSN-Address': '10.0.0.1',
    'SGSN-Address': 'fe80::1:0:2',
    '3GPP-RAT-Type': '0x06',
    '10415:872': 3,
  }
  const bytes = writeMessage({ ...header, avps: wireAvps(named) })
  expect(namedAvps(readMessage(bytes).avps)).toEqual({
    ...named,
    'CC-Request-Type': 1,
    'Subscription-Id': [
      { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '491700000001' },
      named['Subscription-Id'][1],
    ],
    '10415:872': undefined,
    'Reporting-Reason': 3,
  })
})

it.each([
  [{ 'No-Such': 1 }, 'No-Such is not a known AVP'],
  [{ 'Requested-Service-Unit': { 'CC-Time': -1 } }, 'Requested-Service-Unit.CC-Time cannot be -1'],
  [{ 'CC-Time': 4294967296 }, 'CC-Time cannot be 4294967296: it is Unsigned32'],
  [{ 'Subscription-Id': 'x' }, 'Subscription-Id must have AVPs'],
  [{ 'Event-Timestamp': 'soon' }, 'Event-Timestamp cannot be "soon": it is Time'],
  [{ 'GGSN-Address': '1.2.3' }, 'GGSN-Address cannot be "1.2.3"'],
])('AVPs that cannot be written are named: %j', (named, why) => {
  expect(() => wireAvps(named as never)).toThrow(why)
})

it('unknown AVPs are kept byte for byte, and shown', () => {
  const avps: WireAvp[] = [
    { code: 9999, vendor: 77, flags: 0x80, data: Buffer.from([0, 1, 255]) },
    { code: 416, vendor: 0, flags: 0x40, data: Buffer.from([1, 2, 3]) },
    { code: 443, vendor: 0, flags: 0x40, data: Buffer.from('no group') },
  ]
  const bytes = writeMessage({ ...header, avps })
  const read = readMessage(bytes)
  expect(writeMessage(read)).toEqual(bytes)
  expect(namedAvps(read.avps)).toEqual({
    '77:9999': '0x0001ff',
    'CC-Request-Type': '0x010203',
    'Subscription-Id': `0x${Buffer.from('no group').toString('hex')}`,
  })
})

it('any bytes are refused or read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        namedAvps(readAvps(Buffer.from(bytes)))
      } catch (error) {
        expect(error).toMatchObject({ name: 'WireError' })
      }
    }),
  )
})

import { describe, expect, it } from 'vitest'
import { messageLimits } from '../../../../src/file-types/message-limits.ts'
import {
  avp,
  groupAvp,
  readMessage,
  uint32Avp,
  type WireAvp,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { createWireCodec } from '../../../../src/realtime/codecs/diameter-wire/wire-codec.ts'
import { builtIn, fileTypeOf } from '../../../support/realtime/codecs/diameter/file-type.ts'
import {
  context,
  identity,
  outcomeFor,
  refusalOf,
  wire,
} from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { composed, data, head } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import {
  avpsOf,
  bytesOf,
  messageOf,
  type Tree,
  treeOf,
} from '../../../support/realtime/codecs/diameter-wire/trees.ts'

const TGPP = 10415

/** A valid message with more AVPs at its end. */
function withAvps(...more: WireAvp[]): Buffer {
  return bytesOf([...avpsOf(data), ...more])
}

function without(name: string, tree = data): Buffer {
  const { [name]: _, ...others } = tree
  return messageOf(others)
}

function failedOf(body: Buffer): unknown {
  const { 'Result-Code': code, 'Failed-AVP': failed } = refusalOf(body)
  return [code, failed]
}

/** The one AVP in Failed-AVP, as bytes. */
function failedBytes(body: Buffer): WireAvp | undefined {
  const decoded = wire.decode(body, context)
  if (decoded.ok) throw new Error('is taken')
  const { avps } = readMessage(wire.encodeError(decoded.error))
  return avps.find(({ code }) => code === 279)
}

describe('a message without a mandatory AVP', () => {
  it.each([
    ['Session-Id', '\0'],
    ['Origin-Host', '\0'],
    ['Origin-Realm', '\0'],
    ['Destination-Realm', '\0'],
    ['Auth-Application-Id', 0],
    ['Service-Context-Id', '\0'],
    ['CC-Request-Type', 0],
    ['CC-Request-Number', 0],
  ])('is refused: %s', (name, zero) => {
    expect(failedOf(without(name))).toEqual([5005, { [name]: zero }])
  })

  it('is refused for the first missing AVP, with the AVPs that could be read', () => {
    const { 'Auth-Application-Id': _, 'Origin-Host': __, ...others } = data
    const answer = refusalOf(messageOf(others, { hopByHopId: 9 }))
    expect(answer).toEqual({
      'Session-Id': head['Session-Id'],
      'Result-Code': 5005,
      'Auth-Application-Id': 4,
      'Origin-Host': identity.originHost,
      'Origin-Realm': identity.originRealm,
      'CC-Request-Type': 2,
      'CC-Request-Number': 3,
      'Error-Message': 'Origin-Host is required',
      'Failed-AVP': { 'Origin-Host': '\0' },
    })
  })

  it('is accepted if it is an event without a number', () => {
    const event = composed['a price enquiry'] as Tree
    expect(wire.decode(without('CC-Request-Number', event), context).ok).toBe(true)
  })

  it('is refused for an event without its action', () => {
    const event = composed['a price enquiry'] as Tree
    expect(failedOf(without('Requested-Action', event))).toEqual([5005, { 'Requested-Action': 0 }])
    for (const action of [4, -1]) {
      const wrong = { 'Requested-Action': action }
      expect(failedOf(messageOf({ ...event, ...wrong }))).toEqual([5004, wrong])
    }
  })

  it('is refused for an AVP that the file type requires', () => {
    const tree = composed['voice, reserved for an event (ECUR)'] as Tree
    expect(failedOf(without('Subscription-Id', tree))).toEqual([5005, { 'Subscription-Id': {} }])
  })
})

describe('a message with an invalid value', () => {
  it.each<[string, Tree, unknown?]>([
    ['another application', { 'Auth-Application-Id': 3 }],
    ['an unknown request type', { 'CC-Request-Type': 5 }],
    ['type 0', { 'CC-Request-Type': 0 }],
    ['a session id that is too long', { 'Session-Id': 'x'.repeat(257) }],
    ['an empty session id', { 'Session-Id': '' }],
    ['a session id with a control character', { 'Session-Id': 'a\u0007b' }],
  ])('is refused: %s', (_, wrong) => {
    expect(failedOf(messageOf({ ...data, ...wrong }))).toEqual([5004, wrong])
  })

  it('is refused for a session id that is not UTF-8', () => {
    const body = messageOf({ ...data, 'Session-Id': Buffer.from('ff61', 'hex') })
    expect(refusalOf(body)['Result-Code']).toBe(5004)
    expect(failedBytes(body)?.data.subarray(8, 10).toString('hex')).toBe('ff61')
  })

  it('in a group is refused with the group around it, and no other AVP of the group', () => {
    const units = { 'CC-Total-Octets': 2n ** 60n }
    const services = { 'Rating-Group': 2, 'Used-Service-Unit': units, 'Requested-Service-Unit': {} }
    const body = messageOf({ ...data, 'Multiple-Services-Credit-Control': services })
    expect(failedOf(body)).toEqual([
      5004,
      {
        'Multiple-Services-Credit-Control': {
          'Used-Service-Unit': { 'CC-Total-Octets': Number(units['CC-Total-Octets']) },
        },
      },
    ])
  })

  it('in one of several services loses only that service, which is named', () => {
    const units = { 'CC-Total-Octets': 2n ** 60n }
    const services = [
      { 'Rating-Group': 1, 'Used-Service-Unit': { 'CC-Total-Octets': 1 } },
      { 'Rating-Group': 2, 'Used-Service-Unit': units, 'Requested-Service-Unit': {} },
      { 'Rating-Group': 3, 'Requested-Service-Unit': {} },
    ]
    const body = messageOf({ ...data, 'Multiple-Services-Credit-Control': services })
    const decoded = wire.decode(body, context)
    if (!decoded.ok || decoded.request === null) throw new Error('is refused')
    expect(decoded.request.services.map(({ ratingGroup }) => ratingGroup)).toEqual([1, 3])
    const outcome = outcomeFor(decoded.request, { reason: 'granted' })
    const answer = treeOf(wire.encode(decoded.envelope, outcome))
    const answers = answer['Multiple-Services-Credit-Control'] as Tree[]
    expect(answers.map((one) => [one['Rating-Group'], one['Result-Code']])).toEqual([
      [1, 2001],
      [2, 5004],
      [3, 2001],
    ])
    expect(answer['Failed-AVP']).toEqual({
      'Multiple-Services-Credit-Control': {
        'Used-Service-Unit': { 'CC-Total-Octets': Number(units['CC-Total-Octets']) },
      },
    })
  })

  it('in one of several groups is refused with the group that its path selects', () => {
    const groups = [
      { 'Subscription-Id-IMSI': '425010000000001' },
      { 'Subscription-Id-E164': '9'.repeat(257) },
    ]
    const body = messageOf({ ...data, 'Subscription-Id-Extension': groups })
    expect(failedOf(body)).toEqual([5004, { 'Subscription-Id-Extension': groups[1] }])
    const ids = [
      { 'Subscription-Id-Type': 1, 'Subscription-Id-Data': '1' },
      { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '9'.repeat(257) },
    ]
    expect(failedOf(messageOf({ ...data, 'Subscription-Id': ids }))).toEqual([
      5004,
      { 'Subscription-Id': { 'Subscription-Id-Data': '9'.repeat(257) } },
    ])
  })

  it('of the message, read for a service, is refused without the service', () => {
    const event = { 'CC-Request-Type': 4, 'Requested-Action': 0 }
    const tree = { ...data, 'Service-Identifier': 3, ...event }
    const service = { 'Requested-Service-Unit': { 'CC-Total-Octets': 2n ** 60n } }
    const body = messageOf({ ...tree, ...service, 'Multiple-Services-Credit-Control': {} })
    expect(failedOf(body)).toEqual([
      5004,
      { 'Requested-Service-Unit': { 'CC-Total-Octets': 2 ** 60 } },
    ])
  })

  it('is refused for the first service beyond the limit of one message', () => {
    const services = Array.from({ length: context.servicesMax + 2 }, (_, at) => ({
      'Rating-Group': at,
      'Requested-Service-Unit': {},
    }))
    const message = (count: number) =>
      messageOf({ ...data, 'Multiple-Services-Credit-Control': services.slice(0, count) })
    expect(wire.decode(message(context.servicesMax), context).ok).toBe(true)
    const body = message(context.servicesMax + 2)
    const beyond = services[context.servicesMax]
    expect(failedOf(body)).toEqual([5009, { 'Multiple-Services-Credit-Control': beyond }])
    expect(refusalOf(body)['Error-Message']).toContain(
      `is beyond the ${context.servicesMax} services that one request may have`,
    )
  })

  it('is refused with the return code of the file type if it has one', () => {
    const document = builtIn()
    const response = { ...(document['response'] as object), return_codes: { malformed: 5012 } }
    const codec = createWireCodec(fileTypeOf({ ...document, response }), identity)
    const many = Array.from({ length: context.servicesMax + 1 }, () => ({ 'Rating-Group': 1 }))
    const body = messageOf({ ...data, 'Multiple-Services-Credit-Control': many })
    expect(refusalOf(body, codec)['Result-Code']).toBe(5012)
  })
})

it('a time that is too far away is read as now', () => {
  for (const wrong of [1_000_000_000, 4_000_000_000]) {
    const decoded = wire.decode(messageOf({ ...data, 'Event-Timestamp': wrong }), context)
    expect(decoded.ok && decoded.request?.eventTimeMs).toBe(context.nowMs)
    expect(decoded.ok && decoded.request?.eventTimeGiven).toBe(false)
  }
})

describe('an invalid AVP', () => {
  it('that is unknown and mandatory is refused with a copy of it', () => {
    const unknown = avp(9999, Buffer.from('abc'), 4242)
    expect(failedOf(withAvps(unknown))).toEqual([5001, { '4242:9999': 'abc' }])
    expect(failedOf(withAvps(avp(9998, Buffer.alloc(0))))).toEqual([5001, { '0:9998': '' }])
  })

  it('that is unknown and mandatory in a group is refused', () => {
    const body = withAvps(groupAvp(873, [groupAvp(874, [avp(4095, Buffer.from('x'))], TGPP)], TGPP))
    expect(failedOf(body)).toEqual([
      5001,
      { 'Service-Information': { 'PS-Information': { '0:4095': 'x' } } },
    ])
  })

  it('that is unknown and not mandatory is ignored', () => {
    const unknown = avp(9999, Buffer.from('abc'), 4242, false)
    const body = withAvps(unknown, groupAvp(873, [unknown], TGPP))
    expect(wire.decode(body, context).ok).toBe(true)
  })

  it('with reserved flags is refused', () => {
    const { 'Result-Code': code, 'Failed-AVP': failed } = refusalOf(
      withAvps({ ...uint32Avp(278, 5), flags: 0x41 }),
    )
    expect([code, failed]).toEqual([3009, { 'Origin-State-Id': 5 }])
    expect(wire.decode(withAvps({ ...uint32Avp(278, 5), flags: 0x60 }), context).ok).toBe(true)
  })

  it.each([
    ['a number of 3 bytes', 'Origin-State-Id', 278, 0, 3, 0],
    ['a number of 8 bytes that has 4', 'CC-Total-Octets', 421, 0, 4, 0],
    ['an address of a byte', 'SGSN-Address', 1228, TGPP, 1, '\0'.repeat(6)],
  ])('with data of the wrong size is refused: %s', (_, name, code, vendor, size, zero) => {
    const body = withAvps(avp(code, Buffer.alloc(size, 1), vendor))
    expect(failedOf(body)).toEqual([5014, { [name]: zero }])
  })

  it.each([7, 0, 0xffffff, 1000])('with a length of %i is refused', (length) => {
    const body = withAvps(uint32Avp(278, 7))
    body.writeUIntBE(length, body.length - 7, 3)
    expect(failedOf(body)).toEqual([5014, { 'Origin-State-Id': 0 }])
  })

  it('with a vendor but no room for its id is refused', () => {
    const body = withAvps(uint32Avp(278, 7))
    body.writeUIntBE(0xc0000008, body.length - 8, 4)
    expect(failedOf(body)).toEqual([5014, { 'Origin-State-Id': 0 }])
  })

  it('that is a group but not a list of AVPs is refused', () => {
    expect(failedOf(withAvps(avp(437, Buffer.from('abc'))))).toEqual([
      5014,
      { 'Requested-Service-Unit': {} },
    ])
    const inner = avp(873, Buffer.from('000001164000000d00000000', 'hex'), TGPP)
    expect(failedOf(withAvps(inner))).toEqual([
      5014,
      { 'Service-Information': { 'Origin-State-Id': 0 } },
    ])
  })

  it.each<[string, WireAvp, unknown]>([
    ['CC-Request-Number', uint32Avp(415, 8), { 'CC-Request-Number': 8 }],
    ['Origin-Host', avp(264, Buffer.from('h')), { 'Origin-Host': 'h' }],
    [
      'Rating-Group of a service',
      groupAvp(456, [uint32Avp(432, 1), uint32Avp(432, 2)]),
      { 'Multiple-Services-Credit-Control': { 'Rating-Group': 2 } },
    ],
    [
      'units of a kind',
      groupAvp(456, [groupAvp(446, [uint32Avp(420, 1), uint32Avp(420, 2)])]),
      { 'Multiple-Services-Credit-Control': { 'Used-Service-Unit': { 'CC-Time': 2 } } },
    ],
  ])('that occurs twice is refused: %s', (_, second, failed) => {
    expect(failedOf(withAvps(second))).toEqual([5009, failed])
  })

  it('that is too large to repeat is refused with its header', () => {
    const failed = failedBytes(withAvps(avp(9999, Buffer.alloc(5000))))
    expect(failed?.data.toString('hex')).toBe('0000270f40000008')
  })
})

describe('a message at its limits', () => {
  const nested = (depth: number): WireAvp =>
    groupAvp(873, depth === 1 ? [] : [nested(depth - 1)], TGPP)

  it('may have a certain depth', () => {
    expect(wire.decode(withAvps(nested(messageLimits.depth - 1)), context).ok).toBe(true)
    const answer = refusalOf(withAvps(nested(messageLimits.depth)))
    expect(answer).toMatchObject({ 'Result-Code': 5012, 'Session-Id': head['Session-Id'] })
    expect(answer['Error-Message']).toMatch(/^body is nested deeper than/)
    expect(answer).not.toHaveProperty('Failed-AVP')
  })

  it('may have a certain number of AVPs', () => {
    const many = Array.from({ length: messageLimits.members }, () => uint32Avp(282, 0))
    expect(refusalOf(withAvps(...many))['Error-Message']).toMatch(/^body has more than 4096/)
  })

  it('must be complete', () => {
    expect(wire.decode(Buffer.alloc(19), context)).toMatchObject({ ok: false })
    const body = Buffer.concat([messageOf(data), Buffer.alloc(2)])
    expect(refusalOf(body)['Result-Code']).toBe(5015)
  })
})

it('an error repeats Proxy-Info, also if it follows the failed AVP', () => {
  const proxy = { 'Proxy-Host': 'p', 'Proxy-State': 's' }
  const tree = { ...data, 'CC-Request-Type': Buffer.alloc(3), 'Proxy-Info': proxy }
  expect(treeOf(wire.encodeError(problemOf(messageOf(tree))))).toMatchObject({
    'Result-Code': 5014,
    'Proxy-Info': proxy,
    'CC-Request-Number': 3,
  })
})

function problemOf(body: Buffer) {
  const decoded = wire.decode(body, context)
  if (decoded.ok) throw new Error('is taken')
  return decoded.error
}

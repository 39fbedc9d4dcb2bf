import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import {
  avp,
  groupAvp,
  readMessage,
  uint64Avp,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { createWireCodec } from '../../../../src/realtime/codecs/diameter-wire/wire-codec.ts'
import { builtIn, fileTypeOf } from '../../../support/realtime/codecs/diameter/file-type.ts'
import {
  context,
  fileType,
  identity,
  json,
  outcomeFor,
  requestIn,
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

const cases = Object.entries(composed)

function jsonOf(tree: Tree): Buffer {
  return Buffer.from(JSON.stringify(tree))
}

/** An event that differs only in the given AVPs. */
function stampOf(given: Tree, header = {}): string {
  const { 'CC-Request-Number': _, ...tree } = { ...composed['an SMS, debited immediately (IEC)'] }
  return requestIn(wire, messageOf({ ...tree, ...given }, header)).stamp
}

describe('a credit-control request in bytes', () => {
  it.each(cases)('decodes as its JSON form does: %s', (_, tree) => {
    const request = requestIn(wire, messageOf(tree))
    expect(request).toEqual(requestIn(json, jsonOf(tree)))
    expect(request.services.length).toBeGreaterThan(0)
  })

  it('is read completely', () => {
    expect(requestIn(wire, messageOf(data))).toMatchObject({
      kind: 'update',
      origin: 'pgw/diameter',
      sessionId: head['Session-Id'],
      requestNumber: 3,
      eventTimeMs: context.nowMs - 5000,
      eventTimeGiven: true,
      services: [
        { ratingGroup: 10, usaget: 'data', requested: 10_485_760, used: 9_000_042 },
        { ratingGroup: 20, usaget: 'data', requested: 5_000_000_000, used: 0 },
      ],
      fields: {
        'Subscription-Id[Subscription-Id-Type=0].Subscription-Id-Data': '972501234567',
        'Subscription-Id[Subscription-Id-Type=1].Subscription-Id-Data': '425010000000001',
      },
    })
  })

  it('is decoded without references to its bytes', () => {
    const body = messageOf({ ...data, 'Proxy-Info': { 'Proxy-Host': 'p', 'Proxy-State': 's' } })
    const decoded = wire.decode(body, context)
    if (!decoded.ok || decoded.request === null) throw new Error('is refused')
    const outcome = outcomeFor(decoded.request)
    const before = wire.encode(decoded.envelope, outcome)
    body.fill(0xff)
    expect(wire.encode(decoded.envelope, outcome)).toEqual(before)
  })

  it('for an event without a number is identified by its sender and End-to-End Id', () => {
    const stamp = stampOf({})
    expect(stamp).toMatch(/^[0-9a-f]{64}$/)
    const again = { hopByHopId: 99, flags: 0xd0 }
    expect(stampOf({ 'Route-Record': 'relay' }, again)).toBe(stamp)
    expect(stampOf({}, { endToEndId: 1 })).not.toBe(stamp)
    expect(stampOf({ 'Origin-Host': 'ctf2.example.net' })).not.toBe(stamp)
  })

  it('without a number field has a stamp of its content, independent of its route', () => {
    const document = builtIn()
    const realtime = { ...document.realtime, request_num_field: 'CC-Sub-Session-Id' }
    const codec = createWireCodec(fileTypeOf({ ...document, realtime }), identity)
    const stamp = (tree: Tree, header = {}) => requestIn(codec, messageOf(tree, header)).stamp
    const first = stamp(data)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    const way = { 'Route-Record': 'r', 'Proxy-Info': { 'Proxy-Host': 'p', 'Proxy-State': 's' } }
    const again = { hopByHopId: 1, endToEndId: 2, flags: 0xd0 }
    expect(stamp({ ...data, ...way, 'Destination-Host': 'd' }, again)).toBe(first)
    expect(stamp({ ...data, 'CC-Request-Number': 4 })).not.toBe(first)
  })
})

describe('AVPs missing from the dictionary', () => {
  const document = builtIn()
  const processor = { ...(document['processor'] as object), rating_group_field: '4242:7' }
  const realtime = { ...document.realtime, session_id_fields: ['Session-Id', '60000', '0:60001'] }
  const codec = createWireCodec(fileTypeOf({ ...document, processor, realtime }), identity)
  const unknown = [
    avp(60_000, Buffer.from('a'), 0, false),
    avp(60_001, Buffer.from('b'), 0, false),
    groupAvp(456, [
      groupAvp(446, [uint64Avp(421, 1)]),
      avp(7, Buffer.from('33'), 4242, false),
      avp(8, Buffer.from('44'), 4242, false),
    ]),
  ]

  it('are read by their codes', () => {
    const { 'Multiple-Services-Credit-Control': _, ...tree } = data
    const decoded = codec.decode(bytesOf([...avpsOf(tree), ...unknown]), context)
    if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
    expect(decoded.request).toMatchObject({
      sessionId: `${String(head['Session-Id']).replaceAll(';', '%3B')};a;b`,
      services: [{ ratingGroup: 33 }],
    })
    const answer = treeOf(codec.encode(decoded.envelope, plainOutcome('granted')))
    expect(answer['Session-Id']).toBe(head['Session-Id'])
  })
})

it.each([
  ['3GPP-RAT-Type', Buffer.from('1'), '31'],
  ['3GPP-SGSN-MCC-MNC', '42501', '42501'],
  ['PDP-Address', Buffer.from('00010a400011', 'hex'), '10.64.0.17'],
  ['Charging-Rule-Base-Name', Buffer.from('ff', 'hex'), 'ff'],
])('are read by their type: %s', (name, value, read) => {
  const document = builtIn()
  const path = `Service-Information.PS-Information.${name}`
  const realtime = { ...document.realtime, session_id_fields: [path] }
  const codec = createWireCodec(fileTypeOf({ ...document, realtime }), identity)
  const tree = { ...data, 'Service-Information': { 'PS-Information': { [name]: value } } }
  expect(requestIn(codec, messageOf(tree)).sessionId).toBe(read)
})

describe('the answer in bytes', () => {
  it.each(cases)('has the AVPs of the JSON form: %s', (_, tree) => {
    const [body, text] = [messageOf(tree), jsonOf(tree)]
    const outcome = outcomeFor(requestIn(wire, body))
    for (const one of [outcome, plainOutcome('noCredit'), plainOutcome('storeDown', 'why')]) {
      const [inBytes, asJson] = [wire.decode(body, context), json.decode(text, context)]
      if (!inBytes.ok || !asJson.ok) throw new Error('is refused')
      const answer = treeOf(wire.encode(inBytes.envelope, one))
      const { 'Origin-Host': host, 'Origin-Realm': realm, ...others } = answer
      expect([host, realm]).toEqual([identity.originHost, identity.originRealm])
      const { 'Failed-AVP': failed, ...alike } = others
      expect(alike).toEqual(single(JSON.parse(json.encode(asJson.envelope, one))))
      const isUnrated = one === outcome && outcome.services.length > 1
      expect(failed).toEqual(isUnrated ? { 'Rating-Group': 20 } : undefined)
    }
  })

  it('has the ids of the request, and its first AVPs in the order of the specification', () => {
    const header = { flags: 0xd0, hopByHopId: 0xfffffffe, endToEndId: 0x80000001 }
    const decoded = wire.decode(messageOf(data, header), context)
    if (!decoded.ok) throw new Error('is refused')
    const answer = readMessage(wire.encode(decoded.envelope, plainOutcome('granted')))
    expect(answer).toMatchObject({ ...header, flags: 0x40, command: 272, application: 4 })
    expect(answer.avps.slice(0, 7).map(({ code }) => code)).toEqual([
      263, 268, 264, 296, 258, 416, 415,
    ])
  })

  it.each([
    ['storeDown', 0x20],
    ['noCredit', 0],
  ] as const)('with the reason %s has the flags %i', (reason, flags) => {
    const decoded = wire.decode(messageOf(data, { flags: 0x80 }), context)
    if (!decoded.ok) throw new Error('is refused')
    expect(wire.encode(decoded.envelope, plainOutcome(reason))[4]).toBe(flags)
  })

  it('repeats Proxy-Info as received, at its end', () => {
    const infos = ['a', 'b'].map((host) => ({ 'Proxy-Host': host, 'Proxy-State': 'xyz' }))
    const decoded = wire.decode(messageOf({ ...data, 'Proxy-Info': infos }), context)
    if (!decoded.ok) throw new Error('is refused')
    const answer = wire.encode(decoded.envelope, plainOutcome('granted'))
    expect(treeOf(answer)['Proxy-Info']).toEqual(infos)
    expect(
      readMessage(answer)
        .avps.slice(-2)
        .map(({ code }) => code),
    ).toEqual([284, 284])
  })

  it('has the mandatory AVPs, whatever the file type contains', () => {
    const document = { ...builtIn(), response: { encode: 'diameter' } }
    const codec = createWireCodec(fileTypeOf(document), identity)
    const decoded = codec.decode(messageOf(data), context)
    if (!decoded.ok) throw new Error('is refused')
    const answerTo = (reason: 'granted' | 'noCredit' | 'storeDown') =>
      treeOf(codec.encode(decoded.envelope, plainOutcome(reason)))
    expect(answerTo('granted')).toEqual({
      'Session-Id': head['Session-Id'],
      'Result-Code': 2001,
      'Origin-Host': identity.originHost,
      'Origin-Realm': identity.originRealm,
      'Auth-Application-Id': 4,
      'CC-Request-Type': 2,
      'CC-Request-Number': 3,
    })
    expect(answerTo('noCredit')['Result-Code']).toBe(5012)
    expect(answerTo('storeDown')['Result-Code']).toBe(3004)
  })

  it('is the same for the same outcome, also after a larger one', () => {
    const decoded = wire.decode(messageOf(data), context)
    if (!decoded.ok || decoded.request === null) throw new Error('is refused')
    const outcome = outcomeFor(decoded.request)
    const first = wire.encode(decoded.envelope, outcome)
    const long = plainOutcome('storeDown', 'x'.repeat(20_000))
    expect(wire.encode(decoded.envelope, long).length).toBeGreaterThan(20_000)
    expect(wire.encode(decoded.envelope, outcome)).toEqual(first)
  })
})

describe('the error of a request that cannot be read', () => {
  it('has the ids of that request', () => {
    wire.decode(messageOf(data, { hopByHopId: 5, endToEndId: 6 }), context)
    const answer = readMessage(wire.encodeError({ field: 'body', why: 'cannot be read' }))
    expect(answer).toMatchObject({ hopByHopId: 5, endToEndId: 6, command: 272, flags: 0x40 })
  })
})

/** As in the bytes: a list of one is that one. */
function single(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 1 ? single(value[0]) : value.map(single)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, single(one)]))
}

it('an AVP that the file type does not mention is not read', () => {
  const decoded = wire.decode(messageOf(data), context)
  if (!decoded.ok) throw new Error('is refused')
  const { message } = (decoded.envelope as { echo: { message: object } }).echo
  expect(message).not.toHaveProperty('User-Equipment-Info')
  expect(message).toHaveProperty('Event-Timestamp')
  expect(fileType.words.has('Event-Timestamp')).toBe(true)
})

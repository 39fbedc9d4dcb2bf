import { describe, expect, it } from 'vitest'
import {
  type ChargeOutcome,
  plainOutcome,
  type ServiceOutcome,
} from '../../../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../../src/domain/charge-request.ts'
import { service } from '../../../support/file-types/answers.ts'
import { byCodes, byNames, entries, pairs } from '../../../support/realtime/codecs/diameter/ccr.ts'
import { builtIn, context, formatOf } from '../../../support/realtime/codecs/diameter/file-type.ts'

const codec = formatOf(builtIn())

function decode(body: unknown, format = codec) {
  return format.decode(Buffer.from(JSON.stringify(body)), context)
}

function requestOf(body: unknown, format = codec): ChargeRequest {
  const decoded = decode(body, format)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  if (decoded.request === null) throw new Error('nothing is to be charged')
  return decoded.request
}

/** The parsed answer. */
function answer(body: unknown, outcome: Partial<ChargeOutcome>, format = codec) {
  const decoded = decode(body, format)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  const { reason = 'granted' } = outcome
  return JSON.parse(format.encode(decoded.envelope, { ...plainOutcome(reason), ...outcome }))
}

const ccr = {
  'Session-Id': 's',
  'CC-Request-Type': 1,
  'CC-Request-Number': 0,
  'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '0501234567' },
}
const ims = { ...ccr, 'Service-Context-Id': 'ext.001.01.12.32260@3gpp.org' }

describe('a credit-control request', () => {
  it.each([byNames, byCodes, pairs, entries])(
    'decodes to the same charge request by names, codes and lists (%#)',
    (body) => {
      expect(requestOf(body)).toEqual({
        kind: 'update',
        origin: 'pgw/diameter',
        sessionId: 'pgw1;1;7',
        requestNumber: 3,
        stamp: '',
        rules: expect.stringMatching(/^[0-9a-f]{64}$/),
        subscriberKey: 'none',
        subscriberValue: '',
        eventTimeMs: context.nowMs,
        eventTimeGiven: false,
        services: [
          expect.objectContaining({
            ratingGroup: 10,
            usaget: 'data',
            requested: 10_485_760,
            used: 1000,
          }),
          expect.objectContaining({ ratingGroup: 20, usaget: 'data', requested: -1, used: 50 }),
        ],
        wantBalances: false,
        pretend: false,
        refund: false,
        fields: {
          'Subscription-Id[Subscription-Id-Type=0].Subscription-Id-Data': '972501234567',
          'Subscription-Id[Subscription-Id-Type=1].Subscription-Id-Data': '425010000000001',
        },
      })
    },
  )

  it('reads its time in seconds since 1900', () => {
    const body = { ...ccr, 'Event-Timestamp': Date.UTC(2026, 10, 21, 10) / 1000 + 2_208_988_800 }
    expect(requestOf(body)).toMatchObject({
      eventTimeMs: Date.UTC(2026, 10, 21, 10),
      eventTimeGiven: true,
    })
  })

  it.each([
    [1, 'start'],
    ['UPDATE_REQUEST', 'update'],
    ['3', 'release'],
    [4, 'event'],
  ])('with the type %s is a %s', (type, kind) => {
    expect(requestOf({ ...ccr, 'CC-Request-Type': type }).kind).toBe(kind)
  })

  it('is itself the service if it has no list', () => {
    const asked = { ...ccr, 'Requested-Service-Unit': { 'CC-Total-Octets': 7 } }
    expect(requestOf(asked).services).toEqual([
      expect.objectContaining({ usaget: 'data', requested: 7, ratingGroup: -1 }),
    ])
    expect(requestOf({ ...ccr, 'CC-Request-Type': 3 }).services).toEqual([])
    expect(requestOf({ ...ccr, 'CC-Request-Type': 2 }).services).toEqual([])
  })
})

describe('units of a request', () => {
  const servicesOf = (mscc: unknown, base: object = ccr) =>
    requestOf({ ...base, 'Multiple-Services-Credit-Control': mscc }).services

  it.each([
    ['data', 100, {}, { 'CC-Total-Octets': 100 }],
    ['data', 100, {}, { 'CC-Total-Octets': 100, 'CC-Time': 5, 'CC-Input-Octets': 1 }],
    ['data', 42, {}, { 'CC-Input-Octets': 30, 'CC-Output-Octets': 12 }],
    ['data', 12, {}, { 'CC-Output-Octets': 12 }],
    ['data', 10_485_760, {}, {}],
    ['call', 5, {}, { 'CC-Time': 5 }],
    ['service', 3, {}, { 'CC-Service-Specific-Units': 3 }],
    ['call', 60, { 'Service-Context-Id': '32260@3gpp.org' }, {}],
    ['call', 5, { 'Service-Context-Id': '9.32260@3gpp.org' }, { 'CC-Time': 5 }],
    ['sms', 1, { 'Service-Context-Id': '32274@3gpp.org' }, {}],
    ['sms', 2, { 'Service-Context-Id': '32274@3gpp.org' }, { 'CC-Service-Specific-Units': 2 }],
    ['mms', 1, { 'Service-Context-Id': '32270@3gpp.org' }, { 'CC-Service-Specific-Units': 1 }],
    ['data', 10_485_760, { 'Service-Context-Id': '32251@3gpp.org' }, {}],
    ['data_time', 5, { 'Service-Context-Id': '32251@3gpp.org' }, { 'CC-Time': 5 }],
    ['data', 7, { 'Service-Context-Id': '32251@x' }, { 'CC-Time': 5, 'CC-Total-Octets': 7 }],
    ['data', 10_485_760, { 'Service-Context-Id': '132260@3gpp.org' }, {}],
  ])('are requested: %s %i', (usaget, requested, base, unit) => {
    const mscc = { 'Rating-Group': 1, 'Requested-Service-Unit': unit }
    expect(servicesOf(mscc, { ...ccr, ...base })).toEqual([
      expect.objectContaining({ ratingGroup: 1, usaget, requested }),
    ])
  })

  it.each([
    [108, [{ 'CC-Total-Octets': 100 }, { 'CC-Total-Octets': 8 }]],
    [50, [{ 'CC-Input-Octets': 30, 'CC-Output-Octets': 12 }, { 'CC-Total-Octets': 8 }]],
    [8, [{ 'CC-Total-Octets': 8, 'CC-Input-Octets': 5, 'CC-Output-Octets': 3 }, { 'CC-Time': 9 }]],
    [0, {}],
  ])('used are %i, over all Used-Service-Unit', (used, unit) => {
    const body = { ...ccr, 'CC-Request-Type': 2 }
    const mscc = { 'Rating-Group': 1, 'Used-Service-Unit': unit }
    expect(servicesOf(mscc, body)).toEqual([
      expect.objectContaining({ usaget: 'data', requested: -1, used }),
    ])
  })

  it('belong to a call if only time was used', () => {
    const mscc = { 'Used-Service-Unit': [{ 'CC-Time': 30 }, { 'CC-Time': 12 }] }
    expect(servicesOf(mscc, { ...ccr, 'CC-Request-Type': 3 })).toEqual([
      expect.objectContaining({ usaget: 'call', requested: -1, used: 42 }),
    ])
  })

  it('of data by time alone are seconds, and are charged', () => {
    const body = { ...ccr, 'CC-Request-Type': 2, 'Service-Context-Id': '32251@3gpp.org' }
    const mscc = (unit: object) => ({ 'Rating-Group': 1, 'Used-Service-Unit': unit })
    expect(servicesOf(mscc({ 'CC-Time': 30 }), body)).toEqual([
      expect.objectContaining({ usaget: 'data_time', used: 30 }),
    ])
    expect(servicesOf(mscc({ 'CC-Time': 30, 'CC-Output-Octets': 4 }), body)).toEqual([
      expect.objectContaining({ usaget: 'data', used: 4 }),
    ])
  })

  it('belong to a service identifier if there is no rating group', () => {
    const both = { 'Rating-Group': 5, 'Service-Identifier': [6, 7] }
    expect(servicesOf([both, { 'Service-Identifier': 6 }]).map((one) => one.ratingGroup)).toEqual([
      5, 6,
    ])
  })
})

/** Requests the default number of units of the file type. */
const ASKING = { 'Requested-Service-Unit': {} }

describe('called numbers', () => {
  const called = (base: object, information: object) =>
    requestOf({ ...base, 'Service-Information': information }).services[0]?.calledNumber

  it.each([
    ['tel:+44-20-1234.567', '+44201234567'],
    ['sip:+44201234567@ims.mnc001.mcc425.3gppnetwork.org;user=phone', '+44201234567'],
    ['SIPS:alice@example.org', 'alice'],
    ['tel:112;phone-context=il', '112'],
    ['44201234567', '44201234567'],
  ])('in %s are %s', (uri, number) => {
    const information = { 'IMS-Information': { 'Called-Party-Address': uri } }
    expect(called({ ...ims, ...ASKING }, information)).toBe(number)
  })

  it('of messages are those of the first recipient', () => {
    const sms = { ...ccr, ...ASKING, 'Service-Context-Id': '32274@3gpp.org' }
    const address = [{ 'Address-Data': '447700900001' }, { 'Address-Data': 'x' }]
    const recipients = [{ 'Recipient-Address': address }, { 'Recipient-Address': {} }]
    expect(called(sms, { 'SMS-Information': { 'Recipient-Info': recipients } })).toBe(
      '447700900001',
    )
    const mms = { ...ccr, ...ASKING, 'Service-Context-Id': '32270@3gpp.org' }
    expect(called(mms, { 'MMS-Information': { 'Recipient-Address': address } })).toBe(
      '447700900001',
    )
  })
})

describe('events', () => {
  const event = { ...ims, 'CC-Request-Type': 4 }

  it.each([
    ['DIRECT_DEBITING', false, false],
    ['REFUND_ACCOUNT', true, false],
    ['CHECK_BALANCE', false, true],
    ['PRICE_ENQUIRY', false, true],
    [undefined, false, false],
  ])('with %s: refund %s, pretend %s', (action, refund, pretend) => {
    const body = action === undefined ? event : { ...event, 'Requested-Action': action }
    expect(requestOf(body)).toMatchObject({ kind: 'event', refund, pretend })
  })

  it('with the action by name are the same', () => {
    const body = { ...event, 'CC-Request-Type': 'EVENT_REQUEST', 'Requested-Action': 2 }
    expect(requestOf(body)).toMatchObject({ kind: 'event', pretend: true })
  })

  it.each([2, 3])(
    'alone follow their action: with %i a session starts and is charged',
    (action) => {
      const body = { ...ims, 'CC-Request-Type': 1, 'Requested-Action': action }
      expect(requestOf(body)).toMatchObject({ kind: 'start', pretend: false })
      const services = [service({ usaget: 'call', granted: 60 })]
      expect(answer(body, { services })).not.toHaveProperty('Check-Balance-Result')
    },
  )

  it('return whether there is enough', () => {
    const body = { ...event, 'Requested-Action': 2 }
    const services = [service({ usaget: 'call', granted: 60 })]
    expect(answer(body, { services })).toMatchObject({ 'Check-Balance-Result': 0 })
    expect(answer(body, { reason: 'noCredit' })).toMatchObject({
      'Result-Code': 2001,
      'Check-Balance-Result': 1,
    })
  })

  it('return the price', () => {
    const exact = { aprice: '1.25', tax: '0.2125', final_charge: '1.4625' }
    const quote = { charge: { exact } } as unknown as ServiceOutcome['quote']
    const services = [service({ usaget: 'call', granted: 60, quote })]
    expect(answer({ ...event, 'Requested-Action': 3 }, { services })).toMatchObject({
      'Cost-Information': { 'Unit-Value': { 'Value-Digits': 14_625, Exponent: -4 } },
    })
    expect(answer(event, { services })).not.toHaveProperty('Cost-Information')
  })
})

describe('answers', () => {
  const mscc = (count: number, type: number) => ({
    ...ccr,
    'CC-Request-Type': type,
    'Multiple-Services-Credit-Control': Array.from({ length: count }, (_, at) => ({
      'Rating-Group': at,
      'Requested-Service-Unit': {},
    })),
  })
  const granted = service({ ratingGroup: 0, granted: 5000, validityMs: 1001 })
  const none = service({ ratingGroup: 1, reason: 'noCredit', finalUnit: true })

  it('grant each service in its unit, with its own code', () => {
    expect(answer(mscc(2, 1), { services: [granted, none] })).toEqual({
      'Session-Id': 's',
      'Result-Code': 2001,
      'Auth-Application-Id': 4,
      'CC-Request-Type': 1,
      'CC-Request-Number': 0,
      'CC-Session-Failover': 1,
      'Credit-Control-Failure-Handling': 2,
      'Multiple-Services-Credit-Control': [
        {
          'Granted-Service-Unit': { 'CC-Total-Octets': 5000 },
          'Rating-Group': 0,
          'Validity-Time': 2,
          'Result-Code': 2001,
        },
        {
          'Rating-Group': 1,
          'Result-Code': 4012,
          'Final-Unit-Indication': { 'Final-Unit-Action': 0 },
        },
      ],
    })
  })

  it('keep the session open if its services are denied, and name the reason that ends it', () => {
    const noRate = service({ ratingGroup: 0, reason: 'noRate' })
    expect(answer(mscc(1, 2), { reason: 'noCredit', services: [none] })['Result-Code']).toBe(2001)
    expect(answer(mscc(1, 1), { reason: 'noCredit', services: [none] })['Result-Code']).toBe(4012)
    expect(answer(mscc(1, 2), { reason: 'noRate', services: [noRate] })['Result-Code']).toBe(2001)
    expect(answer(mscc(1, 1), { reason: 'noRate', services: [noRate] })['Result-Code']).toBe(5031)
    const blocked = service({ ratingGroup: 0, reason: 'blocked' })
    const denial = answer(mscc(1, 2), { reason: 'blocked', services: [blocked] })
    expect(denial).toMatchObject({ 'Result-Code': 2001 })
    expect(denial['Multiple-Services-Credit-Control']).toMatchObject([{ 'Result-Code': 5003 }])
    expect(answer(ccr, { reason: 'noCredit', services: [none] })).toMatchObject({
      'Result-Code': 4012,
      'Error-Message': 'No available balances',
    })
  })

  it.each([
    ['unknownSubscriber', 5030],
    ['noTax', 5031],
    ['blocked', 5003],
    ['barred', 4010],
    ['unknownSession', 5002],
    ['sessionClosed', 5002],
    ['outOfOrder', 5012],
    ['numberReused', 5012],
    ['totalBelow', 5004],
    ['overloaded', 3004],
    ['contention', 3004],
    ['storeDown', 3004],
    ['timedOut', 3004],
  ] as const)('have for %s the code %i', (reason, code) => {
    const given = answer(mscc(1, 1), { reason, detail: 'because' })
    expect(given).toMatchObject({ 'Result-Code': code })
    if (code !== 5031 && code !== 5003) expect(given['Error-Message']).toMatch(/: because$/)
    expect(given).not.toHaveProperty('Granted-Service-Unit')
  })

  it('grant units to a message that is itself the service', () => {
    const services = [service({ usaget: 'call', granted: 60, validityMs: 60_000 })]
    expect(answer(ims, { services })).toEqual({
      'Session-Id': 's',
      'Result-Code': 2001,
      'Auth-Application-Id': 4,
      'CC-Request-Type': 1,
      'CC-Request-Number': 0,
      'CC-Session-Failover': 1,
      'Credit-Control-Failure-Handling': 2,
      'Granted-Service-Unit': { 'CC-Time': 60 },
      'Validity-Time': 60,
    })
  })

  const finalUnits = {
    redirect: [
      { action: 'redirect', address_type: 'url', address: 'https://top.example/up' },
      {
        'Final-Unit-Action': 1,
        'Redirect-Server': {
          'Redirect-Address-Type': 2,
          'Redirect-Server-Address': 'https://top.example/up',
        },
      },
    ],
    filters: [
      { action: 'restrict', filters: ['walled-garden', 'dns'] },
      { 'Final-Unit-Action': 2, 'Filter-Id': ['walled-garden', 'dns'] },
    ],
    rules: [
      { action: 'restrict', filters: ['permit out ip from any to any 53'] },
      { 'Final-Unit-Action': 2, 'Restriction-Filter-Rule': 'permit out ip from any to any 53' },
    ],
    none: [{ action: 'none' }, undefined],
  }

  it.each(Object.entries(finalUnits))('have the final unit action: %s', (_, [given, expected]) => {
    const document = builtIn()
    const realtime = { ...document.realtime, final_unit: given }
    const format = formatOf({ ...document, realtime })
    const body = answer(mscc(2, 1), { services: [granted, none] }, format)
    const [first, second] = body['Multiple-Services-Credit-Control']
    expect(second['Final-Unit-Indication']).toEqual(expected)
    expect(first).not.toHaveProperty('Final-Unit-Indication')
  })

  it('have threshold and holding time of a grant', () => {
    const document = builtIn()
    const realtime = { ...document.realtime, quota_threshold: 20, quota_holding_time: 600 }
    const format = formatOf({ ...document, realtime })
    const body = answer(mscc(2, 1), { services: [granted, none] }, format)
    const [first, second] = body['Multiple-Services-Credit-Control']
    expect(first).toMatchObject({ 'Quota-Holding-Time': 600, 'Volume-Quota-Threshold': 1000 })
    expect(Object.keys(second)).toEqual(['Rating-Group', 'Result-Code', 'Final-Unit-Indication'])
  })
})

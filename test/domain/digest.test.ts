import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { digestOf } from '../../src/domain/digest.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { requestOf, serviceRequest } from '../support/domain/requests.ts'

const BASE = requestOf({ services: [serviceRequest({ requested: 100, used: 5 })] })

describe('the digest of a request', () => {
  const services = (more: object) => [serviceRequest({ requested: 100, used: 5, ...more })]
  it.each<[string, Partial<ChargeRequest>]>([
    ['kind', { kind: 'release' }],
    ['request number', { requestNumber: 2 }],
    ['subscriber key', { subscriberKey: 'imsi' }],
    ['subscriber', { subscriberValue: '8' }],
    ['event time', { eventTimeMs: 1 }],
    ['absence of an event time', { eventTimeGiven: false }],
    ['pretend', { pretend: true }],
    ['rating group', { services: services({ ratingGroup: 1 }) }],
    ['usage type', { services: services({ usaget: 'call' }) }],
    ['requested volume', { services: services({ requested: 101 }) }],
    ['absence of a request', { services: services({ requested: -1 }) }],
    ['used volume', { services: services({ used: 6 }) }],
    ['usage before a tariff change', { services: services({ usedBefore: 5 }) }],
    ['usage after a tariff change', { services: services({ usedBefore: 0 }) }],
    ['called number', { services: services({ calledNumber: '1' }) }],
    ['service twice', { services: [...services({}), ...services({})] }],
    ['no services', { services: [] }],
  ])('differs with its %s', (_what, more) => {
    expect(digestOf({ ...BASE, ...more })).not.toBe(digestOf(BASE))
  })

  it('differs with the order of its services', () => {
    const [one, other] = [serviceRequest({ used: 1 }), serviceRequest({ used: 2 })]
    expect(digestOf({ ...BASE, services: [one, other] })).not.toBe(
      digestOf({ ...BASE, services: [other, one] }),
    )
  })

  it('is the same if a request without a time of its own arrives later', () => {
    const silent = { ...BASE, eventTimeGiven: false }
    expect(digestOf({ ...silent, eventTimeMs: 99 })).toBe(digestOf(silent))
  })

  /**
   * Digests of sessions opened before an update: their repeated requests must still be recognised.
   */
  it.each<[string, Partial<ChargeRequest>, number]>([
    ['an update', {}, 2958379466941397],
    ['an unnumbered start', { kind: 'start', requestNumber: -1 }, 1985616017686811],
    ['no event time', { kind: 'release', eventTimeGiven: false }, 108088108374219],
    [
      'another identifier',
      { eventTimeMs: 1784282399123, subscriberKey: 'msisdn', subscriberValue: '491710000001' },
      4767023906411476,
    ],
    [
      'flags',
      { kind: 'event', pretend: true, refund: true, requestNumber: 2147483648 },
      3501925495528263,
    ],
    ['a stamp', { stamp: 'ab-1', fields: { not: 'mixed' } }, 1683706945803542],
    [
      'volumes',
      {
        requestNumber: 4294967295,
        services: [serviceRequest({ ratingGroup: 10, requested: 10485760, used: 7340032 })],
      },
      1731153089577165,
    ],
    [
      'the largest volumes, and text beyond ASCII',
      {
        services: [
          serviceRequest({ used: 9007199254740991, usedBefore: 9007199254740990 }),
          serviceRequest({
            usaget: 'call',
            usedBefore: 0,
            calledNumber: '+44é𝄞',
            rateKey: 'CALL_1',
          }),
        ],
      },
      2215973408237962,
    ],
    ['fields', { services: [], fields: { b: '2', a: '1', 10: 'x' } }, 7554528271349139],
    [
      'fields of a service',
      {
        services: [serviceRequest({ fields: { mcc: '262', apn: 'internet' } })],
        fields: { z: '' },
      },
      22187523374756,
    ],
    [
      'fractional and negative numbers',
      {
        services: [serviceRequest({ requested: 1.5, used: -7 })],
        eventTimeMs: -62135596800000,
      },
      1921153861112327,
    ],
  ])('is stable: %s', (_what, more, digest) => {
    expect(digestOf(requestOf(more))).toBe(digest)
  })

  it('is a safe integer, equal for equal requests, without a collision among thousands', () => {
    const seen = new Map<number, string>()
    const drawn = fc.record({
      requestNumber: fc.integer({ min: -1, max: 1000 }),
      eventTimeMs: fc.nat(),
      services: fc.array(
        fc.record({
          ratingGroup: fc.integer({ min: -1, max: 3 }),
          serviceIdentifier: fc.constantFrom('', '1', '1,2'),
          checksCredit: fc.constant(false),
          parts: fc.option(
            fc.array(
              fc.record({
                usaget: fc.constantFrom('data_time', 'call_data'),
                role: fc.constant('beside' as const),
                requested: fc.integer({ min: -1, max: 50 }),
                used: fc.nat({ max: 50 }),
                usedBefore: fc.integer({ min: -1, max: 50 }),
              }),
              { minLength: 1, maxLength: 2 },
            ),
          ),
          usaget: fc.constantFrom('data', 'call'),
          requested: fc.integer({ min: -1, max: 2 ** 40 }),
          used: fc.nat({ max: 50 }),
          calledNumber: fc.constantFrom('', '1', '12'),
          rateKey: fc.constant(''),
          usedBefore: fc.integer({ min: -1, max: 50 }),
          isTotal: fc.constant(false),
          untaxed: fc.constant(false),
          fields: fc.constant(null),
        }),
        { maxLength: 3 },
      ),
    })
    fc.assert(
      fc.property(drawn, (more) => {
        const request = requestOf(more)
        const digest = digestOf(request)
        const text = JSON.stringify(request)
        expect(Number.isSafeInteger(digest) && digest >= 0).toBe(true)
        expect(digestOf(structuredClone(request))).toBe(digest)
        expect(seen.get(digest) ?? text).toBe(text)
        seen.set(digest, text)
      }),
      propertyRuns(3000),
    )
  })

  it('distinguishes neighbours: volumes that increase by one', () => {
    const digests = new Set<number>()
    for (let used = 0; used < 20_000; used += 1) {
      digests.add(digestOf({ ...BASE, services: [serviceRequest({ used })] }))
    }
    expect(digests.size).toBe(20_000)
  })
})

import { describe, expect, it } from 'vitest'
import { jsonCodec } from '../../src/realtime/codecs/json.ts'
import { wireExamples } from './wire-examples.ts'

const context = {
  origin: 'test',
  nowMs: Date.UTC(2026, 10, 21, 10, 10),
  servicesMax: 32,
  eventAgeMsMax: 90 * 86_400_000,
  eventFutureMsMax: 300_000,
  zone: 'UTC',
  keptFields: [],
  identifyingFields: [],
  identifies: () => false,
}
const service = {
  ratingGroup: -1,
  usaget: 'data',
  used: 0,
  calledNumber: '',
  isTotal: false,
  rateKey: '',
  untaxed: false,
  fields: null,
}
const examples = [...wireExamples()].filter(([name]) => !name.startsWith('http-'))

describe('docs/WIRE.md', () => {
  it('has the examples that the tests expect', () => {
    expect(examples.map(([name]) => name)).toEqual([
      'start',
      'update',
      'release',
      'services',
      'late',
      'event',
      'refund',
      'pretend',
      'denied',
      'failed',
      'fraction',
      'no-session',
      'other-type',
      'not-json',
    ])
  })

  it.each(examples)('%s: the response, byte for byte', (_name, { request, outcome, response }) => {
    const decoded = jsonCodec.decode(Buffer.from(request ?? ''), context)
    if (decoded.ok) {
      expect(outcome).toBeDefined()
      expect(jsonCodec.encode(decoded.envelope, outcome!)).toBe(response)
    } else {
      expect(outcome).toBeUndefined()
      expect(jsonCodec.encodeError(decoded.error)).toBe(response)
    }
    expect(() => JSON.parse(response ?? '')).not.toThrow()
  })

  it('decodes the start of the session to this request', () => {
    const decoded = jsonCodec.decode(
      Buffer.from(wireExamples().get('start')?.request ?? ''),
      context,
    )
    expect(decoded).toMatchObject({
      ok: true,
      request: {
        kind: 'start',
        origin: 'test',
        sessionId: 'pgw1;1789000000;7',
        requestNumber: 0,
        subscriberKey: 'msisdn',
        subscriberValue: '972501234567',
        eventTimeMs: Date.UTC(2026, 10, 21, 10),
        eventTimeGiven: true,
        services: [{ ...service, ratingGroup: 10, requested: 10_485_760 }],
        wantBalances: true,
        pretend: false,
        refund: false,
        fields: null,
      },
    })
  })

  it('decodes several services to this list', () => {
    const request = wireExamples().get('services')?.request ?? ''
    const decoded = jsonCodec.decode(Buffer.from(request), context)
    expect(decoded.ok && decoded.request.services).toEqual([
      { ...service, ratingGroup: 10, requested: 5_242_880, used: 1_048_576 },
      { ...service, ratingGroup: 20, requested: 5_242_880, used: 2_097_152 },
      { ...service, usaget: 'call', requested: -1, used: 60, calledNumber: '+44201234567' },
    ])
  })
})

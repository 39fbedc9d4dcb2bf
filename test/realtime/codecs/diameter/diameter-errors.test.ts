import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'
import { builtIn, context, formatOf } from '../../../support/realtime/codecs/diameter/file-type.ts'

const codec = formatOf(builtIn())

function decode(body: unknown) {
  return codec.decode(Buffer.from(JSON.stringify(body)), context)
}

function errorOf(body: unknown): unknown {
  const decoded = decode(body)
  return decoded.ok ? decoded : JSON.parse(codec.encodeError(decoded.error))
}

const ccr = {
  'Session-Id': 's',
  'CC-Request-Type': 1,
  'CC-Request-Number': 0,
  'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': '0501234567' },
}

describe('errors of decoding', () => {
  it.each([
    [{ ...ccr, 'Session-Id': undefined }, 5005, /^Session-Id is required/],
    [{ ...ccr, 'CC-Request-Type': undefined }, 5005, /^CC-Request-Type is required/],
    [{ ...ccr, 'Subscription-Id': undefined }, 5005, /^Subscription-Id.* is required/],
    [{ ...ccr, 'CC-Request-Type': 9 }, 5004, /^CC-Request-Type must be/],
    [{ ...ccr, 'CC-Request-Number': -1 }, 5004, /^CC-Request-Number must be/],
    [{ ...ccr, 'Event-Timestamp': 'noon' }, 5004, /^Event-Timestamp /],
    [{ ...ccr, 'Requested-Action': 1 }, 5004, /^Requested-Action is for an event_request only/],
    [
      { ...ccr, 'Multiple-Services-Credit-Control': [{ 'Rating-Group': 'x' }] },
      5004,
      /^Multiple-Services-Credit-Control.0.Rating-Group must be/,
    ],
    ['x', 5012, /^body is neither a JSON object nor a list/],
  ])('%j is refused with %i', (body, code, text) => {
    expect(errorOf(body)).toMatchObject({
      'Result-Code': code,
      'Error-Message': expect.stringMatching(text),
    })
  })

  it('in units name the units', () => {
    const unit = { 'Used-Service-Unit': [{ 'CC-Total-Octets': 1 }, { 'CC-Total-Octets': -1 }] }
    const body = { ...ccr, 'CC-Request-Type': 2, 'Multiple-Services-Credit-Control': [unit] }
    expect(errorOf(body)).toMatchObject({
      'Result-Code': 5004,
      'Error-Message': expect.stringMatching(/^.*\.0\.Used-Service-Unit\.CC-Total-Octets /),
    })
  })

  it('for any AVPs are named, or there is a request', () => {
    const names = ['Session-Id', 'CC-Request-Type', 'Subscription-Id', 'Used-Service-Unit']
    const more = ['CC-Total-Octets', 'Multiple-Services-Credit-Control', 'Rating-Group', '450']
    const leaf = fc.constantFrom(null, true, 0, 1, 2, -1, 1.5, '', '1', 'x', 2 ** 60)
    const { avps } = fc.letrec((tie) => ({
      avps: fc.dictionary(
        fc.constantFrom(...names, ...more, '444', '446', 'Requested-Service-Unit', '__proto__'),
        fc.oneof({ maxDepth: 4 }, leaf, tie('avps'), fc.array(tie('avps'), { maxLength: 3 })),
        { maxKeys: 5 },
      ),
    }))
    fc.assert(
      fc.property(avps, (body) => {
        const decoded = decode({ ...ccr, ...(body as object) })
        if (!decoded.ok) {
          expect(decoded.error.why).not.toBe('')
          JSON.parse(codec.encodeError(decoded.error))
        } else {
          JSON.parse(codec.encode(decoded.envelope, plainOutcome('unknownSubscriber')))
        }
      }),
      propertyRuns(1000),
    )
  })
})

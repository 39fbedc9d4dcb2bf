import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { DECODE_CONTEXT, jsonCodec } from '../../../support/realtime/codecs/settings.ts'

const nowMs = Date.UTC(2026, 10, 21, 10)
const context = { ...DECODE_CONTEXT, nowMs, servicesMax: 3 }

const decodeBytes = (body: Buffer) => jsonCodec.decode(body, context)

describe('any input', () => {
  const isDecoded = (body: Buffer) => {
    const decoded = decodeBytes(body)
    if (decoded.ok) jsonCodec.encode(decoded.envelope, plainOutcome('granted'))
    else JSON.parse(jsonCodec.encodeError(decoded.error))
  }

  it('as bytes has a result', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => isDecoded(Buffer.from(bytes))),
    )
  })

  it('as JSON has a result', () => {
    fc.assert(fc.property(fc.json(), (text) => isDecoded(Buffer.from(text))))
  })

  it('as values of the fields is refused, or within their bounds', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('data', '5', 5, -1, 2 ** 53, nowMs / 1000, true),
    )
    const service = fc.record(
      {
        usaget: value,
        usagev: value,
        used_usagev: value,
        rating_group: value,
        called_number: value,
      },
      { requiredKeys: [] },
    )
    const message = fc.record(
      {
        record_type: fc.constantFrom('start_request', 'update_request', 'release_request', 'x'),
        session_id: fc.oneof(fc.string(), value),
        request_num: value,
        sid: value,
        msisdn: value,
        usaget: value,
        usagev: value,
        urt: value,
        services: fc.oneof(fc.array(service, { maxLength: 4 }), value),
        balances: value,
      },
      { requiredKeys: ['record_type', 'session_id'] },
    )
    fc.assert(
      fc.property(message, (fields) => {
        const body = Buffer.from(JSON.stringify(fields))
        isDecoded(body)
        const decoded = decodeBytes(body)
        if (!decoded.ok) return
        for (const { requested, used, ratingGroup } of decoded.request.services) {
          expect(Number.isSafeInteger(used) && used >= 0).toBe(true)
          expect(Number.isSafeInteger(requested) && requested >= -1).toBe(true)
          expect(ratingGroup >= -1 && ratingGroup < 2 ** 32).toBe(true)
        }
        expect(decoded.request.sessionId).not.toBe('')
      }),
      { numRuns: 500 },
    )
  })
})

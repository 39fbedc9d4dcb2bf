import { describe, expect, it } from 'vitest'
import { DECODE_CONTEXT, jsonCodec } from '../../../support/realtime/codecs/settings.ts'

const context = { ...DECODE_CONTEXT, nowMs: Date.UTC(2026, 10, 21, 10), servicesMax: 3 }
const update = { record_type: 'update_request', session_id: 's' }
const data = { usaget: 'data', rating_group: 1 }

/** The names of the services, or the field of the refusal. */
function namesOf(message: object): unknown {
  const decoded = jsonCodec.decode(Buffer.from(JSON.stringify({ ...update, ...message })), context)
  if (!decoded.ok) return decoded.error.field
  return decoded.request?.services.map((one) => one.serviceIdentifier)
}

describe('service identifiers', () => {
  it('distinguish services of one rating group, in any order', () => {
    const identified = [{ service_identifier: 7 }, { service_identifier: [9, 8, 9] }]
    const services = [data, ...identified.map((more) => ({ ...data, ...more }))]
    expect(namesOf({ services })).toEqual(['', '7', '8,9'])
    const twice = [{ ...data, service_identifier: [8, 9] }, services[2]]
    expect(namesOf({ services: twice })).toBe('services.1.usaget')
    expect(namesOf({ usaget: 'data', service_identifier: 7 })).toEqual(['7'])
  })

  it.each(['x', -1, 2 ** 32, [2 ** 32], Array.from({ length: 17 }, (_, at) => at)])(
    'cannot be %j',
    (service_identifier) => {
      const services = [{ ...data, service_identifier }]
      expect(namesOf({ services })).toBe('services.0.service_identifier')
    },
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { joinParts } from '../../src/file-types/session.ts'
import {
  CONTEXT,
  documentWith,
  type Fields,
  MAPPING,
  mapped,
  problemOf,
  REALTIME,
  requestOf,
  START,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'

const UPDATE = { record_type: 'update_request', session_id: 's1' }
const EVENT = { ...START, record_type: 'event_request' }

describe('a session id', () => {
  const idOf = (session_id_fields: unknown, message: Fields) =>
    requestOf(withRealtime({ session_id_fields }), { ...START, ...message }).sessionId

  it('is the text of one field, or of several joined with ;', () => {
    expect(idOf('call.id', { call: { id: 'a;b%' } })).toBe('a;b%')
    expect(idOf(['n'], { n: 42 })).toBe('42')
    expect(idOf(['a', 'b'], { a: 'x;y', b: '1%' })).toBe('x%3By;1%25')
    expect(idOf(['a', 'b'], { b: 'only' })).toBe(';only')
    expect(problemOf(withRealtime({ session_id_fields: ['a', 'b'] }), START)).toBe('a is required')
  })

  it('differs if its parts differ', () => {
    const parts = fc.array(
      fc.string({ unit: fc.constantFrom(';', '%', '2', '5', 'a', 'B', '3') }),
      {
        minLength: 2,
        maxLength: 2,
      },
    )
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(joinParts(one) === joinParts(other)).toBe(one.join('\n') === other.join('\n'))
      }),
      { numRuns: 1000 },
    )
  })

  it('of an event is its stamp, or its digest', () => {
    const { session_id, ...event } = EVENT
    expect(requestOf(documentWith(), event).sessionId).toBe('d1ge57')
    const stamped = withMapping({ stamp_fields: ['uf.msg', 'uf.part'] })
    expect(requestOf(stamped, { ...event, msg: 'm;1', part: 2 }).sessionId).toBe('event;m%3B1;2')
    expect(requestOf(stamped, event).sessionId).toBe('d1ge57')
    expect(requestOf(stamped, { ...EVENT, msg: 'm' }).sessionId).toBe('s1')
    expect(problemOf(stamped, { ...event, msg: 'm'.repeat(256) })).toBe(
      'session_id is required: stamp_fields are too long to stand for it',
    )
  })

  it('in one-time charging identifies one event, and the answer has the shared id', () => {
    const document = withRealtime({ postpay_charge: true, session_id_fields: ['call'] })
    const idOf = (message: Fields) =>
      requestOf(document, { ...START, call: 'c;1', ...message }).sessionId
    expect(idOf({ request_num: 7 })).toBe('c%3B1;7')
    // Without a number the digest of all bytes identifies it.
    expect(idOf({})).toBe(`c%3B1;${CONTEXT.bodyDigest()}`)
    expect(idOf({ call: 'c'.repeat(256) })).toMatch(/^[0-9a-f]{64}$/)
    expect(mapped(document, { ...START, call: 'c;1' }).echo.sessionId).toBe('c;1')
    // A refund finds the charge by the id that both events have.
    const refunding = withRealtime({ postpay_charge: true, refund_field: 'back' })
    expect(requestOf(refunding, START).sessionId).toBe('s1')
  })

  it('has a limited length, and may consist of hidden fields', () => {
    const long = { a: 'a'.repeat(200), b: 'b'.repeat(200) }
    expect(problemOf(withRealtime({ session_id_fields: ['a', 'b'] }), { ...START, ...long })).toBe(
      'a must make an id of at most 256 characters',
    )
    const names = ['session_id', 'record_type', 'want']
    const structure = names.map((name) => ({ name, checked: false }))
    const hidden = documentWith({ parser: { type: 'json', structure } })
    expect(problemOf(hidden, START)).toBe(
      'want is required in a start_request, and there is no default volume',
    )
    const found = mapped(hidden, { ...UPDATE, other: 1 })
    expect(found.request).toMatchObject({ kind: 'update', sessionId: 's1' })
    expect(found.echo.message).toEqual({ other: 1 })
    expect(found.echo.entries[0]).toBe(found.echo.message)
  })
})

/** A digest of a whole message. */

describe('a stamp', () => {
  const document = withMapping(
    { stamp_fields: ['m'] },
    { realtime: { ...REALTIME, services_field: 'list' } },
  )

  it('identifies requests without a number', () => {
    const stamped = withMapping({ stamp_fields: ['m', 'n'] })
    expect(requestOf(stamped, { ...START, m: 'x;', n: 5 }).stamp).toBe('x%3B;5')
    expect(requestOf(stamped, { ...START, m: 'x', request_num: 1 }).stamp).toBe('')
    expect(requestOf(stamped, { ...START, m: 1795255200.25, n: true }).stamp).toBe(
      '1795255200.25;true',
    )
    // Then the stamp covers all bytes: a field that no rule reads may distinguish the message.
    expect(requestOf(stamped, START).stamp).toBe('d1ge57')
    expect(requestOf(stamped, { ...START, request_num: 1 }).stamp).toBe('')
    const processor = { usaget_mapping: [MAPPING], stamp_fields: 'k' }
    expect(requestOf(documentWith({ processor }), { ...START, k: 'all' }).stamp).toBe('all')
  })

  it('covers all services, or all bytes', () => {
    const stampOf = (...list: Fields[]) => requestOf(document, { ...UPDATE, list }).stamp
    const other = withMapping(
      { stamp_fields: ['m'], rating_group_field: 'rg' },
      { realtime: { ...REALTIME, services_field: 'list' } },
    )
    expect(stampOf({ m: 'a;' })).toBe('a%3B')
    const list = [
      { m: 'a', rg: 1 },
      { m: 'b', rg: 2 },
    ]
    expect(requestOf(other, { ...UPDATE, list }).stamp).toBe('a;b')
    expect(requestOf(other, { ...UPDATE, list: [...list, { rg: 3 }] }).stamp).toBe('d1ge57')
  })
})

import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import type { DecodeContext } from '../../../../src/realtime/codecs/codec.ts'
import { DECODE_CONTEXT, jsonCodec } from '../../../support/realtime/codecs/settings.ts'

const context = { ...DECODE_CONTEXT, nowMs: Date.UTC(2026, 10, 21, 10), servicesMax: 3 }
const start = { record_type: 'start_request', session_id: 's', sid: 7, usaget: 'data', usagev: 10 }
const update = { record_type: 'update_request', session_id: 's' }

/** Decodes a message that must be valid. */
function requestOf(message: object) {
  const decoded = jsonCodec.decode(Buffer.from(JSON.stringify(message)), context)
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  return decoded.request
}

/** The field of the refusal of an invalid message. */
function fieldOf(message: object): string {
  const decoded = jsonCodec.decode(Buffer.from(JSON.stringify(message)), context)
  return decoded.ok ? 'accepted' : decoded.error.field
}

describe('a refund', () => {
  const refund = { record_type: 'event_request', session_id: 's', sid: 7, refund: true }

  it('needs no service, and may name one', () => {
    expect(requestOf(refund)).toMatchObject({ kind: 'event', refund: true, services: [] })
    expect(requestOf({ ...refund, usaget: 'sms' }).services).toMatchObject([{ requested: -1 }])
    expect(requestOf({ ...refund, services: [{ usaget: 'sms' }] }).services).toHaveLength(1)
    expect(requestOf({ ...start, refund: false }).refund).toBe(false)
  })

  it.each([
    [{ ...refund, sid: undefined }, 'sid'],
    [{ ...refund, refund: 1 }, 'refund'],
    [{ ...refund, refund: false }, 'usaget'],
    [{ ...start, refund: true }, 'refund'],
    [{ ...update, refund: true }, 'refund'],
    [{ ...update, record_type: 'release_request', refund: true }, 'refund'],
  ])('cannot be %j', (message, field) => expect(fieldOf(message)).toBe(field))
})

describe('fields used by rules', () => {
  const withRules: DecodeContext = {
    ...context,
    keptFields: ['apn', 'caller.number', 'sid'],
    identifyingFields: ['caller.number'],
    identifies: (usaget) => usaget === 'call',
  }
  const decode = (message: object) =>
    jsonCodec.decode(Buffer.from(JSON.stringify(message)), withRules)
  const fieldsOf = (message: object) => {
    const decoded = decode({ ...start, ...message })
    return decoded.ok ? decoded.request.fields : decoded.error
  }

  it('are kept as texts', () => {
    expect(fieldsOf({ apn: 'net', caller: { number: 4930 }, other: 'x' })).toEqual({
      apn: 'net',
      'caller.number': '4930',
      sid: '7',
    })
    expect(fieldsOf({ apn: '', caller: [], sid: '07' })).toEqual({ apn: '', sid: '07' })
    expect(fieldsOf({ apn: true, caller: { number: null } })).toEqual({ sid: '7' })
    expect(fieldsOf({ apn: { toString: 1 }, caller: 'number' })).toEqual({ sid: '7' })
    expect(requestOf({ ...start, apn: 'net' }).fields).toBeNull()
  })

  it('are not numbers that have lost digits', () => {
    const caller = { number: 2 ** 53 }
    const why = 'is too large for a number: it must be a text'
    expect(fieldsOf({ caller })).toEqual({ field: 'caller.number', why })
    expect(fieldsOf({ caller: { number: 0.5 } })).toMatchObject({ 'caller.number': '0.5' })
  })

  it('are limited in length and characters', () => {
    expect(fieldsOf({ apn: 'x'.repeat(256) })).toMatchObject({ apn: 'x'.repeat(256) })
    const why = 'must have at most 256 characters'
    expect(fieldsOf({ apn: 'x'.repeat(257) })).toEqual({ field: 'apn', why })
    const unusable = { field: 'apn', why: 'has control characters or half characters' }
    for (const apn of ['a\0', '\u0085', '\ud800']) expect(fieldsOf({ apn })).toEqual(unusable)
  })

  it('identify the subscriber if identification has rules for the usage type', () => {
    const call = { ...start, sid: undefined, usaget: 'call' }
    const caller = { number: '030' }
    expect(decode({ ...call, caller })).toMatchObject({
      request: { subscriberKey: 'none', subscriberValue: '', fields: { 'caller.number': '030' } },
    })
    expect(decode({ ...call, caller, imsi: '1' })).toMatchObject({
      request: { subscriberKey: 'imsi' },
    })
    const refused = { error: { field: 'sid', why: 'is required, or msisdn or imsi in its place' } }
    expect(decode({ ...call, apn: 'net' })).toMatchObject(refused)
    expect(decode({ ...call, usaget: 'data', caller })).toMatchObject(refused)
  })
})

it('an answer has the balances by their kind', () => {
  const envelope = {
    recordType: 'start_request',
    sessionId: 's',
    requestNumber: -1,
    isServiceList: false,
    wantsCost: false,
  }
  const balance = { prepaidIncludeId: 0, usaget: '', reserved: 0, toMs: 0, debt: 0 }
  const units = { ...balance, kind: 'units' as const, free: 5 }
  const money = { ...balance, kind: 'money' as const, free: 2_500_000 }
  const balances = [
    { ...money, prepaidIncludeId: 3, counter: '' },
    { ...units, counter: 'group/PLAN/0/MINUTES' },
    { ...money, counter: 'group/S1/4/Talk/More "x"' },
    { ...money, counter: 'credit' },
    { ...money, free: 0, counter: 'account_debt', debt: 1_250_000 },
  ]
  const text = jsonCodec.encode(envelope, { ...plainOutcome('granted'), balances })
  const shown = { usaget: '', reserved: 0, to: '1970-01-01T00:00:00.000Z' }
  expect(JSON.parse(text).balances).toEqual([
    { ...shown, pp_includes_external_id: 3, charging_by: 'cost', balance: 2.5 },
    { ...shown, group: 'MINUTES', charging_by: 'usagev', balance: 5 },
    { ...shown, group: 'Talk/More "x"', charging_by: 'cost', balance: 2.5 },
    { ...shown, group: 'credit', charging_by: 'cost', balance: 2.5 },
    { ...shown, group: 'account_debt', charging_by: 'cost', balance: 0, debt: 1.25 },
  ])
})

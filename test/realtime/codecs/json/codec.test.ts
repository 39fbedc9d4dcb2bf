import { describe, expect, it } from 'vitest'
import { plainOutcome, type Reason, reasons } from '../../../../src/domain/charge-outcome.ts'
import { serviceRequest } from '../../../../src/domain/charge-request.ts'
import { httpStatus } from '../../../../src/file-types/http-status.ts'
import { DECODE_CONTEXT, jsonCodec } from '../../../support/realtime/codecs/settings.ts'

const nowMs = Date.UTC(2026, 10, 21, 10)
const context = { ...DECODE_CONTEXT, nowMs, servicesMax: 3 }

const decodeBytes = (body: Buffer) => jsonCodec.decode(body, context)
const decodeText = (text: string) => decodeBytes(Buffer.from(text))
const start = { record_type: 'start_request', session_id: 's', sid: 7, usaget: 'data', usagev: 10 }
const update = { record_type: 'update_request', session_id: 's' }

/** Decodes a message that must be valid. */
function requestOf(message: object) {
  const decoded = decodeText(JSON.stringify(message))
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  return decoded.request
}

/** The field of the refusal of an invalid message. */
function fieldOf(message: object | string): string {
  const decoded = decodeText(typeof message === 'string' ? message : JSON.stringify(message))
  return decoded.ok ? 'accepted' : decoded.error.field
}

describe('record_type', () => {
  it.each([
    ['start_request', 'start'],
    ['initial_request', 'start'],
    ['update_request', 'update'],
    ['release_request', 'release'],
    ['final_request', 'release'],
    ['event_request', 'event'],
    ['postpay_charge_request', 'event'],
    ...[1, '1'].map((code) => [code, 'start']),
    ...[2, '2'].map((code) => [code, 'update']),
    ...[3, '3'].map((code) => [code, 'release']),
    ...[4, '4'].map((code) => [code, 'event']),
  ])('%j is %s, and is answered as sent', (recordType, kind) => {
    const decoded = decodeText(JSON.stringify({ ...start, record_type: recordType }))
    if (!decoded.ok) throw new Error(decoded.error.why)
    expect(decoded.request.kind).toBe(kind)
    const answer = JSON.parse(jsonCodec.encode(decoded.envelope, plainOutcome('granted')))
    expect(answer.requestType).toBe(recordType)
  })

  it.each([
    [undefined],
    [null],
    [''],
    ['START_REQUEST'],
    ['__proto__'],
    [['start_request']],
    [0],
    [5],
    [1.5],
    ['01'],
    [true],
  ])('cannot be %j', (value) =>
    expect(fieldOf({ ...start, record_type: value })).toBe('record_type'),
  )
})

describe('body', () => {
  it.each([
    ['', 'is empty'],
    ['{', 'is not JSON'],
    ['\uFEFF{}', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    ['7', 'is not a JSON object'],
    ['['.repeat(60_000), 'is not JSON'],
  ])('of %.10s %s', (text, why) => {
    expect(decodeText(text)).toEqual({ ok: false, error: { field: 'body', why } })
  })

  it('must be UTF-8', () => {
    const text = Buffer.from(JSON.stringify({ ...start, session_id: 'a?b' }))
    text[text.indexOf('?')] = 0xff
    expect(decodeBytes(text)).toMatchObject({ error: { field: 'body', why: 'is not UTF-8' } })
  })

  it('may have unknown fields, repeated fields, and __proto__', () => {
    const text =
      '{"__proto__":{"msisdn":"1","pretend":true},"constructor":1,"sid":1,"sid":7,' +
      '"record_type":"start_request","session_id":"s","usaget":"data","usagev":10,"x":[{}]}'
    expect(decodeText(text)).toMatchObject({
      request: { subscriberKey: 'sid', subscriberValue: '7', pretend: false },
    })
  })
})

describe('session_id and request_num', () => {
  it('accept a text or a whole number', () => {
    expect(requestOf({ ...start, session_id: 'é'.repeat(256) }).sessionId).toHaveLength(256)
    expect(requestOf({ ...start, session_id: 12 }).sessionId).toBe('12')
  })

  it.each([
    [undefined],
    [null],
    [''],
    ['x'.repeat(257)],
    [1.5],
    [true],
    [{}],
    ['a\u0000b'],
    ['\ud800'],
  ])('refuse the session_id %j', (value) =>
    expect(fieldOf({ ...start, session_id: value })).toBe('session_id'),
  )

  it('accept a number, its digits, or none', () => {
    expect(requestOf({ ...start, request_num: 5 }).requestNumber).toBe(5)
    expect(requestOf({ ...start, request_num: '5' }).requestNumber).toBe(5)
    expect(requestOf(start).requestNumber).toBe(-1)
  })

  it.each([[-1], [1.5], ['x'], [''], [true]])('refuse the request_num %j', (value) =>
    expect(fieldOf({ ...start, request_num: value })).toBe('request_num'),
  )
})

describe('subscriber', () => {
  const bare = { ...start, sid: undefined }
  it.each([
    [{ sid: 7 }, 'sid', '7'],
    [{ sid: '007' }, 'sid', '7'],
    [{ msisdn: '+97250' }, 'msisdn', '+97250'],
    [{ msisdn: 97250 }, 'msisdn', '97250'],
    [{ imsi: '425', msisdn: null }, 'imsi', '425'],
  ])('is read from %j', (fields, subscriberKey, subscriberValue) => {
    expect(requestOf({ ...bare, ...fields })).toMatchObject({ subscriberKey, subscriberValue })
  })

  it.each([
    [{}, 'sid'],
    [{ sid: 0 }, 'sid'],
    [{ sid: -7 }, 'sid'],
    [{ sid: 'x' }, 'sid'],
    [{ sid: 7, imsi: '1' }, 'imsi'],
    [{ msisdn: '' }, 'msisdn'],
    [{ imsi: 'x'.repeat(65) }, 'imsi'],
  ])('cannot be %j', (fields, field) => expect(fieldOf({ ...bare, ...fields })).toBe(field))

  it('is required for a start and an event, not for an update and a release', () => {
    expect(fieldOf({ ...bare, record_type: 'event_request' })).toBe('sid')
    expect(requestOf(update)).toMatchObject({ subscriberKey: 'none', subscriberValue: '' })
    expect(requestOf({ ...update, record_type: 'release_request' }).subscriberKey).toBe('none')
  })
})

describe('volumes', () => {
  it.each([
    [0, 0],
    [2 ** 53 - 1, 2 ** 53 - 1],
    ['9007199254740991', 2 ** 53 - 1],
    ['0012', 12],
  ])('accept %j', (value, used) => {
    const [service] = requestOf({ ...update, usaget: 'data', used_usagev: value }).services
    expect(service).toEqual(serviceRequest({ usaget: 'data', used }))
  })

  it('accept minus zero as zero', () => {
    const decoded = decodeText(
      '{"record_type":"update_request","session_id":"s","usaget":"d","usagev":-0}',
    )
    expect(decoded.ok && Object.is(decoded.request.services[0]?.requested, 0)).toBe(true)
  })

  it.each([
    [-1],
    [0.5],
    [2 ** 53],
    ['9007199254740992'],
    ['-1'],
    ['1.5'],
    ['1e3'],
    ['NaN'],
    [''],
    [[1]],
  ])('refuse %j at any position', (value) => {
    expect(fieldOf({ ...start, usagev: value })).toBe('usagev')
    expect(fieldOf({ ...update, usaget: 'data', used_usagev: value })).toBe('used_usagev')
    const services = [{ usaget: 'call' }, { usaget: 'data', usagev: value }]
    expect(fieldOf({ ...update, services })).toBe('services.1.usagev')
  })

  it('refuse NaN and Infinity: not JSON, too large', () => {
    expect(fieldOf('{"record_type":"start_request","usagev":NaN}')).toBe('body')
    expect(fieldOf(JSON.stringify({ ...start, usagev: 1 }).replace('1}', '1e999}'))).toBe('usagev')
  })

  it('are required if units are requested', () => {
    expect(fieldOf({ ...start, usagev: undefined })).toBe('usagev')
    expect(fieldOf({ ...start, record_type: 'event_request', usagev: null })).toBe('usagev')
    expect(fieldOf({ ...start, used_usagev: 1 })).toBe('used_usagev')
  })

  it('requested by a release are ignored', () => {
    const release = { ...update, record_type: 'release_request', usaget: 'data', usagev: 5 }
    expect(requestOf(release).services[0]?.requested).toBe(-1)
    expect(fieldOf({ ...release, usagev: -5 })).toBe('usagev')
  })
})

describe('services', () => {
  const data = { usaget: 'data', rating_group: 1 }

  it.each([
    [[], 'services'],
    [{}, 'services'],
    ['data', 'services'],
    [[data, { ...data, rating_group: 2 }, { usaget: 'a' }, { usaget: 'b' }], 'services'],
    [[data, null], 'services.1'],
    [[data, [data]], 'services.1'],
    [[{}], 'services.0.usaget'],
    [[{ usaget: '' }], 'services.0.usaget'],
    [[{ usaget: 'a b' }], 'services.0.usaget'],
    [[{ usaget: 5 }], 'services.0.usaget'],
    [[data, { ...data, rating_group: '1' }], 'services.1.usaget'],
    [[{ ...data, rating_group: -1 }], 'services.0.rating_group'],
    [[{ ...data, rating_group: 2 ** 32 }], 'services.0.rating_group'],
    [[{ ...data, called_number: '' }], 'services.0.called_number'],
    [[{ ...data, called_number: {} }], 'services.0.called_number'],
  ])('cannot be %j', (services, field) => expect(fieldOf({ ...update, services })).toBe(field))

  it('may repeat a usage type with different rating groups', () => {
    const services = [data, { ...data, rating_group: 2 }]
    expect(requestOf({ ...update, services }).services).toHaveLength(2)
  })

  it('replace the single fields', () => {
    expect(fieldOf({ ...update, services: [data], usagev: 1 })).toBe('services')
    expect(fieldOf({ ...update, usagev: 1 })).toBe('usaget')
    expect(fieldOf({ ...start, usaget: undefined, usagev: undefined })).toBe('usaget')
    expect(requestOf(update).services).toEqual([])
  })
})

describe('urt', () => {
  it.each([
    ['2026-11-21T10:00:00Z', 0],
    ['2026-11-21T10:00:00', 0],
    ['2026-11-21 12:00:00.250+02:00', 250],
    [nowMs / 1000, 0],
    [nowMs / 1000 + 0.125, 125],
    [`${nowMs / 1000}`, 0],
    [`${nowMs / 1000}.5`, 500],
  ])('is read from %j', (urt, afterMs) => {
    expect(requestOf({ ...start, urt })).toMatchObject({
      eventTimeMs: nowMs + afterMs,
      eventTimeGiven: true,
    })
  })

  it('is in the time zone if it has no offset', () => {
    const body = Buffer.from(JSON.stringify({ ...start, urt: '2026-11-21T12:00:00' }))
    const decoded = jsonCodec.decode(body, { ...context, zone: 'Asia/Jerusalem' })
    expect(decoded.ok && decoded.request.eventTimeMs).toBe(nowMs)
  })

  it('is now if absent', () => {
    expect(requestOf(start)).toMatchObject({ eventTimeMs: nowMs, eventTimeGiven: false })
  })

  it('is at most 5 minutes ahead and 90 days ago', () => {
    const at = (ms: number) => ({ ...start, urt: ms / 1000 })
    expect(requestOf(at(nowMs + 300_000)).eventTimeGiven).toBe(true)
    expect(fieldOf(at(nowMs + 300_001))).toBe('urt')
    expect(requestOf(at(nowMs - 90 * 86_400_000)).eventTimeGiven).toBe(true)
    expect(fieldOf(at(nowMs - 90 * 86_400_000 - 1))).toBe('urt')
  })

  it.each([['yesterday'], ['2026-02-30T00:00:00Z'], [''], [true], [-1], ['1e9'], [nowMs]])(
    'cannot be %j',
    (urt) => expect(fieldOf({ ...start, urt })).toBe('urt'),
  )
})

it('balances, cost and pretend are booleans', () => {
  expect(fieldOf({ ...start, cost: 1 })).toBe('cost')
  expect(requestOf({ ...start, balances: true, pretend: true })).toMatchObject({
    wantBalances: true,
    pretend: true,
  })
  expect(fieldOf({ ...start, balances: 1 })).toBe('balances')
  expect(fieldOf({ ...start, pretend: 'true' })).toBe('pretend')
})

describe('answers', () => {
  const envelope = {
    recordType: 'start_request',
    sessionId: 'a"b\\c\u2028é',
    requestNumber: -1,
    isServiceList: false,
    wantsCost: false,
  }

  it('are JSON, whatever their texts contain', () => {
    const outcome = { ...plainOutcome('pricing', 'tier "x"\n'), transactionId: '\ud800"' }
    const answer = JSON.parse(jsonCodec.encode(envelope, outcome))
    expect(answer).toEqual({
      status: 0,
      returnCode: -4,
      desc: 'Pricing failed: tier "x"\n',
      requestType: 'start_request',
      sessionId: envelope.sessionId,
      transactionId: '\ud800"',
      grantedVolume: 0,
      validityTime: 0,
      finalUnit: false,
    })
  })

  it.each(Object.keys(reasons) as Reason[])('have code, status and shape for %s', (reason) => {
    const { status, code } = reasons[reason]
    const answer = JSON.parse(jsonCodec.encode(envelope, plainOutcome(reason)))
    expect(answer).toMatchObject({ status: status === 'granted' ? 1 : 0, returnCode: code })
    expect('grantedVolume' in answer).toBe(status !== 'failed')
    expect(httpStatus[reason]).toBe(reason === 'malformed' ? 400 : status === 'failed' ? 503 : 200)
  })
})

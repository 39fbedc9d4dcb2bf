import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFileType } from '../../src/file-types/compile.ts'
import {
  CONTEXT,
  DEFAULTS,
  documentWith,
  type Fields,
  MAPPING,
  mapped,
  NOW_MS,
  problemOf,
  REALTIME,
  requestOf,
  START,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'

const UPDATE = { record_type: 'update_request', session_id: 's1' }
const EVENT = { ...START, record_type: 'event_request' }

describe('a message', () => {
  it('becomes a request', () => {
    const message = { ...START, request_num: '3', want: '10', pretend: 0 }
    expect(mapped(documentWith(), message)).toEqual({
      request: {
        kind: 'start',
        origin: 'gateway/T',
        sessionId: 's1',
        requestNumber: 3,
        stamp: '',
        rules: '',
        subscriberKey: 'sid',
        subscriberValue: '7',
        eventTimeMs: NOW_MS,
        eventTimeGiven: false,
        services: [
          {
            ratingGroup: -1,
            serviceIdentifier: '',
            usaget: 'data',
            requested: 10,
            used: 0,
            usedBefore: -1,
            isTotal: false,
            calledNumber: '',
            rateKey: '',
            untaxed: false,
            checksCredit: false,
            parts: null,
            fields: null,
          },
        ],
        wantBalances: false,
        pretend: false,
        refund: false,
        fields: null,
      },
      skipped: [],
      echo: {
        message,
        entries: [message],
        requestType: 'start_request',
        recordType: 'start_request',
        sessionId: 's1',
        requestNumber: 3,
        pretend: false,
      },
    })
  })

  it.each<[unknown, string, string]>([
    [1, 'start', 'start_request'],
    ['1', 'start', 'start_request'],
    ['Initial_Request', 'start', 'start_request'],
    ['START_REQUEST', 'start', 'start_request'],
    [2, 'update', 'update_request'],
    ['update_request', 'update', 'update_request'],
    ['3', 'release', 'release_request'],
    ['final_request', 'release', 'release_request'],
    ['release_request', 'release', 'release_request'],
    ['TERMINATION_REQUEST', 'release', 'release_request'],
    ['terminate_request', 'release', 'release_request'],
    [4, 'event', 'event_request'],
    ['event_request', 'event', 'event_request'],
    ['postpay_charge_request', 'event', 'event_request'],
  ])('of type %j is a %s', (type, kind, recordType) => {
    for (const field of ['request_type', 'record_type']) {
      const { record_type, ...rest } = START
      const { request, echo } = mapped(documentWith(), { ...rest, [field]: type })
      expect(request?.kind).toBe(kind)
      expect(echo).toMatchObject({ recordType, requestType: type })
    }
  })

  it('is looked up in the request types and field of the document before the standard ones', () => {
    const document = withRealtime({
      request_type_field: 'k',
      request_types: { I: '1', '1': 'event_request' },
    })
    const kind = (k: unknown) => requestOf(document, { ...START, k }).kind
    expect([kind('I'), kind(1), kind('2')]).toEqual(['start', 'event', 'update'])
    const unknown =
      'k must be start_request, update_request, release_request or event_request, or a code of them'
    for (const k of ['i', 'x', 5, true, {}, 'x'.repeat(99)]) {
      expect(problemOf(document, { ...START, k })).toBe(unknown)
    }
    expect(problemOf(document, START)).toBe('k is required')
  })

  it('is an event, whatever its type, if the file type has no sessions', () => {
    const document = documentWith({ realtime: { postpay_charge: true } })
    const { record_type, ...rest } = START
    const sent = (message: Fields) => {
      const { request, echo } = mapped(document, message)
      return [request?.kind, echo.requestType, echo.recordType]
    }
    expect(sent(START)).toEqual(['event', 'start_request', 'event_request'])
    expect(sent(rest)).toEqual(['event', '4', 'event_request'])
    expect(sent({ ...rest, request_type: {} })).toEqual(['event', '4', 'event_request'])
  })

  it('is an event of its own there, even if several share a session id', () => {
    const idOf = (realtime: Fields, more: Fields = {}) => {
      const { request, echo } = mapped(documentWith({ realtime }), { ...START, ...more })
      return [request?.sessionId, echo.sessionId]
    }
    const oneTime = { postpay_charge: true }
    const { session_id } = START
    expect(idOf(oneTime, { request_num: 3 })).toEqual([`${session_id};3`, session_id])
    expect(idOf(oneTime, { request_num: 4 })).toEqual([`${session_id};4`, session_id])
    expect(idOf(oneTime)).toEqual([`${session_id};${CONTEXT.bodyDigest()}`, session_id])
    expect(idOf({ ...oneTime, refund_field: 'back' })).toEqual([session_id, session_id])
  })

  it.each<[Fields, Fields, string]>([
    [{}, { ...START, record_type: undefined }, 'request_type is required'],
    [{}, { ...START, session_id: undefined }, 'session_id is required'],
    [{}, { ...START, session_id: {} }, 'session_id must be a text or a whole number'],
    [{}, { ...START, session_id: 1.5 }, 'session_id must be a text or a whole number'],
    [
      {},
      { ...START, session_id: 'a\u0000' },
      'session_id has control characters or half characters',
    ],
    [
      {},
      { ...START, session_id: 'a\ud800' },
      'session_id has control characters or half characters',
    ],
    [{}, { ...START, session_id: 'a'.repeat(257) }, 'session_id must have at most 256 characters'],
    [{}, { ...START, request_num: -1 }, 'request_num must be a whole number from 0 to 2^53 - 1'],
    [{}, { ...START, request_num: 'x' }, 'request_num must be a whole number from 0 to 2^53 - 1'],
    [
      {},
      { ...START, request_num: '9'.repeat(17) },
      'request_num must be a whole number from 0 to 2^53 - 1',
    ],
    [{}, { ...START, pretend: 'maybe' }, 'pretend must be true or false'],
    [{}, { ...START, sid: 0 }, 'sid must be positive'],
    [{}, { ...START, sid: 'x' }, 'sid must be a whole number from 0 to 2^53 - 1'],
    [{}, { ...START, sid: undefined }, 'sid is required, or msisdn or imsi in its place'],
    [
      {},
      { ...START, sid: undefined, imsi: 'x'.repeat(65) },
      'imsi must have at most 64 characters',
    ],
    [
      {},
      { ...START, want: undefined },
      'want is required in a start_request, and there is no default volume',
    ],
    [
      {},
      { ...EVENT, want: '' },
      'want is required in an event_request, and there is no default volume',
    ],
    [{}, { ...START, want: 'much' }, 'want must be a number from 0 up'],
    [{}, { ...START, want: -1 }, 'want must not be negative'],
    [{}, { ...START, spent: 1 }, 'spent must be 0 or absent in a start_request'],
    [{}, { ...EVENT, spent: 1 }, 'spent must be 0 or absent in an event_request'],
    [{}, { ...UPDATE, spent: 'x' }, 'spent must be a number from 0 up'],
    [
      withRealtime({ refund_field: 'back' }),
      { ...START, back: 1 },
      'back is for an event_request only',
    ],
    [withRealtime({ refund_field: 'back' }), { ...EVENT, back: 'x' }, 'back must be true or false'],
    [withRealtime({ balances_field: 'b' }), { ...EVENT, b: 'x' }, 'b must be true or false'],
    [
      withMapping({ rating_group_field: 'rg' }),
      { ...START, rg: 2 ** 32 },
      'rg must be a whole number from 0 to 4294967295',
    ],
    [
      withMapping({ called_number_field: 'to' }),
      { ...START, to: 'x'.repeat(65) },
      'to must have at most 64 characters',
    ],
    [
      withMapping({ src_field: 'a', pattern: 1 }),
      START,
      'body is of no usage type of the file type',
    ],
    [
      withMapping({ src_field: 'a', pattern: 1 }),
      { ...UPDATE, spent: 3 },
      'body is of no usage type of the file type',
    ],
  ])('with the document %j: %j is refused', (document, message, problem) => {
    const whole = Object.keys(document).length === 0 ? documentWith() : document
    expect(problemOf(whole, message)).toBe(problem)
  })

  it('never throws, whatever the message', () => {
    const names = fc.constantFrom(
      'record_type',
      'session_id',
      'sid',
      'want',
      'spent',
      'list',
      'when',
      'zone',
      'pretend',
      '__proto__',
      'constructor',
      'toString',
      'length',
      'request_num',
      'rg',
      'to',
    )
    const values = fc.oneof(
      fc.anything({ withNullPrototype: true }),
      fc.constantFrom('1', '2', '3', '4', 1, 2, '2026-05-04T10:00:00Z', 1_777_000_000),
    )
    const messages = fc.dictionary(names, values)
    const types = [documentWith(), FULL].map((document) => compileFileType(document, DEFAULTS))
    fc.assert(
      fc.property(messages, fc.constantFrom(...types), (message, { map }) => {
        const found = map(message, CONTEXT)
        if ('why' in found) expect(typeof found.field).toBe('string')
        else expect(found.echo.sessionId).not.toBe('')
      }),
      { numRuns: 500 },
    )
  })
})

/** All sections, with every form of a field that has its own reader. */
const FULL = documentWith({
  parser: { type: 'json', structure: [{ name: 'list.secret', checked: false }] },
  processor: {
    date_field: 'when',
    timezone_field: 'zone',
    rating_group_field: 'rg',
    called_number_field: 'to',
    usaget_mapping: [
      {
        ...MAPPING,
        conditions: [{ src_field: 'to', op: '$regex', pattern: '^0' }],
        unit: 'minutes',
      },
    ],
    usaget_field: 'constructor',
    default_usaget: 'other',
    default_volume_src: ['want', 'length'],
    stamp_fields: ['to', 'toString'],
  },
  customer_identification_fields: { '*': [{ src_key: 'sid', target_key: 'sid' }] },
  realtime: {
    ...REALTIME,
    services_field: 'list',
    session_id_fields: ['session_id', '__proto__.x'],
    default_values: { default: 5 },
    requested_field: 'want',
    refund_field: 'refund',
    balances_field: 'balances',
  },
  filters: [{ conditions: [{ field_name: 'to', op: '$gt', value: 5 }], skip_calc: ['all'] }],
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFileType } from '../../../src/catalog/file-types/compile.ts'
import { joinParts } from '../../../src/catalog/file-types/session.ts'
import {
  CONTEXT,
  DEFAULTS,
  documentWith,
  type Fields,
  MAPPING,
  mapped,
  NOW_MS,
  PROCESSOR,
  problemOf,
  REALTIME,
  requestOf,
  result,
  START,
  serviceOf,
  withMapping,
  withRealtime,
} from './sample.ts'

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
            usaget: 'data',
            requested: 10,
            used: 0,
            isTotal: false,
            calledNumber: '',
            rateKey: '',
            untaxed: false,
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

  it('has its own types and their field, before those that are known', () => {
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

  it('is an event, whatever it says, where the file type has no sessions', () => {
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
  ])('of %j: %j is refused', (document, message, problem) => {
    const whole = Object.keys(document).length === 0 ? documentWith() : document
    expect(problemOf(whole, message)).toBe(problem)
  })

  it('never throws, whatever it is', () => {
    const names = fc.constantFrom(
      ...['record_type', 'session_id', 'sid', 'want', 'spent', 'list', 'when', 'zone', 'pretend'],
      ...['__proto__', 'constructor', 'toString', 'length', 'request_num', 'rg', 'to'],
    )
    const values = fc.oneof(
      fc.anything({ withNullPrototype: true }),
      fc.constantFrom(...['1', '2', '3', '4', 1, 2, '2026-05-04T10:00:00Z', 1_777_000_000]),
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

/** All sections, with everything in them that makes a reader of its own. */
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

describe('a session id', () => {
  const idOf = (session_id_fields: unknown, message: Fields) =>
    requestOf(withRealtime({ session_id_fields }), { ...START, ...message }).sessionId

  it('is the text of one field, or of several with ; between them', () => {
    expect(idOf('call.id', { call: { id: 'a;b%' } })).toBe('a;b%')
    expect(idOf(['n'], { n: 42 })).toBe('42')
    expect(idOf(['a', 'b'], { a: 'x;y', b: '1%' })).toBe('x%3By;1%25')
    expect(idOf(['a', 'b'], { b: 'only' })).toBe(';only')
    expect(problemOf(withRealtime({ session_id_fields: ['a', 'b'] }), START)).toBe('a is required')
  })

  it('is another one for other parts', () => {
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

  it('of an event is what stamps it, or its digest', () => {
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

  it('is not long, and keeps what was hidden', () => {
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

describe('a stamp', () => {
  const document = withMapping(
    { stamp_fields: ['m'] },
    { realtime: { ...REALTIME, services_field: 'list' } },
  )

  it('is of requests without a number', () => {
    const stamped = withMapping({ stamp_fields: ['m', 'n'] })
    expect(requestOf(stamped, { ...START, m: 'x;', n: 5 }).stamp).toBe('x%3B;5')
    expect(requestOf(stamped, { ...START, m: 'x', request_num: 1 }).stamp).toBe('')
    expect(requestOf(stamped, START).stamp).toBe('')
  })

  it('is of all services, or of none', () => {
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
    expect(requestOf(other, { ...UPDATE, list: [...list, { rg: 3 }] }).stamp).toBe('')
  })
})

describe('the usage type', () => {
  const usagets = {
    usaget_mapping: [
      { ...MAPPING, usaget: 'free', src_field: 'apn', pattern: '/^free/' },
      { ...MAPPING, usaget: 'data', conditions: [{ src_field: 'apn', op: '$exists' }] },
      { ...MAPPING, usaget: 'call', src_field: 'kind', pattern: 'c' },
    ],
  }
  const usagetOf = (processor: Fields, message: Fields) =>
    serviceOf(documentWith({ processor }), { ...START, ...message }).usaget

  it('is that of the first mapping that holds, or else the one by default', () => {
    expect(usagetOf(usagets, { apn: 'free.net' })).toBe('free')
    expect(usagetOf(usagets, { apn: 'net' })).toBe('data')
    expect(usagetOf(usagets, { kind: 'c' })).toBe('call')
    expect(usagetOf({ ...usagets, default_usaget: 'x', default_volume_src: 'want' }, {})).toBe('x')
  })

  it('may be named by the message, after the mappings and before the default', () => {
    const open = { ...usagets, usaget_field: 'ut', default_usaget: 'x', default_volume_src: 'want' }
    expect(usagetOf(open, { ut: 'sms' })).toBe('sms')
    expect(usagetOf(open, { ut: 'sms', kind: 'c' })).toBe('call')
    expect(usagetOf(open, {})).toBe('x')
    expect(problemOf(documentWith({ processor: open }), { ...START, ut: 'a b' })).toBe(
      'ut must have 1 to 64 letters, digits, _ or -',
    )
  })

  it('is not needed to close, or where nothing was used', () => {
    const document = documentWith({ processor: usagets })
    expect(requestOf(document, UPDATE).services).toEqual([])
    const release = { ...UPDATE, record_type: 3, spent: '0' }
    expect(requestOf(document, release).services).toEqual([])
    expect(problemOf(document, { ...release, spent: '0.5' })).not.toBe('')
    expect(problemOf(document, START)).toBe('body is of no usage type of the file type')
  })
})

describe('volumes', () => {
  it('are the sum of their fields in the unit of the usage type', () => {
    const document = withMapping(
      { unit: 'kb1024', volume_src: ['up', 'down'] },
      { realtime: { used_usagev_field: ['u.up', 'u.down'] } },
    )
    const update = { ...UPDATE, up: 1, down: '0.5', u: { up: 2 } }
    expect(serviceOf(document, update)).toMatchObject({ requested: 1536, used: 2048 })
    const both = { ...update, u: { up: 2, down: 0.001 } }
    expect(serviceOf(document, both)).toMatchObject({ used: 2050 })
    const half = { ...update, down: undefined, u: undefined }
    expect(serviceOf(document, half)).toMatchObject({ requested: -1, used: 0 })
    const huge = { ...update, u: { up: 8_796_093_022_207, down: 1 } }
    expect(problemOf(document, huge)).toBe(
      'u.down is more than 2^53 - 1 base units together with the fields before',
    )
  })

  it('may be a constant', () => {
    const document = withMapping({ unit: 'minutes', volume_type: 'value', volume_src: '1.5' })
    expect(serviceOf(document, START).requested).toBe(90)
    const one = withMapping({ volume_type: 'value', volume_src: [1] })
    expect(serviceOf(one, EVENT).requested).toBe(1)
  })

  it('of no field at all are 0, as existing documents mean it', () => {
    expect(serviceOf(withMapping({ volume_src: [] }), START).requested).toBe(0)
  })

  it('that are absent are those by default', () => {
    const requested = (default_values: unknown, own: unknown, record_type: unknown) => {
      const document = withRealtime({ default_values, data: { default_values: own } })
      return serviceOf(document, { ...START, want: undefined, record_type }).requested
    }
    const all = { initial_request: '1', update_request: 2, event_request: 4, default: 9 }
    expect(requested(all, undefined, 1)).toBe(1)
    expect(requested(all, { start_request: 10 }, 1)).toBe(10)
    expect(requested(all, { default: 90 }, 2)).toBe(2)
    expect(requested({ default: 9 }, { default: 90 }, 2)).toBe(90)
    expect(requested({ default: 9 }, { update_request: 20 }, 1)).toBe(9)
    expect(requested(all, undefined, 4)).toBe(4)
    expect(requested({ default: 0 }, undefined, 1)).toBe(0)
    expect(requested({ final_request: 5, default: 7 }, undefined, 3)).toBe(-1)
    expect(requested({ start_request: 5 }, undefined, 2)).toBe(-1)
  })

  it('are asked for only by updates that have a certain field, if one is named', () => {
    const document = withRealtime({ requested_field: 'ask', default_values: { default: 8 } })
    const requested = (message: Fields) => serviceOf(document, message).requested
    expect(requested({ ...UPDATE, want: 5 })).toBe(-1)
    expect(requested({ ...UPDATE, ask: {} })).toBe(8)
    expect(requested({ ...UPDATE, ask: {}, want: 5 })).toBe(5)
    expect(requested({ ...START, want: undefined })).toBe(8)
  })

  it('that were used may be totals, by usage type', () => {
    const own = withRealtime({
      used_usagev_accumulative: false,
      data: { used_usagev_accumulative: true, used_usagev_field: 'total' },
    })
    expect(serviceOf(own, { ...UPDATE, total: 5, spent: 3 })).toMatchObject({
      used: 5,
      isTotal: true,
    })
    expect(serviceOf(withRealtime({}), UPDATE).isTotal).toBe(false)
  })

  it('are given back without being named', () => {
    const document = withRealtime({ refund_field: 'back', default_values: { default: 8 } })
    const { services, refund } = requestOf(document, { ...EVENT, want: undefined, back: 'yes' })
    expect(refund).toBe(true)
    expect(services[0]?.requested).toBe(-1)
  })
})

describe('a list of services', () => {
  const document = documentWith({
    processor: {
      rating_group_field: 'rg',
      called_number_field: 'to',
      usaget_mapping: [{ ...MAPPING, conditions: [{ src_field: 'kind', pattern: 'd' }] }],
    },
    realtime: { ...REALTIME, services_field: 'units.list' },
    rate_calculators: {
      retail: { data: [[{ type: 'match', rate_key: 'key', line_key: 'uf.apn' }]] },
    },
  })
  const withList = (list: unknown, more: Fields = {}) => ({
    ...UPDATE,
    kind: 'd',
    apn: 'outer',
    units: { list },
    ...more,
  })

  it('has entries that are read before the message', () => {
    const list = [
      { rg: 1, want: 5, apn: 'inner' },
      { rg: 2, spent: 6, to: '49' },
    ]
    const { request, echo } = mapped(document, withList(list, { want: 9 }))
    expect(request?.services).toMatchObject([
      { ratingGroup: 1, requested: 5, used: 0, calledNumber: '', fields: { apn: 'inner' } },
      { ratingGroup: 2, requested: 9, used: 6, calledNumber: '49', fields: null },
    ])
    expect(request?.fields).toEqual({ apn: 'outer' })
    expect(echo.entries).toEqual(list)
  })

  it('may be one record, or absent: then the message is the service', () => {
    expect(requestOf(document, withList({ rg: 5 })).services).toMatchObject([{ ratingGroup: 5 }])
    const alone = withList(undefined, { rg: 6 })
    const { request, echo } = mapped(document, alone)
    expect(request?.services).toMatchObject([{ ratingGroup: 6, fields: null }])
    expect(echo.entries).toEqual([alone])
    expect(requestOf(document, withList([])).services).toEqual([])
  })

  it('leaves out entries that are no service', () => {
    const list = [{ kind: 'x' }, { rg: 2 }]
    const { request, echo } = mapped(document, withList(list))
    expect(request?.services).toHaveLength(1)
    expect(echo.entries).toEqual([{ rg: 2 }])
  })

  it.each<[unknown, Fields, string]>([
    [[{ rg: 1 }, 5], {}, 'units.list.1 must be a record'],
    ['text', {}, 'units.list.0 must be a record'],
    [[1, 2, 3, 4, 5].map((rg) => ({ rg })), {}, 'units.list must have at most 4 services'],
    [[], { record_type: 1, sid: 1 }, 'units.list must have at least one service'],
    [[{ rg: 1 }, { rg: 'x' }], {}, 'units.list.1.rg must be a whole number from 0 to 4294967295'],
    [
      [{ rg: 1 }, { rg: 1 }],
      {},
      'units.list.1 repeats a service: its rating group and usage type are those of another',
    ],
    [[{ kind: 'x', spent: 1 }], {}, 'units.list.0 is of no usage type of the file type'],
    [[{ rg: 1, want: -1 }], {}, 'units.list.0.want must not be negative'],
    [[{ apn: 'x'.repeat(257) }], {}, 'units.list.0.apn must have at most 256 characters'],
  ])('%j is refused', (list, more, problem) => {
    expect(problemOf(document, withList(list, more))).toBe(problem)
  })
})

describe('a subscriber', () => {
  const rules = {
    customer_identification_fields: {
      data: [{ src_key: 'ids[type=1].value', target_key: 'imsi' }],
    },
  }
  const { sid, ...NOBODY } = START

  it('is named by a field, the first of those that there are', () => {
    const document = withRealtime({ subscriber_fields: { msisdn: 'from.number', imsi: 'imsi' } })
    const who = (message: Fields) => {
      const { subscriberKey, subscriberValue } = requestOf(document, { ...START, ...message })
      return [subscriberKey, subscriberValue]
    }
    expect(who({ from: { number: '+49' } })).toEqual(['msisdn', '+49'])
    expect(who({ from: { number: '+49' }, imsi: 262 })).toEqual(['msisdn', '+49'])
    expect(who({ imsi: 262 })).toEqual(['imsi', '262'])
    expect(problemOf(document, START)).toBe('from.number is required, or imsi in its place')
    const only = withRealtime({ subscriber_fields: { sid: 'who' } })
    expect(problemOf(only, START)).toBe('who is required')
    expect(requestOf(only, UPDATE).subscriberKey).toBe('none')
  })

  it('is found by the rules of the document, or of the installation', () => {
    const ids = [
      { type: 0, value: '49' },
      { type: 1, value: 26201 },
    ]
    const request = requestOf(documentWith(rules), { ...NOBODY, ids })
    expect(request.fields).toEqual({ 'ids[type=1].value': '26201' })
    expect(request.subscriberKey).toBe('none')
    expect(request.rules).toMatch(/^[0-9a-f]{64}$/)
    expect(problemOf(documentWith(rules), { ...NOBODY, ids: [] })).toBe(
      'ids[type=1].value is required, or sid or msisdn or imsi in its place',
    )
    const given = {
      ...DEFAULTS,
      rules: {
        rateCalculators: {},
        customerIdentification: { '*': [{ src_key: 'nai', target_key: 'nai' }] },
      },
    }
    const installed = requestOf(documentWith(), { ...NOBODY, nai: 'a' }, given)
    expect(installed).toMatchObject({ rules: '', fields: { nai: 'a' } })
    const missing = result(documentWith(), { ...NOBODY, nai: true }, CONTEXT, given)
    expect(missing).toMatchObject({ field: 'nai' })
  })

  it('may be found by a field of an entry', () => {
    const document = withRealtime({ services_field: 'list' }, rules)
    const list = [{ ids: { type: 1, value: 'x' } }]
    const request = requestOf(document, { ...NOBODY, list })
    expect(request.services[0]?.fields).toEqual({ 'ids[type=1].value': 'x' })
    expect(request.fields).toBeNull()
  })

  it('has rules whose key depends on their content, not on the order of keys', () => {
    const keyOf = (customer_identification_fields: unknown, rate_calculators?: unknown) =>
      compileFileType(documentWith({ customer_identification_fields, rate_calculators }), DEFAULTS)
    const one = keyOf({ data: [{ src_key: 'a', target_key: 'b' }] })
    expect(keyOf({ data: [{ target_key: 'b', src_key: 'a' }] }).rulesKey).toBe(one.rulesKey)
    expect(keyOf({ data: [{ target_key: 'b', src_key: 'c' }] }).rulesKey).not.toBe(one.rulesKey)
    const filters = [[{ type: 'match', rate_key: 'key', line_key: 'x' }]]
    const matching = keyOf(undefined, { retail: { data: filters } })
    expect(matching.rules).toEqual({
      rateCalculators: { retail: { data: filters } },
      customerIdentification: {},
    })
    expect(one.rules).toMatchObject({ rateCalculators: {} })
    expect(keyOf(undefined)).toMatchObject({ rulesKey: '', rules: null })
  })
})

describe('filters', () => {
  const filtered = (skip_calc: readonly string[], more: Fields = {}) =>
    withMapping(
      { called_number_field: 'to', rating_group_field: 'rg' },
      {
        filters: [{ conditions: [{ field_name: 'uf.to', op: '$eq', value: '112' }], skip_calc }],
        ...more,
      },
    )

  it.each([['all'], ['customer'], ['rate', 'tax'], ['pricing', 'unify']])(
    'that skip %s let the service pass, and nobody is charged',
    (...names) => {
      const { sid, want, ...start } = START
      const document = filtered(names)
      expect(mapped(document, { ...start, to: '112', want: 30 })).toMatchObject({
        request: null,
        skipped: [{ index: 0, ratingGroup: -1, usaget: 'data', granted: 30 }],
        echo: { sessionId: 's1' },
      })
      expect(mapped(document, { ...start, to: 112 }).skipped).toMatchObject([{ granted: 0 }])
      expect(problemOf(document, { ...start, to: '113' })).not.toBe('')
    },
  )

  it('of taxes leave them out; of what is not done here, nothing', () => {
    expect(serviceOf(filtered(['tax']), { ...START, to: 112 }).untaxed).toBe(true)
    expect(serviceOf(filtered(['tax', 'unify']), { ...START, to: 112 }).untaxed).toBe(true)
    expect(serviceOf(filtered(['tax']), START).untaxed).toBe(false)
    expect(serviceOf(filtered(['unify']), { ...START, to: 112 }).untaxed).toBe(false)
  })

  it('take services out of the list, which keep their place', () => {
    const document = filtered(['all'], { realtime: { ...REALTIME, services_field: 'list' } })
    const list = [{ rg: 1 }, { rg: 2, to: 112, want: 3 }, { rg: 3 }]
    const { request, skipped, echo } = mapped(document, { ...UPDATE, list })
    expect(request?.services.map(({ ratingGroup }) => ratingGroup)).toEqual([1, 3])
    expect(skipped).toEqual([{ index: 1, ratingGroup: 2, usaget: 'data', granted: 3 }])
    expect(echo.entries).toEqual(list)
  })

  it('hold in order, and know usage type and record type', () => {
    const filters = [
      { conditions: [{ field_name: 'record_type', value: 'start_request' }], skip_calc: ['unify'] },
      { conditions: [{ field_name: 'usaget', value: 'data' }], skip_calc: ['tax'] },
    ]
    expect(serviceOf(documentWith({ filters }), { ...START, record_type: 1 }).untaxed).toBe(false)
    expect(serviceOf(documentWith({ filters }), UPDATE).untaxed).toBe(true)
  })
})

describe('flags', () => {
  it.each<[unknown, boolean]>([
    [true, true],
    [1, true],
    ['1', true],
    ['YES', true],
    ['on', true],
    [false, false],
    [0, false],
    ['0', false],
    ['False', false],
    ['', false],
    [null, false],
  ])('%j is %s', (value, expected) => {
    const document = withRealtime({ pretend_field: 'opts.dry' })
    const { request, echo } = mapped(document, { ...START, opts: { dry: value } })
    expect([request?.pretend, echo.pretend]).toEqual([expected, expected])
  })

  it('tell whether balances are wanted, where the answer has them', () => {
    const fields = [{ response_field_name: 'b', row_field_name: 'balances' }]
    const wants = (realtime: Fields, response: unknown, message: Fields) =>
      requestOf(withRealtime(realtime, { response }), { ...START, ...message }).wantBalances
    expect(wants({}, { fields }, {})).toBe(true)
    expect(wants({ balances_field: 'q' }, { fields }, {})).toBe(false)
    expect(wants({ balances_field: 'q' }, { fields }, { q: 1 })).toBe(true)
    expect(wants({ balances_field: 'q' }, undefined, { q: 1 })).toBe(false)
  })

  it('of the document say whether requests may come by GET, and are taken at all', () => {
    const compiled = compileFileType(
      withRealtime({ allow_get: true }, { enabled: false }),
      DEFAULTS,
    )
    expect(compiled).toMatchObject({ allowsGet: true, isEnabled: false, name: 'T' })
    const plain = compileFileType(documentWith({ processor: PROCESSOR }), DEFAULTS)
    expect(plain).toMatchObject({ allowsGet: false, isEnabled: true })
  })
})

import { describe, expect, it } from 'vitest'
import {
  documentWith,
  type Fields,
  MAPPING,
  mapped,
  problemOf,
  REALTIME,
  requestOf,
  START,
  serviceOf,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'

const UPDATE = { record_type: 'update_request', session_id: 's1' }
const EVENT = { ...START, record_type: 'event_request' }

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

  it('is that of the first mapping that holds, or the default', () => {
    expect(usagetOf(usagets, { apn: 'free.net' })).toBe('free')
    expect(usagetOf(usagets, { apn: 'net' })).toBe('data')
    expect(usagetOf(usagets, { kind: 'c' })).toBe('call')
    expect(usagetOf({ ...usagets, default_usaget: 'x', default_volume_src: 'want' }, {})).toBe('x')
  })

  it('may be in the message, read after the mappings and before the default', () => {
    const open = { ...usagets, usaget_field: 'ut', default_usaget: 'x', default_volume_src: 'want' }
    expect(usagetOf(open, { ut: 'sms' })).toBe('sms')
    expect(usagetOf(open, { ut: 'sms', kind: 'c' })).toBe('call')
    expect(usagetOf(open, {})).toBe('x')
    expect(problemOf(documentWith({ processor: open }), { ...START, ut: 'a b' })).toBe(
      'ut must have 1 to 64 letters, digits, _ or -',
    )
  })

  it('is not needed to end a session, or if nothing was used', () => {
    const document = documentWith({ processor: usagets })
    expect(requestOf(document, UPDATE).services).toEqual([])
    const release = { ...UPDATE, record_type: 3, spent: '0' }
    expect(requestOf(document, release).services).toEqual([])
    expect(problemOf(document, { ...release, spent: '0.5' })).not.toBe('')
    expect(problemOf(document, START)).toBe('body is of no usage type of the file type')
  })
})

describe('volumes of a service', () => {
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

  it('of no field at all are 0, as in existing documents', () => {
    expect(serviceOf(withMapping({ volume_src: [] }), START).requested).toBe(0)
  })

  it('that are absent have the default value', () => {
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

  it('are requested only by updates with a certain field, if one is named', () => {
    const document = withRealtime({ requested_field: 'ask', default_values: { default: 8 } })
    const requested = (message: Fields) => serviceOf(document, message).requested
    expect(requested({ ...UPDATE, want: 5 })).toBe(-1)
    expect(requested({ ...UPDATE, ask: {} })).toBe(8)
    expect(requested({ ...UPDATE, ask: {}, want: 5 })).toBe(5)
    expect(requested({ ...START, want: undefined })).toBe(8)
  })

  it('used may be totals, by usage type', () => {
    const own = withRealtime({
      used_usagev_accumulative: false,
      data: { used_usagev_accumulative: true, used_usagev_field: 'total' },
    })
    expect(serviceOf(own, { ...UPDATE, total: 5, spent: 3 })).toMatchObject({
      used: 5,
      isTotal: true,
    })
    expect(serviceOf(own, { ...UPDATE, total: 0 })).toMatchObject({ used: 0, isTotal: true })
    // An absent report is not a total of 0.
    expect(serviceOf(own, UPDATE)).toMatchObject({ used: 0, isTotal: false })
    expect(serviceOf(withRealtime({}), UPDATE).isTotal).toBe(false)
    // An absent field is not 0, which would be below the previous total.
    expect(serviceOf(own, { ...UPDATE, total: 0 })).toMatchObject({ used: 0, isTotal: true })
    expect(serviceOf(own, { ...UPDATE })).toMatchObject({ used: 0, isTotal: false })
  })

  it('used may be configured for all usage types together', () => {
    const document = documentWith({ realtime: { general: { used_usagev_field: 'all' } } })
    expect(serviceOf(document, { ...UPDATE, all: 6 }).used).toBe(6)
  })

  it('of a refund need not be given', () => {
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

  it('has entries whose fields precede those of the message', () => {
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

  it('has its own used volumes: that of the message would count for each entry', () => {
    const list = [{ rg: 1, spent: 5 }, { rg: 2 }]
    expect(problemOf(document, withList(list, { spent: 7 }))).toBe(
      'units.list.1.spent must be in the service itself: it is one of several',
    )
    const own = withList([list[0], { rg: 2, spent: 0 }], { spent: 7 })
    expect(requestOf(document, own).services).toMatchObject([{ used: 5 }, { used: 0 }])
    expect(requestOf(document, withList([{ rg: 2 }], { spent: 7 })).services).toMatchObject([
      { used: 7 },
    ])
  })

  it('may be one record, or absent: then the message is the service', () => {
    expect(requestOf(document, withList({ rg: 5 })).services).toMatchObject([{ ratingGroup: 5 }])
    const alone = withList(undefined, { rg: 6, want: 4 })
    const { request, echo } = mapped(document, alone)
    expect(request?.services).toMatchObject([{ ratingGroup: 6, fields: null }])
    expect(echo.entries).toEqual([alone])
    expect(requestOf(document, withList([])).services).toEqual([])
    // No units are requested or reported.
    expect(requestOf(document, withList(undefined, { rg: 6 })).services).toEqual([])
  })

  it('omits entries that are not services', () => {
    const list = [{ kind: 'x' }, { rg: 2 }]
    const { request, echo } = mapped(document, withList(list))
    expect(request?.services).toHaveLength(1)
    expect(echo.entries).toEqual([{ rg: 2 }])
  })

  it.each<[unknown, Fields, string]>([
    [[{ rg: 1 }, 5], {}, 'units.list.1 must be a record'],
    ['text', {}, 'units.list.0 must be a record'],
    [
      [1, 2, 3, 4, 5].map((rg) => ({ rg })),
      {},
      'units.list.4 is beyond the 4 services that one request may have',
    ],
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
    [[{ apn: 'a\u0002b' }], {}, 'units.list.0.apn has control characters or half characters'],
  ])('%j is refused', (list, more, problem) => {
    expect(problemOf(document, withList(list, more))).toBe(problem)
  })
})

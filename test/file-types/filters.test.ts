import { describe, expect, it } from 'vitest'
import { compileFileType } from '../../src/file-types/compile.ts'
import {
  DEFAULTS,
  documentWith,
  type Fields,
  mapped,
  PROCESSOR,
  problemOf,
  REALTIME,
  requestOf,
  START,
  serviceOf,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'

const UPDATE = { record_type: 'update_request', session_id: 's1' }

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
    'that skip %s grant the service without charging anyone',
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

  it('that skip taxes make a service untaxed; steps that do not exist here change nothing', () => {
    expect(serviceOf(filtered(['tax']), { ...START, to: 112 }).untaxed).toBe(true)
    expect(serviceOf(filtered(['tax', 'unify']), { ...START, to: 112 }).untaxed).toBe(true)
    expect(serviceOf(filtered(['tax']), START).untaxed).toBe(false)
    expect(serviceOf(filtered(['unify']), { ...START, to: 112 }).untaxed).toBe(false)
  })

  it('remove services from the list, which keep their positions', () => {
    const document = filtered(['all'], { realtime: { ...REALTIME, services_field: 'list' } })
    const list = [{ rg: 1 }, { rg: 2, to: 112, want: 3 }, { rg: 3 }]
    const { request, skipped, echo } = mapped(document, { ...UPDATE, list })
    expect(request?.services.map(({ ratingGroup }) => ratingGroup)).toEqual([1, 3])
    expect(skipped).toMatchObject([
      { index: 1, ratingGroup: 2, usaget: 'data', granted: 3, problem: null },
    ])
    expect(echo.entries).toEqual(list)
  })

  it('keep the session: it continues, ends, and starts where other services may follow', () => {
    const { sid, ...anonymous } = START
    const skipped = { to: 112, want: 3 }
    const requestFor = (document: Fields, message: Fields) => mapped(document, message).request
    const single = filtered(['all'])
    const list = filtered(['all'], { realtime: { ...REALTIME, services_field: 'list' } })
    for (const kind of ['update', 'release']) {
      const message = { ...UPDATE, record_type: `${kind}_request`, request_num: 4 }
      const whole = { kind, sessionId: 's1', requestNumber: 4, services: [] }
      expect(requestFor(single, { ...message, ...skipped })).toMatchObject(whole)
      expect(requestFor(list, { ...message, list: [skipped] })).toMatchObject(whole)
    }
    const begun = { kind: 'start', subscriberKey: 'sid', subscriberValue: '7', services: [] }
    expect(requestFor(list, { ...START, list: [skipped] })).toMatchObject(begun)
    // There is no subscriber to charge for later services.
    expect(requestFor(list, { ...anonymous, list: [skipped] })).toBeNull()
    expect(requestFor(single, { ...START, ...skipped })).toBeNull()
    expect(requestFor(list, { ...START, record_type: 4, list: [skipped] })).toBeNull()
  })

  it('apply in order, and can test usage type and record type', () => {
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

  it('request balances; without a field the document decides', () => {
    const fields = [{ response_field_name: 'b', row_field_name: 'balances' }]
    const wants = (realtime: Fields, response: unknown, message: Fields) =>
      requestOf(withRealtime(realtime, { response }), { ...START, ...message }).wantBalances
    expect(wants({}, { fields }, {})).toBe(true)
    expect(wants({ balances_field: 'q' }, { fields }, {})).toBe(false)
    expect(wants({ balances_field: 'q' }, { fields }, { q: 1 })).toBe(true)
    expect(wants({}, undefined, {})).toBe(false)
    expect(wants({ balances_field: 'q' }, undefined, { q: 1 })).toBe(true)
  })

  it('of the document decide whether GET is allowed and the file type is enabled', () => {
    const compiled = compileFileType(
      withRealtime({ allow_get: true }, { enabled: false }),
      DEFAULTS,
    )
    expect(compiled).toMatchObject({ allowsGet: true, isEnabled: false, name: 'T' })
    const plain = compileFileType(documentWith({ processor: PROCESSOR }), DEFAULTS)
    expect(plain).toMatchObject({ allowsGet: false, isEnabled: true })
  })
})

import { describe, expect, it } from 'vitest'
import { compileFileType } from '../../src/file-types/compile.ts'
import {
  CONTEXT,
  DEFAULTS,
  documentWith,
  type Fields,
  problemOf,
  requestOf,
  result,
  START,
  withRealtime,
} from '../support/file-types/sample.ts'

const UPDATE = { record_type: 'update_request', session_id: 's1' }

describe('a subscriber', () => {
  const rules = {
    customer_identification_fields: {
      data: [{ src_key: 'ids[type=1].value', target_key: 'imsi' }],
    },
  }
  const { sid, ...ANONYMOUS } = START

  it('is named by a field, the first one present', () => {
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
    const request = requestOf(documentWith(rules), { ...ANONYMOUS, ids })
    expect(request.fields).toEqual({ 'ids[type=1].value': '26201' })
    expect(request.subscriberKey).toBe('none')
    expect(request.rules).toMatch(/^[0-9a-f]{64}$/)
    expect(problemOf(documentWith(rules), { ...ANONYMOUS, ids: [] })).toBe(
      'ids[type=1].value is required, or sid or msisdn or imsi in its place',
    )
    const many = ['ids[type=0].value', 'ids[type=2].value', 'ids[nai].nai', 'who.sid', 'who.imsi']
    const rule = (src_key: string) => ({ src_key, target_key: 'imsi' })
    const alike = { customer_identification_fields: { '*': many.map(rule) } }
    const noNames = withRealtime({ subscriber_fields: {} }, alike)
    expect(problemOf(noNames, { ...ANONYMOUS, ids: [] })).toBe(
      'ids is required, or who in its place',
    )
    const given = {
      ...DEFAULTS,
      rules: {
        rateCalculators: {},
        customerIdentification: { '*': [{ src_key: 'nai', target_key: 'nai' }] },
      },
    }
    const installed = requestOf(documentWith(), { ...ANONYMOUS, nai: 'a' }, given)
    expect(installed).toMatchObject({ rules: '', fields: { nai: 'a' } })
    const missing = result(documentWith(), { ...ANONYMOUS, nai: true }, CONTEXT, given)
    expect(missing).toMatchObject({ field: 'nai' })
  })

  it('is not looked up by a number that has lost digits', () => {
    const sent = (text: string) => ({
      ...ANONYMOUS,
      ids: JSON.parse(`{"type": 1, "value": ${text}}`),
    })
    expect(problemOf(documentWith(rules), sent('8949000000000000012'))).toBe(
      'ids[type=1].value is too large for a number: it must be a text',
    )
    for (const text of ['"8949000000000000012"', '262011234567890', '1.5']) {
      const value = JSON.parse(text)
      expect(requestOf(documentWith(rules), sent(text)).fields).toEqual({
        'ids[type=1].value': String(value),
      })
    }
  })

  it('may be found by a field of an entry', () => {
    const document = withRealtime({ services_field: 'list' }, rules)
    const list = [{ ids: { type: 1, value: 'x' } }]
    const request = requestOf(document, { ...ANONYMOUS, list })
    expect(request.services[0]?.fields).toEqual({ 'ids[type=1].value': 'x' })
    expect(request.fields).toBeNull()
  })

  it('has rules whose key depends on their content, not on the order of keys', () => {
    const keyOf = (customer_identification_fields: unknown, rate_calculators?: unknown) =>
      compileFileType(documentWith({ customer_identification_fields, rate_calculators }), DEFAULTS)
    const one = keyOf({ data: [{ src_key: 'a', target_key: 'b' }] })
    expect(keyOf({ data: [{ target_key: 'b', src_key: 'a' }] }).rulesKey).toBe(one.rulesKey)
    expect(keyOf({ data: [{ target_key: 'b', src_key: 'c' }] }).rulesKey).not.toBe(one.rulesKey)
    const unset = { src_key: 'a', target_key: 'b', clear_regex: undefined }
    expect(keyOf({ data: [unset] }).rulesKey).toBe(one.rulesKey)
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

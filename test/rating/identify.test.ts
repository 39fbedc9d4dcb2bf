import { describe, expect, it } from 'vitest'
import { FieldError } from '../../src/domain/fields.ts'
import {
  compileIdentification,
  normalizeNumber,
  subscriberLookups,
} from '../../src/rating/identify.ts'
import { requestOf } from '../support/domain/requests.ts'
import { readTable } from '../support/domain/table.ts'

const ALWAYS = [{ field: 'usaget', regex: '/.*/' }]

function candidatesOf(
  rules: unknown,
  fields: Readonly<Record<string, string>>,
  usaget = 'data',
): readonly string[] {
  const identification = compileIdentification(rules, '49')
  const found = identification.candidates(usaget, (name) => fields[name])
  return found.map(({ key, value }) => `${key}=${value}`)
}

describe('the lookups of a request', () => {
  const IMSI = { src_key: 'imsi', target_key: 'imsi', conditions: ALWAYS, clear_regex: '//' }
  const MSISDN = { src_key: 'uf.from', target_key: 'msisdn' }

  it('follow the rules in order; a rule whose field is absent or empty is skipped', () => {
    const rules = { data: [IMSI, MSISDN, { src_key: 'nai', target_key: 'login' }] }
    const all = { imsi: '26201', from: '030123', nai: 'a@b' }
    expect(candidatesOf(rules, all)).toEqual(['imsi=26201', 'msisdn=4930123', 'login=a@b'])
    expect(candidatesOf(rules, { from: '030123', nai: '' })).toEqual(['msisdn=4930123'])
    expect(candidatesOf(rules, {})).toEqual([])
  })

  it('are those of the usage type, or of * if it has none', () => {
    const rules = { data: [IMSI], '*': [MSISDN] }
    const fields = { imsi: '26201', from: '030123' }
    expect(candidatesOf(rules, fields, 'data')).toEqual(['imsi=26201'])
    expect(candidatesOf(rules, fields, 'call')).toEqual(['msisdn=4930123'])
    const identification = compileIdentification({ data: [IMSI] })
    expect(identification.covers('data')).toBe(true)
    expect(identification.covers('call')).toBe(false)
    expect(candidatesOf({ data: [IMSI] }, fields, 'call')).toEqual([])
  })

  it('depend on conditions that must all be met', () => {
    const conditions = [
      { field: 'usaget', regex: '/^sms|call$/' },
      { field: 'uf.apn', regex: '^net' },
    ]
    const rules = { '*': [{ ...IMSI, conditions }] }
    expect(candidatesOf(rules, { imsi: '1', apn: 'net.x' }, 'call')).toEqual(['imsi=1'])
    expect(candidatesOf(rules, { imsi: '1', apn: 'net.x' }, 'data')).toEqual([])
    expect(candidatesOf(rules, { imsi: '1' }, 'call')).toEqual([])
  })

  it('remove what the expression matches and change nothing more', () => {
    const cleared = { ...MSISDN, clear_regex: '/^tel:|;.*$/' }
    expect(candidatesOf({ data: [cleared] }, { from: 'tel:0301;x=1' })).toEqual(['msisdn=0301'])
    expect(candidatesOf({ data: [{ ...MSISDN, clear_regex: '/.*/' }] }, { from: '1' })).toEqual([])
  })

  it('read a sid as an integer', () => {
    const rules = { data: [{ src_key: 'user', target_key: 'sid' }] }
    expect(candidatesOf(rules, { user: '0042' })).toEqual(['sid=42'])
    for (const user of ['4x', '-1', '1.5', '99999999999999999']) {
      expect(candidatesOf(rules, { user })).toEqual([])
    }
  })

  it('are made once each', () => {
    const rules = { data: [MSISDN, { ...MSISDN, src_key: 'to' }] }
    expect(candidatesOf(rules, { from: '0301', to: '+49301' })).toEqual(['msisdn=49301'])
  })

  it('need the fields that rules and conditions name', () => {
    const conditions = [...ALWAYS, { field: 'uf.apn', regex: 'x' }]
    const rules = { data: [{ ...IMSI, conditions }], '*': [MSISDN] }
    expect(compileIdentification(rules).fieldsNeeded()).toEqual(['apn', 'from', 'imsi'])
  })
})

it('an international msisdn of a request is looked up without the plus sign first', () => {
  const valuesOf = (subscriberKey: 'msisdn' | 'imsi', subscriberValue: string) => {
    const request = requestOf({ subscriberKey, subscriberValue, services: [] })
    return subscriberLookups(request, compileIdentification({})).map(({ value }) => value)
  }
  expect(valuesOf('msisdn', '+4930123')).toEqual(['4930123', '+4930123'])
  expect(valuesOf('msisdn', '4930123')).toEqual(['4930123'])
  expect(valuesOf('imsi', '+26201')).toEqual(['+26201'])
})

describe('a number', () => {
  const NUMBERS = readTable(`
    | number         | prefix | normal         |
    |----------------|--------|----------------|
    | 030123         | 49     | 4930123        |
    | 30123          | 49     | 4930123        |
    | 4930123        | 49     | 4930123        |
    | 004930123      | 49     | 4930123        |
    | +4930123       | 49     | 4930123        |
    | +33123         | 49     | 33123          |
    | 0033123        | 49     | 33123          |
    | 123456789012   | 49     | 49123456789012 |
    | 1234567890123  | 49     | 1234567890123  |
    | 030123         |        | 30123          |
    | 000            | 49     |                |
  `)
  it.each(NUMBERS)('$number with prefix "$prefix" is "$normal"', (row) => {
    expect(normalizeNumber(row['number']!, row['prefix']!)).toBe(row['normal'])
  })
})

describe('an invalid rule', () => {
  const rule = { src_key: 'a', target_key: 'imsi' }
  it.each<[unknown, string]>([
    [[], 'rules must be an object'],
    [{ data: {} }, 'rules.data must be a list'],
    [{ 'a b': [] }, 'rules.a b must be letters'],
    [{ data: [{ target_key: 'imsi' }] }, 'rules.data.0.src_key is missing'],
    [{ data: [{ ...rule, target_key: '$where' }] }, 'rules.data.0.target_key must be the name'],
    [{ data: [{ ...rule, clear: '/x/' }] }, 'rules.data.0.clear is not known'],
    [{ data: [{ ...rule, clear_regex: '/(/' }] }, 'rules.data.0.clear_regex is not a regular'],
    [{ data: [{ ...rule, conditions: [{ field: 'x' }] }] }, 'conditions.0.regex must be'],
  ])('%j', (document, problem) => {
    const compile = () => compileIdentification(document, '', 'rules')
    expect(compile).toThrow(FieldError)
    expect(compile).toThrow(problem)
  })
})

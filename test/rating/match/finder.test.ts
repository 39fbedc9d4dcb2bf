import { describe, expect, it } from 'vitest'
import type { RateRevision } from '../../../src/domain/catalogue.ts'
import { readTable } from '../../support/domain/table.ts'
import { finderOf, rateWith, retailCalls, usageWith } from '../../support/rating/match/rates.ts'

const prefix = (rate: string, line: string) => ({
  type: 'longestPrefix',
  rate_key: `params.${rate}`,
  line_key: line,
})
const match = (rate: string, line: string) => ({ ...prefix(rate, line), type: 'match' })

/** The key of the retail rate of a call with these fields, or undefined. */
function found(
  priorities: readonly (readonly unknown[])[],
  rates: readonly RateRevision[],
  fields: Readonly<Record<string, string>>,
  atMs = 5,
): string {
  const finder = finderOf(retailCalls(...priorities), rates)
  return finder.find('retail', usageWith(fields), atMs)?.key ?? 'none'
}

describe('published rating cases', () => {
  const PHONE_AND_CODE = [prefix('phone', 'phone'), prefix('code', 'uf.code')]

  it('two prefixes: the first filter dominates', () => {
    const rates = [
      rateWith('A', { phone: ['972'], code: ['1'] }),
      rateWith('B', { phone: ['97'], code: ['1234'] }),
    ]
    expect(found([PHONE_AND_CODE], rates, { phone: '9725123456', code: '1234' })).toBe('A')
    const turned = [...PHONE_AND_CODE].reverse()
    expect(found([turned], rates, { phone: '9725123456', code: '1234' })).toBe('B')
  })

  it('three rates and two prefixes: all filters must hold', () => {
    const rates = [
      rateWith('SMS_A', { phone: ['1'], code: ['56'] }),
      rateWith('SMS_B', { phone: ['12'], code: ['5'] }),
      rateWith('SMS_C', { phone: ['123'], code: ['8'] }),
    ]
    expect(found([PHONE_AND_CODE], rates, { phone: '123456', code: '56789' })).toBe('SMS_B')
  })

  it('the same first prefix: the longer second one, then the lowest key', () => {
    const rates = [
      rateWith('A', { phone: ['12'], code: ['5'] }),
      rateWith('C', { phone: ['12'], code: ['5', '56'] }),
      rateWith('B', { phone: ['12'], code: ['56'] }),
    ]
    expect(found([PHONE_AND_CODE], rates, { phone: '123', code: '567' })).toBe('B')
  })

  it('an expired rate is not found and does not hide a shorter valid prefix', () => {
    const expired = rateWith('OLD', { prefix: ['0330', '4567'] }, { toMs: 5 })
    const rates = [expired, rateWith('NEW', { prefix: ['033'] })]
    const priority = [prefix('prefix', 'code')]
    expect(found([priority], rates, { code: '456789' })).toBe('none')
    expect(found([priority], rates, { code: '033060985' })).toBe('NEW')
    expect(found([priority], rates, { code: '033060985' }, 4)).toBe('OLD')
  })

  const CONDITIONS = readTable(`
    | operator | a | b | rate |
    |----------|---|---|------|
    | $eq      | 1 | 1 | R    |
    | $eq      | 2 | 1 | none |
    | $eq      | 1 | 2 | none |
    | $lte     | 1 | 2 | R    |
    | $lte     | 1 | 1 | R    |
    | $lte     | 2 | 1 | none |
    | $gt      | 2 | 1 | R    |
    | $gt      | 1 | 2 | none |
    | $gt      | 1 | 1 | none |
    | $gte     | 2 | 1 | R    |
    | $gte     | 1 | 1 | R    |
    | $gte     | 1 | 2 | none |
  `)
  it.each(CONDITIONS)('a $operator b with $a and $b: $rate', ({ operator, a, b, rate }) => {
    const computed = {
      type: 'condition',
      line_keys: [{ key: 'a' }, { key: 'b' }],
      operator,
      must_met: true,
      projection: { on_true: { key: 'rate' }, on_false: { key: 'hard_coded', value: 'NONE' } },
    }
    const filter = { type: 'match', rate_key: 'key', line_key: 'computed', computed }
    expect(found([[filter]], [rateWith('R')], { a: a!, b: b!, rate: 'R' })).toBe(rate)
  })

  it('wholesale beside retail, each by its own field', () => {
    const by = (line: string) => [[{ type: 'match', rate_key: 'key', line_key: line }]]
    const calculators = { retail: { call: by('retail') }, wholesale: { call: by('wholesale') } }
    const rates = [rateWith('CALL'), rateWith('CALL_WHOLESALE', {}, { category: 'wholesale' })]
    const finder = finderOf(calculators, rates)
    const usage = usageWith({ retail: 'CALL', wholesale: 'CALL_WHOLESALE' })
    expect(finder.otherCategories('call')).toEqual(['wholesale'])
    expect(finder.find('retail', usage, 5)?.key).toBe('CALL')
    expect(finder.find('wholesale', usage, 5)?.key).toBe('CALL_WHOLESALE')
    const turned = usageWith({ retail: 'CALL_WHOLESALE', wholesale: 'CALL' })
    expect(finder.find('retail', turned, 5)).toBeNull()
    expect(finder.find('wholesale', turned, 5)).toBeNull()
  })
})

describe('filters', () => {
  const range = (line: string) => ({ type: 'range', rate_key: 'params.zone', line_key: line })
  const ZONES = [
    rateWith('LOW', { zone: [{ from: 1, to: 5 }] }),
    rateWith('HIGH', {
      zone: [
        { from: '30', to: '40' },
        { from: 6, to: 6 },
      ],
    }),
  ]
  it.each([
    ['1', 'LOW'],
    ['5', 'LOW'],
    ['6', 'HIGH'],
    ['7', 'none'],
    ['35', 'HIGH'],
    ['', 'none'],
  ])('range: %s is in %s, both ends included', (zone, key) => {
    expect(found([[range('zone')]], ZONES, { zone })).toBe(key)
  })

  it('match: one value of a list, text or number; no match if the field is absent', () => {
    const rates = [rateWith('A', { apn: ['net', 7] }), rateWith('B')]
    expect(found([[match('apn', 'apn')]], rates, { apn: 'net' })).toBe('A')
    expect(found([[match('apn', 'apn')]], rates, { apn: '7' })).toBe('A')
    expect(found([[match('apn', 'apn')]], rates, {})).toBe('none')
  })

  it('equalFalse: any value except the given one, also if the field is absent', () => {
    const filter = { type: 'equalFalse', rate_key: 'params.zone', line_key: 'zone' }
    const rates = [rateWith('A', { zone: 'x' }), rateWith('B', { zone: 'y' }), rateWith('C')]
    expect(found([[filter]], rates, { zone: 'x' })).toBe('B')
    expect(found([[filter]], rates.toReversed(), { zone: 'y' })).toBe('A')
    expect(found([[filter]], rates.slice(2), { zone: 'y' })).toBe('C')
  })

  it('regex: the expression of the rate on the value; an invalid one matches nothing', () => {
    const filter = { type: 'regex', rate_key: 'params.pattern', line_key: 'apn' }
    const rates = [
      rateWith('BROKEN', { pattern: '(' }),
      rateWith('INTERNET', { pattern: ['/^NET/i', '^web$'] }),
    ]
    expect(found([[filter]], rates, { apn: 'net.operator' })).toBe('INTERNET')
    expect(found([[filter]], rates, { apn: 'web' })).toBe('INTERNET')
    expect(found([[filter]], rates, { apn: 'web2' })).toBe('none')
  })

  it('of one priority must all hold, and the first priority with a rate wins', () => {
    const rates = [
      rateWith('A', { apn: 'net', prefix: ['49'] }),
      rateWith('B', { apn: 'web', prefix: ['4915'] }),
      rateWith('Z', { prefix: ['4'] }),
    ]
    const priorities = [[match('apn', 'apn'), prefix('prefix', 'to')], [prefix('prefix', 'to')]]
    expect(found(priorities, rates, { apn: 'net', to: '49151' })).toBe('A')
    expect(found(priorities, rates, { apn: 'web', to: '49151' })).toBe('B')
    expect(found(priorities, rates, { apn: 'web', to: '4917' })).toBe('A')
    expect(found(priorities, rates, { apn: 'net', to: '47' })).toBe('Z')
  })

  it('without a prefix find the lowest key, in any order of rates', () => {
    const any = [{ type: 'match', rate_key: 'usaget', line_key: 'usaget' }]
    const rates = ['C', 'A', 'B'].map((key) => rateWith(key))
    expect(found([any], rates, {})).toBe('A')
  })

  it('prefixes that are not digits, or are longer than a number', () => {
    const long = '262011234567890123'
    const rates = [
      rateWith('WORD', { prefix: ['net.', 'ne'] }),
      rateWith('LONG', { prefix: [long] }),
      rateWith('SHORT', { prefix: ['262'] }),
    ]
    const priority = [prefix('prefix', 'to')]
    expect(found([priority], rates, { to: 'net.operator' })).toBe('WORD')
    expect(found([priority], rates, { to: `${long}9` })).toBe('LONG')
    expect(found([priority], rates, { to: long.slice(0, -1) })).toBe('SHORT')
    expect(found([priority], rates, { to: 'n' })).toBe('none')
  })
})

describe('the candidates of a search', () => {
  const any = retailCalls([{ type: 'match', rate_key: 'usaget', line_key: 'usaget' }])

  it('are rates with the usage type, and with the play of the subscriber or no play', () => {
    const finder = finderOf(any, [
      rateWith('A', {}, { usagets: ['sms'] }),
      rateWith('B', {}, { play: 'TV' }),
      rateWith('C'),
    ])
    expect(finder.find('retail', usageWith(), 5)?.key).toBe('C')
    expect(finder.find('retail', usageWith({}, { play: 'TV' }), 5)?.key).toBe('B')
  })

  it('follow rules for * if a usage type has no rules of its own, in the older form too', () => {
    const finder = finderOf(
      { retail: { '*': [[match('apn', 'apn')]], sms: [[match('smsc', 'smsc')]] } },
      [rateWith('A', { apn: 'x', smsc: 'y' }, { usagets: ['call', 'sms'] })],
    )
    expect(finder.find('retail', usageWith({ apn: 'x' }), 5)?.key).toBe('A')
    const sms = { usaget: 'sms' }
    expect(finder.find('retail', usageWith({ apn: 'x' }, sms), 5)).toBeNull()
    expect(finder.find('retail', usageWith({ smsc: 'y' }, sms), 5)?.key).toBe('A')
    expect(finder.otherCategories('data')).toEqual([])
    expect(finder.find('wholesale', usageWith(), 5)).toBeNull()
  })

  it('are found by default by the key, the called number, then the key again: retail only', () => {
    const keys = ['{USAGET}_{rating_group}', '{called_number}', '{USAGET}']
    const rates = [
      rateWith('CALL_7'),
      rateWith('CALL'),
      rateWith('GERMANY', { prefix: ['49', '0049'] }),
      rateWith('MOBILE', { prefix: ['4915'] }, { usagets: ['call', 'sms'] }),
      rateWith('TRANSIT', { prefix: ['49151'] }, { category: 'wholesale' }),
      rateWith('SMS', {}, { usagets: ['sms'], category: 'wholesale' }),
    ]
    const finder = finderOf({}, rates, keys)
    const keyOf = (more: object) => finder.find('retail', usageWith({}, more), 5)?.key ?? 'none'
    expect(keyOf({ ratingGroup: 7, calledNumber: '49151' })).toBe('CALL_7')
    expect(keyOf({ ratingGroup: 8, calledNumber: '491512' })).toBe('MOBILE')
    expect(keyOf({ calledNumber: '4930' })).toBe('GERMANY')
    expect(keyOf({ calledNumber: '33' })).toBe('CALL')
    expect(keyOf({})).toBe('CALL')
    expect(keyOf({ usaget: 'sms', calledNumber: '4915' })).toBe('MOBILE')
    expect(keyOf({ usaget: 'sms', calledNumber: '4930' })).toBe('none')
  })
})

describe('a change of the catalogue', () => {
  const calculators = retailCalls([prefix('prefix', 'to')], [match('apn', 'apn')])

  it('is applied by key: new, changed and removed rates', () => {
    const finder = finderOf(calculators, [rateWith('A', { prefix: ['49', 'net'], apn: 'x' })])
    const keyAt = (to: string, atMs = 5) =>
      finder.find('retail', usageWith({ to, apn: 'x' }), atMs)?.id ?? 'none'
    finder.update([{ key: 'B', revisions: [rateWith('B', { prefix: ['491', '49'] })] }])
    expect([keyAt('491'), keyAt('490'), keyAt('net'), keyAt('-')]).toEqual([
      'B@0',
      'A@0',
      'A@0',
      'A@0',
    ])
    const parts = [
      rateWith('A', { prefix: ['49123'] }, { toMs: 10 }),
      rateWith('A', { prefix: ['49'] }, { fromMs: 10 }),
    ]
    finder.update([{ key: 'A', revisions: parts }])
    expect([keyAt('49123'), keyAt('490'), keyAt('net'), keyAt('490', 10)]).toEqual([
      'A@0',
      'B@0',
      'none',
      'A@10',
    ])
    finder.update([{ key: 'A', revisions: [] }])
    expect([keyAt('49123'), keyAt('490', 10), keyAt('-')]).toEqual(['B@0', 'B@0', 'none'])
  })
})

import { describe, expect, it } from 'vitest'
import { FieldError } from '../../../src/domain/fields.ts'
import { compileCalculators } from '../../../src/rating/match/calculators.ts'
import { finderOf, rateWith, retailCalls, usageWith } from '../../support/rating/match/rates.ts'

const BY_KEY = { type: 'match', rate_key: 'key', line_key: 'rate' }

function problemOf(document: unknown): string {
  try {
    compileCalculators(document, 'rules')
  } catch (error) {
    if (error instanceof FieldError) return error.message
    throw error
  }
  throw new Error('the rules were accepted')
}

/**
 * The value computed by a filter on the key: the key of the rate found, where every key has a rate.
 */
function computes(
  filter: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, string>>,
  options: { atMs?: number; timeZone?: string; keys: readonly string[] },
): string {
  const { atMs = 5, timeZone = 'UTC', keys } = options
  const calculators = retailCalls([{ type: 'match', rate_key: 'key', ...filter }])
  const finder = finderOf(
    calculators,
    keys.map((key) => rateWith(key)),
  )
  return finder.find('retail', usageWith(fields, { timeZone }), atMs)?.key ?? 'none'
}

describe('rules that cannot be used', () => {
  const priority = 'rules.retail.call.priorities.0.filters.0'
  const condition = { type: 'condition', operator: '$eq', line_keys: [{ key: 'a' }, { key: 'b' }] }
  const computed = (more: object) => ({ ...BY_KEY, line_key: 'computed', computed: more })
  it.each<[object, string]>([
    [{ ...BY_KEY, type: 'prefix' }, '.type must be one of match, equalFalse, longestPrefix, range'],
    [{ ...BY_KEY, rate_key: undefined }, '.rate_key is missing'],
    [{ ...BY_KEY, line_key: '' }, '.line_key must be a text that is not empty'],
    [{ ...BY_KEY, lineKey: 'a' }, '.lineKey is not known'],
    [{ ...BY_KEY, computed: condition }, ".computed needs line_key 'computed'"],
    [{ ...BY_KEY, preFunction: 'year' }, '.preFunction must be one of minute_of_hour'],
    [{ ...BY_KEY, rate_key: 'usaget', type: 'longestPrefix' }, ".rate_key 'usaget' cannot be"],
    [computed([]), '.computed must be an object'],
    [computed({ ...condition, type: 'script' }), '.computed.type must be one of regex, condition'],
    [computed({ ...condition, operator: '$near' }), '.computed.operator must be one of $eq, $ne'],
    [computed({ ...condition, line_keys: [] }), '.computed.line_keys.0 is missing'],
    [computed({ ...condition, line_keys: [{ key: 'a' }] }), '.computed.line_keys.1 is missing'],
    [computed({ ...condition, must_met: 'yes' }), '.computed.must_met must be true or false'],
    [computed({ ...condition, projection: { on_tru: {} } }), '.computed.projection.on_tru is not'],
    [
      computed({ line_keys: [{ key: 'a', regex: '/(/' }] }),
      '.computed.line_keys.0.regex is not a regular expression',
    ],
    [
      computed({ ...condition, operator: '$regex', line_keys: [{ key: 'a' }, { key: '/a/x' }] }),
      '.computed.line_keys.1.key has unknown flags: x',
    ],
  ])('%j', (filter, problem) => {
    expect(problemOf(retailCalls([filter]))).toContain(`${priority}${problem}`)
  })

  it.each<[unknown, string]>([
    [[], 'rules must be an object'],
    [{ retail: { call: {} } }, 'rules.retail.call.priorities is missing'],
    [{ retail: { call: { priorities: [{ filters: [] }] } } }, 'filters must have at least one'],
    [{ retail: { call: [[BY_KEY], 'x'] } }, 'rules.retail.call.1 must be a list'],
    [{ retail: { 'a b': [] } }, 'rules.retail.a b must be letters, digits'],
    [{ 'whole sale': {} }, 'rules.whole sale must be letters, digits'],
  ])('%j', (document, problem) => {
    expect(problemOf(document)).toContain(problem)
  })

  it('are reported with path and reason', () => {
    const error = new FieldError('a.b', 'is missing')
    expect([error.path, error.reason, error.message]).toEqual([
      'a.b',
      'is missing',
      'a.b is missing',
    ])
  })
})

describe('the fields that rules read', () => {
  it('are those of the request, under their names there', () => {
    const computed = {
      type: 'condition',
      operator: '$eq',
      line_keys: [{ key: 'uf.a.b' }, { key: 'called_number' }],
      projection: { on_true: { key: 'cf.c' }, on_false: { key: 'hard_coded', value: 'd' } },
    }
    const filters = [BY_KEY, { ...BY_KEY, line_key: 'computed', computed }]
    const more = [{ ...BY_KEY, line_key: 'urt', preFunction: 'hour_of_day' }]
    expect(compileCalculators(retailCalls(filters, more)).fieldsNeeded()).toEqual([
      'a.b',
      'c',
      'rate',
    ])
  })

  it('exclude those that every usage has; uf. reads the request first', () => {
    const keys = ['4930', 'own', 'PLAN']
    const number = (line: string, fields: Record<string, string>) => {
      const rules = retailCalls([{ type: 'match', rate_key: 'key', line_key: line }])
      const finder = finderOf(
        rules,
        keys.map((key) => rateWith(key)),
      )
      return finder.find('retail', usageWith(fields, { calledNumber: '4930' }), 5)?.key
    }
    expect(number('called_number', { called_number: 'own' })).toBe('4930')
    expect(number('uf.called_number', { called_number: 'own' })).toBe('own')
    expect(number('uf.called_number', {})).toBe('4930')
    expect(number('plan', {})).toBe('PLAN')
  })
})

describe('a computed value', () => {
  const keys = ['true', 'false', 'MMS', 'A', 'B']
  const filter = (computed: object) => ({ line_key: 'computed', computed })

  it('is a field without the matches of its expression', () => {
    const rule = filter({ type: 'regex', line_keys: [{ key: 'rate', regex: '/123/' }] })
    expect(computes(rule, { rate: '123MMS' }, { keys })).toBe('MMS')
    expect(computes(rule, { rate: 'MMS' }, { keys })).toBe('MMS')
  })

  it.each<[string, string, string, boolean]>([
    ['$eq', '7', '7.0', true],
    ['$eq', '12345678901234567', '12345678901234568', false],
    ['$ne', 'a', 'b', true],
    ['$lt', '9', '10', true],
    ['$lt', '9a', '10a', false],
    ['$lte', '', '1', false],
    ['$gt', '12345678901234568', '12345678901234567', true],
    ['$gte', 'b', 'a', true],
    ['$in', 'b', 'a, b', true],
    ['$in', 'c', 'a,b', false],
    ['$nin', 'c', 'a,b', true],
    ['$isTrue', '1', '', true],
    ['$isTrue', 'false', '', false],
    ['$isFalse', '0', '', true],
    ['$isFalse', 'yes', '', false],
  ])('%s of %s and %s is %s', (operator, a, b, result) => {
    const projection = {
      on_true: { key: 'condition_result' },
      on_false: { key: 'condition_result' },
    }
    const line_keys = [{ key: 'a' }, { key: 'b' }]
    const rule = filter({ type: 'condition', operator, line_keys, projection })
    expect(computes(rule, { a, b }, { keys })).toBe(String(result))
  })

  it.each<[string, object[], Record<string, string>, string]>([
    ['$regex', [{ key: 'a' }, { key: '/^4/' }], { a: '49' }, 'A'],
    ['$regex', [{ key: 'a' }, { key: '^4' }], { a: '94' }, 'B'],
    ['$regex', [{ key: 'a' }, { key: '//' }], { a: '94' }, 'A'],
    ['$regex', [{ key: 'a' }], { a: '94' }, 'A'],
    ['$exists', [{ key: 'd.m' }], { 'd.m': '' }, 'A'],
    ['$exists', [{ key: 'd.m' }], {}, 'B'],
    ['$existsFalse', [{ key: 'd.m' }], {}, 'A'],
    ['$existsFalse', [{ key: 'd.m' }], { 'd.m': '1' }, 'B'],
  ])('%s with %j of %j projects %s', (operator, line_keys, fields, key) => {
    const projection = {
      on_true: { key: 'hard_coded', value: 'A' },
      on_false: { key: 'other', regex: '/x/' },
    }
    const rule = filter({ type: 'condition', operator, line_keys, projection })
    expect(computes(rule, { ...fields, other: 'xBx' }, { keys })).toBe(key)
  })

  it('of a condition that must be met skips its priority and no other', () => {
    const computed = { type: 'condition', operator: '$exists', line_keys: [{ key: 'a' }] }
    const guard = { type: 'match', rate_key: 'usaget', line_key: 'computed' }
    const guarded = { ...guard, computed: { ...computed, must_met: true } }
    const rules = retailCalls([BY_KEY, guarded], [{ ...BY_KEY, line_key: 'other' }])
    const finder = finderOf(rules, [rateWith('A'), rateWith('B')])
    const keyOf = (fields: Record<string, string>) =>
      finder.find('retail', usageWith({ rate: 'A', other: 'B', ...fields }), 5)?.key
    expect(keyOf({ a: '1' })).toBe('A')
    expect(keyOf({})).toBe('B')
  })
})

describe('a date part', () => {
  /** Friday 31 July 2026, 22:05 UTC; Saturday 1 August, 00:05 in Berlin. */
  const AT_MS = Date.UTC(2026, 6, 31, 22, 5)
  it.each([
    ['minute_of_hour', '5', '5'],
    ['hour_of_day', '22', '0'],
    ['time_of_day', '22:05', '00:05'],
    ['day_of_week', '5', '6'],
    ['day_of_month', '31', '1'],
    ['month_of_year', '7', '8'],
    ['month_and_day', '07-31', '08-01'],
  ])('%s is %s in UTC and %s in Berlin', (preFunction, utc, berlin) => {
    const filter = { line_key: 'urt', preFunction }
    const keys = [...new Set([utc, berlin])]
    const partAt = (timeZone: string) => computes(filter, {}, { atMs: AT_MS, timeZone, keys })
    expect([partAt('UTC'), partAt('Europe/Berlin')]).toEqual([utc, berlin])
  })

  it('of a field is read from a date or unix seconds, and is empty for anything other than these', () => {
    const computed = { type: 'regex', line_keys: [{ key: 'when', preFunction: 'hour_of_day' }] }
    const filter = { line_key: 'computed', computed }
    const hour = (when: string) =>
      computes(filter, { when }, { timeZone: 'Europe/Berlin', keys: ['0', '9', '22'] })
    expect(hour('2026-07-31 22:05:00')).toBe('22')
    expect(hour('2026-07-31T22:05:00Z')).toBe('0')
    expect(hour(String(AT_MS / 1000))).toBe('0')
    expect(hour('soon')).toBe('none')
  })
})

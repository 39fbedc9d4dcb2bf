import { describe, expect, it } from 'vitest'
import { plainOutcome, type ServiceOutcome } from '../../src/domain/charge-outcome.ts'
import {
  type AnswerFieldName,
  answerFields,
  answerMethods,
  fieldNeeds,
} from '../../src/file-types/answer-fields.ts'
import {
  type AnswerSource,
  type FinalUnitAction,
  NumberText,
} from '../../src/file-types/file-type.ts'
import { answerOf, echoOf, granted, service } from '../support/file-types/answers.ts'
import { wireExamples } from '../support/realtime/wire-examples.ts'

const read = (name: AnswerFieldName, answer: AnswerSource, of: ServiceOutcome | null = null) =>
  answerFields[name](answer, of, answer.echo.message)

/** Fields that describe a grant or its result. */
const ofGrants = [
  'granted_volume',
  'usagev',
  'validity_time',
  'quota_holding_time',
  'threshold',
  'final_unit',
  'final_unit_action',
  'redirect_address',
  'redirect_address_type',
  'restriction_filters',
  'cost',
  'aprice',
  'final_charge',
  'tax_data',
  'rating',
  'arate_key',
  'in_group',
  'over_group',
  'out_group',
  'granted_money',
  'tariff_change',
] as AnswerFieldName[]

const redirect = { action: 'redirect', addressType: 'url', address: 'http://a' } as const
const rich = { quotaHoldingMs: 1500, thresholdPercent: 20, finalUnit: redirect }

describe('the precondition of a field', () => {
  const idle = service({ granted: 5, finalUnit: false })
  const last = service({ granted: 5, validityMs: 1000, finalUnit: true })
  const held = service({ granted: 5, validityMs: 1000 })
  const outcomes = [granted([idle]), plainOutcome('storeDown'), granted([held]), granted([last])]
  const answers = outcomes.map((outcome) => answerOf(outcome, {}, rich))

  it.each(Object.keys(fieldNeeds) as AnswerFieldName[])('holds whenever %s is present', (name) => {
    for (const answer of answers) {
      const isThere = fieldNeeds[name]?.(answer, null)
      if (read(name, answer) !== undefined) expect(isThere).toBe(true)
    }
  })

  it('does not hold for most answers', () => {
    const [first, failed] = answers as [AnswerSource, AnswerSource]
    for (const needs of Object.values(fieldNeeds)) {
      expect(needs(first, null)).toBe(false)
      expect(needs(failed, null)).toBe(false)
    }
  })
})

describe('a field of an answer', () => {
  const one = service({ ratingGroup: 10, granted: 999, validityMs: 1001, finalUnit: true })
  const outcome = { ...granted([{ ...one, cost: 1_500_000 }]), cost: 2_000_001 }
  const answer = answerOf(outcome, {}, rich)

  it.each([
    ['request_type', 'U'],
    ['request_num', 3],
    ['session_id', 's1'],
    ['record_type', 'update_request'],
    ['return_code', 1],
    ['granted_return_code', 1],
    ['desc', 'Success'],
    ['status', 1],
    ['granted_volume', 999],
    ['usagev', 999],
    ['transaction_id', 't1'],
    ['stamp', 't1'],
    ['sid', 2001],
    ['aid', 1001],
    ['type', 'GY'],
    ['source', 'realtime'],
    ['usaget', 'data'],
    ['rating_group', 10],
    ['validity_time', 2],
    ['quota_holding_time', 2],
    ['threshold', 199],
    ['final_unit', true],
    ['final_unit_action', 'redirect'],
    ['redirect_address', 'http://a'],
    ['redirect_address_type', 'url'],
    ['restriction_filters', undefined],
    ['cost', new NumberText('2.000001')],
    ['aprice', undefined],
    ['arate_key', undefined],
    ['in_group', undefined],
    ['pretend', false],
    ['billrun_pretend', false],
    ['balances', undefined],
  ] as const)('%s', (name, value) => expect(read(name, answer)).toEqual(value))

  it('has the values of its own service in a list of services', () => {
    const other = service({ reason: 'noCredit', usaget: 'call', cost: 250_000 })
    expect(read('return_code', answer, other)).toBe(-1)
    expect(read('status', answer, other)).toBe(0)
    expect(read('desc', answer, other)).toBe('No available balances')
    expect(read('usaget', answer, other)).toBe('call')
    expect(read('rating_group', answer, other)).toBeUndefined()
    expect(read('granted_volume', answer, other)).toBe(0)
    expect(read('cost', answer, other)).toEqual(new NumberText('0.25'))
    expect(read('threshold', answer, other)).toBeUndefined()
    expect(read('quota_holding_time', answer, other)).toBeUndefined()
    expect(read('final_unit_action', answer, other)).toBeUndefined()
  })

  it.each([
    ['rating_group', granted([service()])],
    ['transaction_id', plainOutcome('noRate')],
    ['sid', plainOutcome('unknownSubscriber')],
    ['aid', plainOutcome('unknownSubscriber')],
    ['usaget', plainOutcome('unknownSubscriber')],
    ['quota_holding_time', granted([service({ granted: 5, validityMs: 1 })])],
    ['threshold', granted([service({ granted: 5, validityMs: 1 })])],
    ['cost', plainOutcome('outOfOrder')],
  ] as const)('%s is omitted if there is no value', (name, without) => {
    expect(read(name, answerOf(without))).toBeUndefined()
  })

  it('omits the number of a request without one', () => {
    expect(read('request_num', answerOf(outcome, { requestNumber: -1 }))).toBeUndefined()
    expect(read('request_num', answerOf(outcome, { requestNumber: 0 }))).toBe(0)
  })

  it('shows nothing granted if the request is denied', () => {
    const denied = answerOf(plainOutcome('noRate', 'x'))
    expect(read('granted_volume', denied)).toBe(0)
    expect(read('validity_time', denied)).toBe(0)
    expect(read('final_unit', denied)).toBe(false)
    expect(read('desc', denied)).toBe('No rate, or rate is blocked: x')
  })

  it.each(ofGrants)('%s is empty in a failure', (name) => {
    const failed = { ...outcome, reason: 'timedOut' } as const
    expect(read(name, answerOf(failed, {}, rich))).toBeUndefined()
  })
})

describe('the fields of the final unit', () => {
  const last = granted([service({ granted: 5, finalUnit: true })])
  const finalUnitFields = (finalUnit: FinalUnitAction, outcome = last) =>
    (['final_unit_action', 'redirect_address', 'restriction_filters'] as const).map((name) =>
      read(name, answerOf(outcome, {}, { finalUnit })),
    )

  it('have the configured action', () => {
    expect(finalUnitFields({ action: 'none' })).toEqual([undefined, undefined, undefined])
    expect(finalUnitFields({ action: 'terminate' })).toEqual(['terminate', undefined, undefined])
    expect(finalUnitFields(redirect)).toEqual(['redirect', 'http://a', undefined])
    expect(finalUnitFields({ action: 'restrict', filters: ['f'] })).toEqual([
      'restrict',
      undefined,
      ['f'],
    ])
    const unfiltered = ['restrict', undefined, undefined]
    expect(finalUnitFields({ action: 'restrict', filters: [] })).toEqual(unfiltered)
  })

  it('are absent before the last grant', () => {
    const before = granted([service({ granted: 5 })])
    expect(finalUnitFields(redirect, before)).toEqual([undefined, undefined, undefined])
  })
})

const held = (units: number) => service({ granted: units, validityMs: 1000 })

it.each(['threshold', 'quota_holding_time'] as const)(
  '%s is absent from the answer to an event',
  (name) => {
    expect(read(name, answerOf(granted([held(5)]), {}, rich))).toBeGreaterThan(0)
    expect(read(name, answerOf(granted([service({ granted: 5 })]), {}, rich))).toBeUndefined()
    expect(read(name, answerOf(granted([held(0)]), {}, rich))).toBeUndefined()
  },
)

describe('tariff_change', () => {
  const changing = (tariffChangeMs: number) =>
    granted([service({ granted: 5, validityMs: 1000, tariffChangeMs })])

  it('is in epoch seconds, and absent if there is no change', () => {
    expect(read('tariff_change', answerOf(changing(1_795_300_000_000)))).toBe(1_795_300_000)
    expect(read('tariff_change', answerOf(changing(0)))).toBeUndefined()
    expect(read('tariff_change', answerOf(plainOutcome('noCredit')))).toBeUndefined()
  })

  it('has a precondition: a tariff change', () => {
    const needs = fieldNeeds.tariff_change
    expect(needs?.(answerOf(changing(1000)), null)).toBe(true)
    expect(needs?.(answerOf({ ...changing(1000), reason: 'timedOut' }), null)).toBe(false)
  })
})

it('granted_money is the exact volume as money', () => {
  const money = (units: number) => read('granted_money', answerOf(granted([held(units)])))
  expect(money(1_250_000)).toEqual(new NumberText('1.25'))
  expect(money(1)).toEqual(new NumberText('0.000001'))
  expect(money(Number.MAX_SAFE_INTEGER)).toEqual(new NumberText('9007199254.740991'))
  expect(read('granted_money', answerOf(plainOutcome('noCredit')))).toEqual(new NumberText('0'))
})

it('currency_code is the one of the installation, also in a failure', () => {
  const code = { currencyCode: 978 }
  expect(read('currency_code', answerOf(granted([held(1)]), {}, code))).toBe(978)
  expect(read('currency_code', answerOf(plainOutcome('storeDown'), {}, code))).toBe(978)
})

it('cost is present in the answer to a request that is not charged', () => {
  const outcome = { ...plainOutcome('notCharged'), cost: 1_000_000 }
  expect(read('cost', answerOf(outcome))).toEqual(new NumberText('1'))
})

describe('threshold', () => {
  const thresholdOf = (volume: number, thresholdPercent: number) =>
    read('threshold', answerOf(granted([held(volume)]), {}, { thresholdPercent }))

  it.each([
    [100, 20, 20],
    [99, 20, 19],
    [3, 20, 0],
    [Number.MAX_SAFE_INTEGER, 100, Number.MAX_SAFE_INTEGER],
    [Number.MAX_SAFE_INTEGER, 99, Number((BigInt(Number.MAX_SAFE_INTEGER) * 99n) / 100n)],
  ])('of %i units at %i percent is %i', (volume, percent, units) => {
    expect(thresholdOf(volume, percent)).toBe(units)
  })
})

describe('fields of the answer to a pretended request', () => {
  const { outcome } = wireExamples().get('pretend')!
  const answer = answerOf(outcome!, { pretend: true })

  it.each([
    ['pretend', true],
    ['aprice', new NumberText('0.15')],
    ['final_charge', new NumberText('0.1755')],
    ['arate_key', 'CALL_UK'],
    ['in_group', 30],
    ['over_group', 60],
    ['out_group', 0],
  ] as const)('%s', (name, value) => expect(read(name, answer)).toEqual(value))

  it('tax_data and rating are as in the plain JSON format', () => {
    const { taxData, rating } = JSON.parse(wireExamples().get('pretend')?.response ?? '')
    expect(JSON.parse(JSON.stringify(read('tax_data', answer)))).toEqual(taxData)
    expect(JSON.parse(JSON.stringify(read('rating', answer)))).toEqual(rating)
  })
})

describe('methods of the answer', () => {
  const call = (name: string, answer: AnswerSource) => answerMethods[name]?.(answer, null, {})

  it('return the same as the fields of that meaning', () => {
    expect(call('getStatus', answerOf(granted([])))).toBe(1)
    expect(call('getStatus', answerOf(plainOutcome('noRate')))).toBe(0)
    expect(call('getDesc', answerOf(plainOutcome('noTax')))).toBe('Tax not found')
  })

  it.each([
    ['noRate', 1401],
    ['blocked', 1401],
    ['noCredit', 1402],
    ['unknownSubscriber', 1403],
    ['granted', undefined],
    ['storeDown', undefined],
  ] as const)('getErrorCode of %s is %s', (reason, code) => {
    expect(call('getErrorCode', answerOf(plainOutcome(reason)))).toBe(code)
  })
})

it('request_type is repeated as received', () => {
  const typeOf = (requestType: unknown) =>
    read('request_type', answerOf(granted([]), { ...echoOf({}), requestType }))
  expect([1, 'I', true, null, Number.POSITIVE_INFINITY].map(typeOf)).toEqual([
    1,
    'I',
    true,
    undefined,
    undefined,
  ])
})

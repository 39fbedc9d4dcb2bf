/** Each kind of step that a line can have is explained in words, and drawn. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { explainLine } from '../../packages/console/src/parts/explain/explain.ts'
import { type Speech, sentenceOf } from '../../packages/console/src/parts/explain/sentences.ts'
import { KINDS, type Step } from '../../packages/console/src/parts/explain/steps.ts'
import { WHY as WHY_DE } from '../../packages/console/src/words/de/why.ts'
import { WHY as WHY_EN } from '../../packages/console/src/words/en/why.ts'
import type { RatingStep } from '../../src/domain/explain.ts'
import { PRICING_METHODS } from '../../src/domain/pricing/models.ts'
import { call, prepaid, rate, resultsOf, wallet } from '../support/billing/quote/case-builder.ts'

function speechOf(words: Readonly<Record<string, string>>, language: string): Speech {
  const format = new Intl.NumberFormat(language, { maximumFractionDigits: 12 })
  return {
    say(key, values = {}) {
      const text = words[key]
      if (text === undefined) throw new Error(`no text ${key}`)
      return text.replace(/\{(\w+)\}/g, (_, name: string) => {
        const value = values[name]
        if (value === undefined) throw new Error(`${key} needs ${name}`)
        return value
      })
    },
    number: (decimal) => format.format(decimal as `${number}`),
    money: String,
    includeName: (id) => (id === '7' ? 'MONEY' : ''),
  }
}

const EN = speechOf(WHY_EN, 'en')
const DE = speechOf(WHY_DE, 'de')

const PRICE = {
  step: 'price',
  category: 'retail',
  rate: 'T01',
  source: 'BASE',
  band: '',
  method: 'tiered',
  units: 61,
  amount: '0.61',
  part: 'charge',
} as const
const TIER = {
  step: 'tier',
  tier: 1,
  units: 61,
  interval: 1,
  intervals: '61',
  price: '0.01',
  amount: '0.61',
} as const

describe('amounts of money, and no others', () => {
  const own = { ...EN, money: (text: string) => `${text} GBP` }
  const group = { step: 'group', group: 'G', holder: 'GOLD', owner: 'subscriber' } as const
  it.each<readonly [Step, string]>([
    [PRICE, '61 units of call at rate T01 (retail, base price) cost 0.61 GBP'],
    [
      { ...PRICE, source: 'RECORD' },
      '61 units of call at rate T01 (retail, price of the usage record) cost 0.61 GBP',
    ],
    [TIER, 'tier 1: 61 units: 61 × 0.01 GBP = 0.61 GBP'],
    [{ step: 'percentage', factor: '0.9', amount: '1/7' }, 'times 0.9 = 1/7 GBP'],
    [
      { ...group, money: '0.4', left: '2', total: 'UNLIMITED' },
      '0.4 GBP from group G of GOLD (the subscriber), 2 GBP of UNLIMITED left',
    ],
    [
      { ...group, units: 61, left: '2', total: '63' },
      '61 units from group G of GOLD (the subscriber), 2 of 63 left',
    ],
  ])('of %j name the currency', (step, sentence) => {
    expect(sentenceOf(step, 'call', own)).toBe(sentence)
  })
})

it.each(PRICING_METHODS)('the price model %s has its words in both languages', (method) => {
  const heads = [EN, DE].map((speech) => sentenceOf({ ...PRICE, method }, 'call', speech))
  const plain = [EN, DE].map((speech) => sentenceOf(PRICE, 'call', speech))
  expect(heads.map((head, index) => head.length > plain[index]!.length)).toEqual(
    method === 'tiered' ? [false, false] : [true, true],
  )
})

/** A new kind of step does not compile here without its sentence. */
const SENTENCES: Readonly<Record<RatingStep['step'], readonly (readonly [RatingStep, string])[]>> =
  {
    price: [
      [PRICE, '61 units of call at rate T01 (retail, base price) cost 0.61'],
      [
        { ...PRICE, source: 'plan GOLD', band: 'night', method: 'volume', part: 'included' },
        '61 units of call at rate T01 (price of plan GOLD, time band night, ' +
          'all units at the price of one tier) are worth 0.61, paid by included money',
      ],
      [
        { ...PRICE, category: 'wholesale', part: 'shown' },
        'For information only, rate T01 (wholesale): 61 units would be 0.61',
      ],
    ],
    tier: [
      [TIER, 'tier 1: 61 units: 61 × 0.01 = 0.61'],
      [
        { ...TIER, tier: 2, units: 1, interval: 7, intervals: '1/7', amount: '1/700' },
        'tier 2: 1 unit in 1/7 × 7: 1/7 × 0.01 = 1/700',
      ],
    ],
    begun: [
      [
        { step: 'begun', units: 30, amount: '0' },
        '30 units of an interval that was paid for before: 0',
      ],
    ],
    beyond: [[{ step: 'beyond', units: 30, amount: '0' }, '30 units beyond the last tier: 0']],
    access: [[{ step: 'access', amount: '0.05' }, 'access price 0.05']],
    percentage: [[{ step: 'percentage', factor: '0.9', amount: '0.549' }, 'times 0.9 = 0.549']],
    minimum: [[{ step: 'minimum', amount: '1' }, 'raised to the minimum charge 1']],
    rounding: [
      [
        { step: 'rounding', mode: 'half-even', to: '0.000001', amount: '0.301429' },
        'rounded half to even to a multiple of 0.000001 = 0.301429',
      ],
      [
        { step: 'rounding', mode: 'nearest', to: '0.01', amount: '0.3' },
        'rounded to the nearest to a multiple of 0.01 = 0.3',
      ],
    ],
    credited: [
      [
        { step: 'credited', amount: '-0.4' },
        'part of the minimum charge, or fixed price, that was paid before: -0.4',
      ],
    ],
    earlier: [
      [
        { step: 'earlier', units: 60, amount: '-0.6' },
        '60 earlier units that were paid before: -0.6',
      ],
    ],
    group: [
      [
        {
          step: 'group',
          group: 'CALLS',
          holder: 'GOLD',
          owner: 'account',
          bucket: 4,
          units: 30,
          left: '70',
          total: '100',
        },
        '30 units from group CALLS of GOLD (the account), 70 of 100 left',
      ],
      [
        {
          step: 'group',
          group: 'CALLS',
          holder: 'GOLD',
          owner: 'subscriber',
          bucket: 4,
          money: '0.42',
          left: 'UNLIMITED',
          total: 'UNLIMITED',
        },
        '0.42 from group CALLS of GOLD (the subscriber), UNLIMITED of UNLIMITED left',
      ],
    ],
    bucket: [
      [
        { step: 'bucket', owner: 'subscriber', bucket: 1, include: 7, money: '0.61' },
        '0.61 paid from MONEY of the subscriber',
      ],
      [
        { step: 'bucket', owner: 'account', bucket: 2, include: 9, units: 61 },
        '61 units paid from balance 2 (prepaid include 9) of the account',
      ],
    ],
    credit: [
      [
        { step: 'credit', owner: 'subscriber', bucket: 3, money: '0.61' },
        '0.61 charged to postpaid credit of the subscriber',
      ],
    ],
    limit: [
      [
        { step: 'limit', owner: 'account', bucket: 3, money: '0.61' },
        '0.61 counted against the limit of the account',
      ],
    ],
    debt: [
      [{ step: 'debt', money: '0.11' }, '0.11 could not be paid: debt of the subscriber'],
      [
        { step: 'debt', owner: 'account', money: '0.11' },
        '0.11 could not be paid: debt of the account',
      ],
    ],
  }

describe('a step', () => {
  it.each(Object.values(SENTENCES).flat())('%j', (step, sentence) => {
    expect(sentenceOf({ ...step }, 'call', EN)).toBe(sentence)
  })

  it.each(Object.values(SENTENCES).flat())('in German: %j', (step) => {
    const sentence = sentenceOf({ ...step }, 'call', DE)
    expect(sentence).not.toContain('{')
    expect(sentence).not.toBe(sentenceOf({ ...step }, 'call', EN))
  })

  it('of an unknown kind shows its fields', () => {
    const step = { step: 'bonus', amount: '-0.1', of: { plan: 'GOLD' } }
    expect(sentenceOf(step, 'call', EN)).toBe(
      'A step that this console does not know, bonus: amount -0.1, of {"plan":"GOLD"}',
    )
  })

  it('has numbers of any size, unchanged', () => {
    const step = { step: 'access', amount: '9007199254740993.000000000001' }
    expect(sentenceOf(step, 'call', EN)).toBe('access price 9,007,199,254,740,993.000000000001')
    expect(sentenceOf(step, 'call', DE)).toBe('Zugangspreis 9.007.199.254.740.993,000000000001')
  })
})

describe('the kinds', () => {
  it('are those that charging writes', () => {
    const source = readFileSync(new URL('../../src/domain/explain.ts', import.meta.url), 'utf8')
    const written = source.match(/step: ('[a-z]+'( \| '[a-z]+')*)/g) ?? []
    const names = written.flatMap((text) => text.match(/'[a-z]+'/g) ?? [])
    const kinds = [...new Set(names.map((name) => name.slice(1, -1)))]
    expect([...KINDS].sort()).toEqual(kinds.sort())
  })
})

const TIERS = {
  access: 0.05,
  rate: [
    { from: 0, to: 60, interval: 1, price: 0.01 },
    { from: 60, to: 'UNLIMITED', interval: 1, price: 0.02 },
  ],
}
const GROUP = { groups: { CALLS: { value: 30, usage_types: { call: {} } } } }

/** The explanation of a call of a prepaid subscriber, 30 units of whose plan are included. */
function explainedCall(units: number) {
  const value = prepaid(10, {
    catalogue: { rates: [rate('T01', 'call', TIERS)], plans: [{ name: 'P', include: GROUP }] },
    subscriber: { plan: 'P', buckets: [wallet(10)] },
    events: [call(units)],
  })
  const rating = resultsOf(value)[0]?.rating.map((step) => ({ ...step })) ?? []
  const explained = explainLine({ usaget: 'call', rating }, EN)
  if (explained === null) throw new Error('no explanation')
  return explained
}

describe('a line', () => {
  it('has one sentence of rate, tiers, units and payers', () => {
    expect(explainedCall(121).sentence).toBe(
      '91 units of call at rate T01 (retail, base price) cost 1.27: tier 1: 60 units: ' +
        '60 × 0.01 = 0.6; tier 2: 31 units: 31 × 0.02 = 0.62; access price 0.05. ' +
        '30 units from group CALLS of P (the subscriber), 0 of 30 left; ' +
        '1.27 paid from MONEY of the subscriber.',
    )
  })

  it('is cut in the same pieces in units, money and payers', () => {
    const { units, money, payers } = explainedCall(121)
    const shown = (pieces: typeof units) => pieces.map(({ key, amount }) => [key, amount])
    expect(shown(units)).toEqual([
      ['group4', '30'],
      ['tier1', '60'],
      ['tier2', '31'],
    ])
    expect(shown(money)).toEqual([
      ['tier1', '0.6'],
      ['tier2', '0.62'],
      ['access3', '0.05'],
    ])
    expect(shown(payers)).toEqual([
      ['group4', '30 units'],
      ['bucket5', '1.27'],
    ])
    expect(payers[1]?.related).toEqual(['tier1', 'tier2', 'access3'])
    expect(money.map(({ related }) => related)).toEqual([['bucket5'], ['bucket5'], ['bucket5']])
    expect(payers[0]?.related).toEqual([])
    // 30 units of the group, and 91 that cost money.
    expect(payers.map(({ size }) => size)).toEqual([30, 91])
  })

  it('that only a group paid has no money', () => {
    const { sentence, money, payers } = explainedCall(30)
    expect(sentence).toBe('30 units from group CALLS of P (the subscriber), 0 of 30 left.')
    expect(money).toEqual([])
    expect(payers.map(({ mark }) => mark)).toEqual(['group'])
  })

  it('without a computation has no explanation', () => {
    expect(explainLine({ usaget: 'call' }, EN)).toBe(null)
    expect(explainLine({ rating: [] }, EN)).toBe(null)
  })
})

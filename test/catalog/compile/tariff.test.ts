import { describe, expect, it } from 'vitest'
import { type CompileOptions, LENIENT, STRICT } from '../../../src/catalog/compile/document.ts'
import { compileTariff, NO_TERMS } from '../../../src/catalog/compile/tariff.ts'
import { UNLIMITED } from '../../../src/domain/pricing/tier.ts'
import { charge, type Tariff } from '../../../src/domain/tariff.ts'
import type { RateTerms } from '../../../src/domain/tariff-terms.ts'
import { refusal, tier } from '../../support/catalog/compile/stored.ts'
import { readTable } from '../../support/domain/table.ts'

const compile = (
  price: object,
  options: CompileOptions = LENIENT,
  terms: RateTerms = NO_TERMS,
): Tariff => compileTariff(price as Record<string, unknown>, 'P', { ...options, terms })

describe('a tariff', () => {
  it('is compiled to integers, without terms if it is plain', () => {
    const rate = [
      tier({ to: 60, interval: 1, uom_display: { range: 'seconds' } }),
      tier({ from: 60, to: 180, interval: 10, price: '0.5', ceil: false }),
      tier({ from: 180, price: 2, ceil: true }),
    ]
    expect(compile({ access: 0.2, rate })).toEqual({
      tiers: [
        { units: 60, interval: 1, price: 100_000, ceil: true },
        { units: 120, interval: 10, price: 500_000, ceil: false },
        { units: UNLIMITED, interval: 60, price: 2_000_000, ceil: true },
      ],
      access: 200_000,
      extraDigits: 0,
      terms: null,
    })
  })

  it('of money at par equals the amount (docs/FILE-TYPES.md)', () => {
    const { from, to, interval, price } = { from: 0, to: 'UNLIMITED', interval: 1, price: 0.000001 }
    const tariff = compile({ rate: [{ from, to, interval, price }] })
    for (const micros of [1, 1_250_000, 9_007_199_254_740_991]) {
      expect(charge(tariff, micros, true)).toBe(micros)
    }
  })

  it.each([
    ['micros', '0.000001', undefined, 1, 0, 0],
    ['one digit beyond micros', '0.0000001', undefined, 1, 0, 1],
    ['the smallest supported price', 1e-12, undefined, 1, 0, 6],
    ['the access price is the most precise', 3, '0.00000025', 300_000_000, 25, 2],
    ['trailing zeros do not count', '0.10000000000000', undefined, 100_000, 0, 0],
  ])(
    'is scaled by the most precise price: %s',
    (_name, price, access, tierPrice, accessPrice, digits) => {
      const tariff = compile({ access, rate: [tier({ price })] })
      expect(tariff.extraDigits).toBe(digits)
      expect(tariff.tiers[0]?.price).toBe(tierPrice)
      expect(tariff.access).toBe(accessPrice)
    },
  )

  it('counts only tier sizes: gaps and overlaps between stored tiers change nothing', () => {
    const sizes = (rate: object[]) => compile({ rate }).tiers.map(({ units }) => units)
    expect(sizes([tier({ to: 20 }), tier({ from: 21 })])).toEqual([20, UNLIMITED])
    expect(sizes([tier({ to: 10 }), tier({ from: 0, to: 1 })])).toEqual([10, 1])
    expect(sizes([tier({ to: 10 }), tier({ from: undefined, to: 25 })])).toEqual([10, 15])
    expect(sizes([tier({ to: 10 }), tier(), tier()])).toEqual([10, UNLIMITED])
  })

  it.each([
    [
      [tier({ to: 10 }), tier({ from: 0, to: 1 })],
      'P.rate.1.from must not be below the end of the tier before',
    ],
    [
      [tier({ to: 2.4 }), tier({ from: '2.3' })],
      'P.rate.1.from must not be below the end of the tier before',
    ],
    [[tier(), tier()], 'P.rate.1 is never reached: the tier before it is UNLIMITED'],
  ])('refuses %j when it is written', (rate, message) => {
    expect(refusal(() => compile({ rate }, STRICT))).toBe(message)
  })

  it('accepts a gap when it is written', () => {
    const rate = [tier({ to: 10 }), tier({ from: 11 })]
    expect(compile({ rate }, STRICT)).toEqual(compile({ rate }))
  })

  it.each([
    [tier({ interval: 0 }), 'interval must be above 0, is 0'],
    [tier({ interval: '0.0' }), 'interval must be above 0, is 0'],
    [tier({ interval: -1 }), 'interval must not be negative, is -1'],
    [tier({ interval: 'often' }), 'interval must be a number or UNLIMITED'],
    [tier({ interval: undefined }), 'interval is missing'],
    [tier({ interval: 0.0000001 }), 'interval has more than 6 decimals: 1e-7'],
    [tier({ from: -5 }), 'from must not be negative, is -5'],
    [tier({ from: 5, to: 5 }), 'to must be above from (5), is 5'],
    [tier({ from: 0.7, to: '0.65' }), 'to must be above from (0.7), is 0.65'],
    [tier({ to: 2 ** 60 }), 'to is too large: 2^53 or more'],
    [tier({ to: 2 ** 49, interval: 0.1 }), null],
    [tier({ to: 2 ** 50, interval: 0.0001 }), 'to is too large: 2^53 of 10^-4 units or more'],
    [tier({ to: null }), 'to must be a number or UNLIMITED'],
    [tier({ price: -0.1 }), 'price must not be negative, is -0.1'],
    [tier({ price: undefined }), 'price is missing'],
    [tier({ price: 'free' }), 'price must be a number or decimal text'],
    [tier({ price: '015' }), "price must not have leading zeros, is '015'"],
    [tier({ price: ' -00.5' }), "price must not have leading zeros, is ' -00.5'"],
    [tier({ price: Number.NaN }), 'price must be a number or decimal text'],
    [tier({ price: '0.0000000000001' }), 'price has more than 12 decimals: 0.0000000000001'],
    [tier({ ceil: 'no' }), 'ceil must be true or false'],
    [tier({ intervall: 1 }), 'intervall is not known'],
  ])('refuses tier %j', (broken, message) => {
    if (message === null) expect(compile({ rate: [broken] }).terms?.unitScale).toBe(10)
    else expect(refusal(() => compile({ rate: [broken] }))).toBe(`P.rate.0.${message}`)
  })

  it.each([
    [{ rate: ['1'] }, 'P.rate.0 must be an object'],
    [{ rate: [] }, 'P.rate must have at least one tier'],
    [{}, 'P.rate is missing'],
    [{ rate: {} }, 'P.rate must be a list'],
    [{ rate: [tier()], access: -1 }, 'P.access must not be negative, is -1'],
    [{ rate: [tier()], access: '00' }, "P.access must not have leading zeros, is '00'"],
    [{ rate: [tier()], minimum_charge: 'x' }, 'P.minimum_charge must be a number or decimal text'],
    [
      { access: 20_000_000, rate: [tier({ price: 1e-12 })] },
      'P.access is too large to be exact with the 12 decimals of its tariff',
    ],
  ])('refuses price %j', (broken, message) => {
    expect(refusal(() => compile(broken))).toBe(message)
  })
})

describe('terms', () => {
  const half = { mode: 'up', decimals: 2, stage: 'before_tax' } as const

  it.each([
    ['volume', { rate: [tier()] }, { method: 'volume', rounding: null }, { method: 'volume' }],
    ['a minimum', { rate: [tier()], minimum_charge: 0.5 }, NO_TERMS, { minimum: 500_000 }],
    [
      'rounding before tax',
      { rate: [tier()] },
      { method: 'tiered', rounding: half },
      { rounding: { mode: 'up', step: 10_000 } },
    ],
    ['fractions', { rate: [tier({ to: '2.4', interval: 0.25 })] }, NO_TERMS, { unitScale: 100 }],
  ] as const)('of %s', (_name, price, terms, expected) => {
    const { terms: compiled } = compile(price, LENIENT, terms)
    const plain = { method: 'tiered', unitScale: 1, minimum: 0, rounding: null }
    expect(compiled).toEqual({ ...plain, factor: 1, factorDigits: 0, ...expected })
  })

  it('of a package charge blocks whole: a written rate may not say otherwise', () => {
    const price = { rate: [tier({ ceil: false })] }
    const terms = { method: 'package', rounding: null } as const
    expect(compile(price, LENIENT, terms).tiers[0]?.ceil).toBe(true)
    expect(refusal(() => compile(price, STRICT, terms))).toBe(
      'P.rate.0.ceil must not be false: with package it has no effect',
    )
    expect(compile(price, STRICT).tiers[0]?.ceil).toBe(false)
  })

  it('are null for rounding after tax', () => {
    const rounding = { ...half, stage: 'after_tax' } as const
    expect(compile({ rate: [tier()] }, LENIENT, { method: 'tiered', rounding }).terms).toBeNull()
  })

  it('scale bounds and intervals, not prices', () => {
    const { tiers, terms } = compile({ rate: [tier({ to: 2.4, interval: '0.8', price: 1 })] })
    expect(tiers).toEqual([{ units: 24, interval: 8, price: 1_000_000, ceil: true }])
    expect(terms?.unitScale).toBe(10)
  })

  it('are not needed if units are counted precisely enough', () => {
    const options = { isStrict: false, unitDigits: 3 }
    const rate = [tier({ to: 2.4, interval: 0.8 }), tier({ from: 2.4, interval: 1 })]
    const { tiers, terms } = compile({ rate }, options)
    expect(tiers).toMatchObject([
      { units: 2400, interval: 800 },
      { units: UNLIMITED, interval: 1000 },
    ])
    expect(terms).toBeNull()
    const finer = compile({ rate: [tier({ to: 1, interval: 0.0001 })] }, options)
    expect(finer).toMatchObject({
      tiers: [{ units: 10_000, interval: 1 }],
      terms: { unitScale: 10 },
    })
  })
})

/** Tiers as `from-to@price/interval`, `~` for ceil false. */
function tiersFrom(text: string): object[] {
  return text.split(';').map((part) => {
    const [, from, to, price, interval, open] =
      /^\s*([\d.]*)-([\d.]+|∞)@([\d.]+)\/([\d.]+)(~?)\s*$/.exec(part) ?? []
    const bounds = { from: Number(from), to: to === '∞' ? 'UNLIMITED' : Number(to) }
    return { ...bounds, price: Number(price), interval: Number(interval), ceil: open !== '~' }
  })
}

describe('published example prices', () => {
  const rows = readTable(`
    | volume | tiers                                | price |
    |--------|--------------------------------------|-------|
    | 10     | 0-10@1/1; 0-1@100/1                  | 10    |
    | 10     | 0-9@1/1; 0-1@100/1                   | 109   |
    | 2      | 0-1@0.3/1                            | 0.3   |
    | 10     | 0-1@.5/1; 1-4@.5/1; 4-9@1.2/1        | 8     |
    | 5      | 0-2.4@1/0.8; 0-5@2/4.2               | 5     |
    | 10     | 0-2@1/.5; 2-6@1/3.5; 6-8@2/.1        | 46    |
    | 10     | 0-2@2.5/.5; 2-8@1.25/1.5; 8-10@.1/.1 | 17    |
    | 2      | 0-.8@.3/1; .7-2@1/.1                 | 12.3  |
    | 10     | 0-.8@.5/.2; 1-3.5@.2/.5; 4.1-7.6@1/.1 | 38    |
    | 1      | 0-10@1/10~                           | 0.1   |
    | 61     | 0-60@0.1/1; 60-180@0.5/10; 180-∞@2/60 | 6.5   |
    | 181    | 0-60@0.1/1; 60-180@0.5/10; 180-∞@2/60 | 14    |
    | 250    | 0-60@0.1/1; 60-180@0.5/10; 180-∞@2/60 | 16    |
  `)

  it.each(rows)('$volume of $tiers is $price', ({ volume, tiers, price }) => {
    const rate = tiersFrom(tiers ?? '')
    const micros = Math.round(Number(price) * 1e6)
    expect(charge(compile({ rate }), Number(volume), false)).toBe(micros)
    const fine = compile({ rate }, { isStrict: false, unitDigits: 2 })
    expect(charge(fine, Number(volume) * 100, false)).toBe(micros)
  })
})

import { describe, expect, it } from 'vitest'
import { offerPrices, ratePrices } from '../src/pages/customer/prices.ts'

describe('the price of an offer', () => {
  it.each([
    [{ name: 'P', price: [{ from: 0, to: 'UNLIMITED', price: 20 }] }, ['P: 20']],
    [
      {
        name: 'P',
        price: [
          { from: 0, to: 3, price: '9.99' },
          { from: 3, to: 'UNLIMITED', price: 20 },
        ],
      },
      ['P: 0–3: 9.99; 3–UNLIMITED: 20'],
    ],
    [{ name: 'P' }, []],
  ])('%j', (offer, texts) => {
    expect(offerPrices(offer).map(({ of, price }) => `${of}: ${price}`)).toEqual(texts)
  })
})

describe('the prices of a rate', () => {
  const base = { rate: [{ from: 0, to: 60, interval: 1, price: '0.005' }], access: '0.02' }
  const texts = (rate: object, plan = 'GOLD') =>
    ratePrices({ key: 'R', rates: { call: rate } }, plan).map(({ of, price }) => `${of}: ${price}`)

  it.each([
    [{ BASE: base }, ['R call: 0.02 + 0–60: 0.005 / 1']],
    [{ BASE: base, GOLD: { percentage: '0.5' } }, ['R call GOLD: × 0.5']],
    [{ BASE: { rate: [{ to: 'UNLIMITED', price: 1 }] } }, ['R call: 1 / 1']],
    [{ BASE: { ...base, bands: [{ name: 'night' }] } }, ['R call: 0.02 + 0–60: 0.005 / 1 …']],
    [{ SILVER: base }, []],
  ])('%j', (rate, expected) => expect(texts(rate)).toEqual(expected))

  it('are none without usage types', () => expect(ratePrices({ key: 'R' }, 'P')).toEqual([]))
})

import { describe, expect, it } from 'vitest'
import { LENIENT } from '../../../src/catalog/compile/document.ts'
import { compilePrice, compilePrices } from '../../../src/catalog/compile/price.ts'
import { NO_TERMS } from '../../../src/catalog/compile/tariff.ts'
import { refusal, tier } from '../../support/catalog/compile/stored.ts'

const context = { ...LENIENT, terms: NO_TERMS }
const price = (fields: object) => compilePrice({ rate: [tier()], ...fields }, 'P', context)
const band = (fields: object = {}) => ({ name: 'NIGHT', rate: [tier({ price: 1 })], ...fields })
const bandOf = (fields: object, plain: object = {}) =>
  price({ ...plain, bands: [band(fields)] }).bands[0]

describe('time bands', () => {
  it('cover every day and all day if nothing is given', () => {
    expect(bandOf({})).toMatchObject({ name: 'NIGHT', fromSecond: 0, toSecond: 86_400 })
    expect(bandOf({})?.days.size).toBe(0)
    expect(bandOf({})?.dates.size).toBe(0)
  })

  it('have days, dates and times', () => {
    const dates = ['2026-12-25', '02-29']
    const compiled = bandOf({ days: [1, 7], dates, from: '18:00', to: '08:00:30' })
    expect([...(compiled?.days ?? [])]).toEqual([1, 7])
    expect([...(compiled?.dates ?? [])]).toEqual(dates)
    expect(compiled).toMatchObject({ fromSecond: 64_800, toSecond: 28_830 })
    expect(bandOf({ to: '24:00' })?.toSecond).toBe(86_400)
  })

  it('use the access price and minimum of the plain price, or their own', () => {
    const plain = { access: 0.5, minimum_charge: 2 }
    const tariff = bandOf({}, plain)?.tariff
    expect([tariff?.access, tariff?.terms?.minimum]).toEqual([500_000, 2_000_000])
    const own = bandOf({ access: 0, minimum_charge: 0 }, plain)?.tariff
    expect([own?.access, own?.terms]).toEqual([0, null])
  })

  it.each([
    [{ name: '' }, 'name must be a text that is not empty'],
    [{ days: [0] }, 'days.0 must be an integer from 1 to 2^53'],
    [{ days: [8] }, 'days.0 must be a day from 1 (Monday) to 7'],
    [{ days: 1 }, 'days must be a list'],
    [{ dates: ['2026-02-29'] }, 'dates.0 must be YYYY-MM-DD or MM-DD'],
    [{ dates: ['25.12.'] }, 'dates.0 must be YYYY-MM-DD or MM-DD'],
    [{ from: '25:00' }, 'from must be a time of day as HH:MM or HH:MM:SS'],
    [{ to: '24:01' }, 'to must be a time of day as HH:MM or HH:MM:SS'],
    [{ from: 18 }, 'from must be a time of day as HH:MM or HH:MM:SS'],
    [{ from: '08:00', to: '08:00' }, 'to must differ from from'],
    [{ rate: [tier({ interval: 0 })] }, 'rate.0.interval must be above 0, is 0'],
    [{ weekdays: [1] }, 'weekdays is not known'],
  ])('refuse %j', (fields, message) => {
    expect(refusal(() => bandOf(fields))).toBe(`P.bands.0.${message}`)
  })

  it('have their own names', () => {
    expect(refusal(() => price({ bands: [band(), band()] }))).toBe(
      "P.bands.1.name occurs twice: 'NIGHT'",
    )
  })
})

describe('prices of plans and services', () => {
  const compile = (document: unknown) => compilePrices(document, 'rates', LENIENT)

  it('are either complete or a share of another price', () => {
    const prices = compile({
      CALL: { call: { rate: [tier()], access: 1 }, sms: { percentage: '1.25' } },
      DATA: { data: { percentage: 0 } },
    })
    expect(prices.get('CALL')?.get('call')).toMatchObject({
      kind: 'price',
      price: { tariff: { access: 1_000_000 }, bands: [] },
    })
    const part = { kind: 'percentage', factor: 125, factorDigits: 2 }
    expect(prices.get('CALL')?.get('sms')).toEqual(part)
    expect(prices.get('DATA')?.get('data')).toMatchObject({ factor: 0 })
  })

  it.each([undefined, null, [], {}])('are empty for %j', (document) => {
    expect(compile(document).size).toBe(0)
  })

  it.each([
    [{ CALL: { call: 5 } }, 'rates.CALL.call must be an object'],
    [{ CALL: [1] }, 'rates.CALL must be an object'],
    [{ CALL: { 'a b': {} } }, 'rates.CALL.a b must be named with letters, digits, _ and - only'],
    [{ CALL: { call: {} } }, 'rates.CALL.call.rate is missing'],
    [
      { CALL: { call: { percentage: -1 } } },
      'rates.CALL.call.percentage must not be negative, is -1',
    ],
    [
      { CALL: { call: { percentage: 'half' } } },
      'rates.CALL.call.percentage must be a number or decimal text',
    ],
    [
      { CALL: { call: { percentage: '0.1234567' } } },
      'rates.CALL.call.percentage must be at most 10^6 and have at most 6 decimals',
    ],
    [{ CALL: { call: { percentage: 1, rate: [] } } }, 'rates.CALL.call.rate is not known'],
  ])('are refused: %j', (document, message) => {
    expect(refusal(() => compile(document))).toBe(message)
  })
})

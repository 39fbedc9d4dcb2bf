import { describe, expect, it } from 'vitest'
import { insertEntity } from '../../support/catalog/store.ts'
import { columns, insertPlan, useImports } from '../../support/entities/import/import-fixture.ts'

const scene = useImports()

const NAMES = ['key', 'from', 'price_from', 'price_to', 'price_interval', 'price_value']
const map = {
  ...columns(...NAMES, 'price_plan', 'usage_type_value', 'description'),
  usage_type_unit: 'minutes',
  pricing_method: 'tiered',
}

const run = (lines: readonly string[], more: Record<string, unknown> = {}, operation = 'create') =>
  scene.run({
    collection: 'rates',
    text: ['key,from,a,b,i,p,plan,usaget,text', ...lines].join('\n'),
    operation,
    update: { map, ...more },
  })

const rates = () => scene.catalog().rates.find({}).sort({ key: 1 }).toArray()

describe('lines of rates', () => {
  it('with one key and date are one rate, in any position', async () => {
    const { details } = await run([
      'CALL_A,2026-01-01,1,,1,0.5,,call,Local',
      'CALL_B,2026-01-01,0,,1,2,,call,',
      'CALL_A,2026-01-01,0,1,0.5,0.1,BASE,call,',
      'CALL_A,2026-01-01,,,1,0.25,,sms,Local',
    ])
    expect(details).toEqual({ 2: true, 3: true, 4: true, 5: true })
    const [first, second] = await rates()
    const display = { range: 'minutes', interval: 'minutes' }
    expect(first).toMatchObject({
      key: 'CALL_A',
      description: 'Local',
      tariff_category: 'retail',
      add_to_retail: true,
      rates: {
        call: {
          BASE: {
            rate: [
              { from: 0, to: 60, interval: 30, price: 0.1, uom_display: display },
              { from: 60, to: 'UNLIMITED', interval: 60, price: 0.5, uom_display: display },
            ],
          },
        },
        sms: { BASE: { rate: [{ to: 'UNLIMITED', price: 0.25 }] } },
      },
    })
    expect(second?.key).toBe('CALL_B')
  })

  it('that disagree fail together, with the name of the field', async () => {
    const { details } = await run([
      'CALL_A,2026-01-01,0,1,1,0.1,,call,Local',
      'CALL_A,2026-01-01,1,,1,0.5,,call,Other',
      'CALL_B,2026-01-01,0,,1,2,,call,',
    ])
    const text = "rows 2 and 3 are one rate, and disagree on description: 'Local' and 'Other'"
    expect(details).toEqual({ 2: text, 3: text, 4: true })
    expect(await rates()).toHaveLength(1)
  })

  it.each([
    ['CALL_A,2026-01-01,0,,1,,,call,', 'price_value is missing'],
    ['CALL_A,2026-01-01,0,,1,cheap,,call,', "price_value must be a number, is 'cheap'"],
    ['CALL_A,2026-01-01,0,,1,1,gold,call,', "price_plan 'gold' must be capital letters"],
    ['CALL_A,2026-01-01,0,,1,1,,a b,', "usage_type_value 'a b' must be"],
    ['CALL_A,2026-01-01,5,1,1,1,,call,', 'rates.call.BASE.rate.0'],
    ['call,2026-01-01,0,,1,1,,call,', 'key must be of capital letters'],
  ])('%s is refused', async (line, message) => {
    expect((await run([line])).details).toEqual({ 2: expect.stringContaining(message) })
    expect(await rates()).toEqual([])
  })

  it('write prices of plans into the plans', async () => {
    await insertPlan(scene.catalog())
    const { details } = await run([
      'CALL_A,2026-03-01,0,,1,1,,call,',
      'CALL_A,2026-03-01,0,,1,0.5,GOLD,call,',
      'CALL_A,2026-03-01,0,,1,0.7,NONE,call,',
    ])
    expect(details).toEqual({ 2: true, 3: true, 4: expect.stringContaining('plan NONE') })
    const plans = await scene.catalog().plans.find({}).sort({ from: 1 }).toArray()
    expect(plans).toHaveLength(2)
    expect(plans[1]).toMatchObject({
      from: new Date(Date.UTC(2026, 2, 1)),
      rates: { CALL_A: { call: { rate: [{ from: 0, interval: 60, price: 0.5 }] } } },
    })
  })

  it('of a dry run have the same result, and write nothing', async () => {
    await insertPlan(scene.catalog())
    const lines = ['GOLD', 'NONE', ''].map((plan) => `CALL_A,2026-03-01,0,,1,1,${plan},call,`)
    const { details } = await run(lines, { dry_run: true })
    expect(details).toEqual({ 2: true, 3: expect.stringContaining('plan NONE'), 4: true })
    expect(await rates()).toEqual([])
    expect(await scene.catalog().plans.countDocuments()).toBe(1)
  })

  it('may only name an existing custom tax', async () => {
    await insertEntity(scene.catalog(), 'taxes')
    const taxed = { ...map, tax__taxation: 'custom', tax__custom_tax: '__csvindex__8' }
    const lines = ['CALL_A,,0,,1,1,,call,VAT', 'CALL_B,,0,,1,1,,call,NONE']
    const { details } = await run(lines, { map: { ...taxed, description: 'x' } })
    expect(details).toEqual({ 2: true, 3: expect.stringContaining("no tax 'NONE'") })
    const [rate] = await rates()
    expect(rate?.tax).toEqual([{ type: 'vat', taxation: 'custom', custom_tax: 'VAT' }])
  })
})

describe('permanentchange', () => {
  const updater = { field: 'key', value: '__csvindex__0' }

  it('changes the price from a date on, and keeps the rest', async () => {
    const tier = { from: 0, to: 'UNLIMITED', interval: 1, price: 1 }
    const call = { BASE: { access: 2, rate: [tier] }, SILVER: { rate: [tier] } }
    await insertEntity(scene.catalog(), 'rates', { key: 'CALL_A', rates: { call } })
    const dated = { ...map, effective_date: '__csvindex__1' }
    Reflect.deleteProperty(dated, 'from')
    const lines = ['CALL_A,2026-03-01,0,,1,3,,call,', 'CALL_X,2026-03-01,0,,1,3,,call,']
    const settings = { map: dated, updater }
    const dry = await run(lines, { ...settings, dry_run: true }, 'permanentchange')
    expect(await rates()).toHaveLength(1)
    const { details } = await run(lines, settings, 'permanentchange')
    expect(details).toEqual({ 2: true, 3: expect.stringContaining('no revision of key CALL_X') })
    expect(dry.details).toEqual(details)
    const found = await scene.catalog().rates.find({}).sort({ from: 1 }).toArray()
    expect(found).toHaveLength(2)
    expect(found[1]?.rates['call']).toMatchObject({
      BASE: { access: 2, rate: [{ interval: 60, price: 3 }] },
      SILVER: call.SILVER,
    })
  })

  it('must identify one price', async () => {
    await expect(run(['X,,,,,,,,'], {}, 'permanentchange')).rejects.toThrow('updater is missing')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { taxAdjustment, taxCharge } from '../../../src/billing/cycle/tax.ts'
import { compileTerms } from '../../../src/catalog/compile/discount.ts'
import { checkRecurring } from '../../../src/catalog/compile/recurring.ts'
import { compileTax } from '../../../src/catalog/compile/tax.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'
import { taxationOf as settingsOf } from '../../../src/catalog/settings/money/taxation-settings.ts'
import type { Fields } from '../../../src/domain/fields.ts'
import { compileTaxMapping, createTaxMapping } from '../../../src/rating/tax-mapping.ts'
import { adjust, chargeOf, cycleOf, taxationOf, taxed } from '../../support/billing/cycle.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'
import { documentOf } from '../../support/entities/rules/context.ts'

const cycle = cycleOf('202606')
const charge = (entity: Fields, amount: number | string = 10) =>
  chargeOf(cycle, { name: 'GOLD', amount, entity: { name: 'GOLD', ...entity } })
const hint = (taxation: string, more: Fields = {}) => ({
  tax: [{ type: 'vat', taxation, ...more }],
})
const rates = { DEFAULT_VAT: '0.17', A: '0.1', B: '0.2' }

describe('the taxes of a charge', () => {
  const mapping = compileTaxMapping({
    priorities: [{ filters: [{ tax_field: 'key', rate_field: 'region' }] }],
  })
  const taxes = new Map(
    Object.entries(rates).map(([key, rate]) => [key, [compileTax(documentOf({ key, rate }))]]),
  )
  const taxation = { ...taxationOf(rates), taxes, mapTax: createTaxMapping(mapping, taxes) }
  const custom = (logic: string) => hint('custom', { custom_tax: 'A', custom_logic: logic })

  it.each([
    ['without a hint', {}, [1.7]],
    ['global, mapped', { ...hint('global'), region: 'B' }, [2]],
    ['global, not mapped', hint('global'), [1.7]],
    ['mapped by params', { ...hint('global'), params: { region: 'B' } }, [2]],
    ['default', { ...hint('default'), region: 'B' }, [1.7]],
    ['no', hint('no'), []],
    ['of a service without tax', { vatable: false }, []],
    ['custom, override', { ...custom('override'), region: 'B' }, [1]],
    ['custom, fallback, mapped', { ...custom('fallback'), region: 'B' }, [2]],
    ['custom, fallback, not mapped', custom('fallback'), [1]],
    ['several', { tax: [...hint('default').tax, ...custom('override').tax] }, [1.7, 1]],
  ])('%s', (_, entity, amounts) => {
    const { tax } = taxCharge(charge(entity), taxation)
    expect(tax.tax_data.taxes.map(({ amount }) => amount)).toEqual(amounts)
    const total = amounts.reduce((sum, amount) => sum + amount, 0)
    expect(tax.tax_data.total_amount).toBe(total)
    expect(tax.final_charge).toBe(10 + total)
  })

  it('an embedded tax is added to the price', () => {
    const embedded = [compileTax(documentOf({ key: 'A', rate: '0.1', embed_tax: true }))]
    const of = { ...taxation, taxes: new Map([...taxes, ['A', embedded]]) }
    const { tax } = taxCharge(charge(custom('override')), of)
    expect(tax).toMatchObject({ aprice: 11, final_charge: 11, tax_data: { total_amount: 0 } })
    expect(tax.tax_data.taxes).toMatchObject([{ amount: 0, embedded_amount: 1 }])
  })

  it('that do not exist are an error that names the plan', () => {
    const missing = hint('custom', { custom_tax: 'GONE' })
    expect(() => taxCharge(charge(missing), taxation)).toThrow(
      'plan GOLD: no tax is in force at 2026-06-01T00:00:00.000Z',
    )
  })
})

describe('taxes that need a service of others are refused by name', () => {
  const refused = (tax: unknown) => () => taxCharge(charge({ tax }), taxationOf(rates))

  it.each([
    [[{ type: 'CSI', taxation: 'global' }], "tax.0.type must be vat: 'CSI' needs"],
    [[{ taxation: 'no' }, { type: 'thirdparty' }], "tax.1.type must be vat: 'thirdparty' needs"],
    [[{ type: 'vat', taxation: 'csi' }], 'tax.0.taxation'],
  ])('%j', (tax, text) => {
    expect(refused(tax)).toThrow(text)
    expect(() => checkRecurring({ tax })).toThrow(text)
    expect(() => compileTerms('discount', { key: 'D', tax }, 'UTC')).toThrow(text)
  })

  it('as the type of the installation', () => {
    const of = (stored: Fields) => settingsOf(stored, { defaultTax: '', taxMapping: {} })
    for (const type of ['CSI', 'thirdparty', 5]) {
      expect(() => of({ tax_type: type })).toThrow('taxation.tax_type must be usage or vat')
    }
    expect(() => of({ tax_type: 'vat' })).toThrow('taxation.default is missing')
    const priorities = [{ filters: [{ tax_field: 'key', rate_field: 'region' }] }]
    const mapping = { priorities }
    expect(() => of({ tax_type: 'vat', default: 'A', mapping })).toThrow('taxation.mapping')
    expect(of({ tax_type: 'usage', default: 'A', mapping }).taxPriorities).toHaveLength(1)
  })

  it('but with one VAT rate for all, mapping rules of the node do not apply', () => {
    const priorities = [{ filters: [{ tax_field: 'key', rate_field: 'region' }] }]
    const installed = { defaultTax: 'DEFAULT_VAT', taxMapping: { priorities } }
    const { taxPriorities, defaultTax } = settingsOf({ tax_type: 'vat' }, installed)
    expect([taxPriorities, defaultTax]).toEqual([[], 'DEFAULT_VAT'])
  })
})

it('a discount on a plan and a service has the taxes of each', () => {
  const own = (key: string) => hint('custom', { custom_tax: key })
  const lines = [
    chargeOf(cycle, { name: 'P', entity: own('A') }),
    chargeOf(cycle, { kind: 'service', name: 'S', entity: own('B') }),
  ]
  const discounts = [{ key: 'D', type: 'monetary', subject: { monthly_fees: { value: 5 } } }]
  const { adjustments } = taxed({ cycle, discounts, lines }, taxationOf(rates))
  expect(adjustments.map(({ tax }) => tax.tax_data.taxes)).toMatchObject([
    [{ key: 'A', amount: -0.5 }],
    [{ key: 'B', amount: -1 }],
  ])
})

it('a discount on a charge without tax has none', () => {
  const lines = [chargeOf(cycle, { name: 'P', entity: hint('no') })]
  const discounts = [{ key: 'D', subject: { monthly_fees: { value: 0.5 } } }]
  const { adjustments } = taxed({ cycle, discounts, lines })
  expect(adjustments[0]?.tax).toMatchObject({ final_charge: -50, tax_data: { taxes: [] } })
})

it('a charge on nothing in particular has the tax of the settings', () => {
  const charges = [{ key: 'C', subject: { general: { value: 50 } } }]
  const { adjustments } = taxed({ cycle, charges, lines: [] })
  expect(adjustments.map(({ tax }) => tax.final_charge)).toEqual([58.5])
})

describe('rounding', () => {
  const rules = (type: string, decimals: number, stage = 'after_tax') => ({
    rounding_rules: {
      rounding_type: type,
      rounding_decimals: decimals,
      rounding_stage: stage,
    },
  })

  it.each([
    ['up', 0, 'after_tax', 2, 1.7094017094, 0.2905982906],
    ['up', 2, 'after_tax', 1.76, 1.5042735043, 0.2557264957],
    ['down', 1, 'after_tax', 1.7, 1.452991453, 0.247008547],
    ['nearest', 0, 'after_tax', 2, 1.7094017094, 0.2905982906],
    ['nearest', 1, 'after_tax', 1.8, 1.5384615385, 0.2615384615],
    ['nearest', 2, 'after_tax', 1.76, 1.5042735043, 0.2557264957],
    ['up', 0, 'before_tax', 2.34, 2, 0.34],
    ['down', 0, 'before_tax', 1.17, 1, 0.17],
  ])('%s %d %s', (type, decimals, stage, final, aprice, total) => {
    const { tax } = taxCharge(charge(rules(type, decimals, stage), 1.5), taxationOf())
    expect(tax).toMatchObject({ final_charge: final, aprice, tax_data: { total_amount: total } })
    expect(tax.before_rounding).toEqual({ final_charge: 1.755, aprice: 1.5 })
  })

  it('of the discount itself rounds the negative number', () => {
    const lines = [chargeOf(cycle, { name: 'P', entity: rules('up', 0) })]
    const own = (type: string) => {
      const discount = { key: 'D', ...rules(type, 0), subject: { monthly_fees: { value: 0.1 } } }
      return taxed({ cycle, discounts: [discount], lines }).adjustments[0]?.tax.final_charge
    }
    expect([own('up'), own('down'), own('nearest')]).toEqual([-11, -12, -12])
  })
})

const anyRounding = fc.record({
  rounding_type: fc.constantFrom('up', 'down', 'nearest', 'None'),
  rounding_decimals: fc.integer({ min: 0, max: 10 }),
  rounding_stage: fc.constantFrom('after_tax', 'before_tax'),
})
const anyAmount = fc.bigInt({ min: 1n, max: 10n ** 16n }).map((micros) => {
  return new Exact(micros.toString()).div(1_000_000).toString()
})
const anyRate = fc.integer({ min: 0, max: 300 }).map((thousandths) => String(thousandths / 1000))

it('a charge and its full discount add up to 0, however they are rounded and taxed', () => {
  const check = (
    amount: string,
    rounding: Fields,
    [one, other]: [string, string],
    days: number,
    isEmbedded: boolean,
  ) => {
    const tax = ['A', 'B'].map((key) => ({ taxation: 'custom', custom_tax: key }))
    const given = taxationOf({ A: one, B: other })
    const taxes = new Map(
      [...given.taxes].map(([key, revisions]) => [
        key,
        revisions.map((each) => ({ ...each, isEmbedded: isEmbedded && key === 'A' })),
      ]),
    )
    const taxation = { ...given, taxes }
    const to = `2026-05-${String(days).padStart(2, '0')}`
    const entity = { rounding_rules: rounding, tax }
    const lines = [chargeOf(cycle, { name: 'P', fullPrice: amount, to, entity })]
    const discounts = [{ key: 'D', subject: { plan: { P: { value: 1 } } } }]
    const [line] = lines.map((each) => taxCharge(each, taxation))
    const [full] = adjust({ cycle, discounts, lines })
    if (line === undefined || full === undefined) throw new Error('there is no discount')
    const discount = taxAdjustment(full, line, taxation)
    for (const part of ['aprice', 'tax', 'final_charge'] as const) {
      const sum = new Exact(line.tax.exact[part]).plus(discount.tax.exact[part])
      expect(sum.toString()).toBe('0')
    }
  }
  fc.assert(
    fc.property(
      anyAmount,
      anyRounding,
      fc.tuple(anyRate, anyRate),
      fc.integer({ min: 2, max: 31 }),
      fc.boolean(),
      check,
    ),
    propertyRuns(1000),
  )
})

import { describe, expect, it } from 'vitest'
import type { RateRevision, TaxRevision } from '../../src/domain/catalogue.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { createTaxRules } from '../../src/workers/tax-rules.ts'

const errors: unknown[] = []
const log = { error: (...args: unknown[]) => errors.push(args) } as never

const tax = (key: string) =>
  ({ key, fromMs: 0, toMs: FOREVER_MS, params: { class: key } }) as unknown as TaxRevision
const taxes = new Map([
  ['VAT', [tax('VAT')]],
  ['FOOD', [tax('FOOD')]],
])
const rate = { key: 'BREAD', params: { class: 'FOOD' } } as unknown as RateRevision
const priorities = [{ filters: [{ tax_field: 'params.class', rate_field: 'params.class' }] }]

function rules() {
  return createTaxRules({ defaultTax: 'VAT', taxMapping: {} }, log)
}

describe('the taxes of a worker', () => {
  it('are as configured until rules are stored, and again when they are removed', () => {
    const rule = rules()
    const keyNow = () => rule.now(taxes).mapTax(rate, 0)?.key ?? null
    expect([rule.now(taxes).defaultTax, keyNow()]).toEqual(['VAT', null])
    rule.follow({ default: 'FOOD', mapping: { priorities } })
    expect([rule.now(taxes).defaultTax, keyNow()]).toEqual(['FOOD', 'FOOD'])
    rule.follow({ default: { key: 'FOOD' } })
    expect([rule.now(taxes).defaultTax, keyNow()]).toEqual(['FOOD', null])
    rule.follow({})
    expect([rule.now(taxes).defaultTax, keyNow()]).toEqual(['VAT', null])
  })

  it('remain the same object while they are unchanged, so that cached prices stay valid', () => {
    const rule = rules()
    rule.follow({ mapping: { priorities } })
    const { mapTax } = rule.now(taxes)
    rule.follow({ mapping: { priorities: structuredClone(priorities) } })
    expect(rule.now(taxes).mapTax).toBe(mapTax)
    rule.follow({ mapping: { priorities: [] } })
    expect(rule.now(taxes).mapTax).not.toBe(mapTax)
  })

  it('remain unchanged if the stored rules are invalid, which is logged', () => {
    const rule = rules()
    rule.follow({ default: 'FOOD' })
    rule.follow({ default: 'no key' })
    rule.follow([])
    expect(rule.now(taxes).defaultTax).toBe('FOOD')
    expect(errors).toHaveLength(2)
  })
})

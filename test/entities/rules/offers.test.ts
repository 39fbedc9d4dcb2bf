import { describe, expect, it } from 'vitest'
import { useStore } from '../../support/catalog/store.ts'
import {
  check,
  contextOf,
  DISPLAY,
  documentOf,
  prepare,
  refusal,
} from '../../support/entities/rules/context.ts'
import { useMadeEach } from '../../support/opened.ts'

const store = useStore()
const context = useMadeEach(async () => contextOf(await store.open()))

const tier = (from: unknown, to: unknown, price: unknown = 1) => ({ from, to, price })

describe('a price of a service', () => {
  it.each([
    [[tier(0, 'UNLIMITED')]],
    [[tier('0', '3', '9.99'), tier(3, 'UNLIMITED', 0)]],
    [undefined],
  ])('%j is accepted', async (price) => {
    await check('services', { price }, context())
  })

  it.each([
    [[{ to: 3, price: 1 }], 'price.0.from is missing'],
    [[tier(0, 3), tier(3, '')], 'price.1.to is missing'],
    [[{ from: 0, to: 3 }], 'price.0.price is missing'],
    [[tier(0, 3, 'free')], 'price.0.price must be a number or decimal text'],
    [[tier('UNLIMITED', 3)], 'price.0.from must be a number or decimal text'],
    [{ from: 0 }, 'price must be a list'],
    [['10'], 'price.0.from is missing'],
  ])('%j is refused', async (price, text) => {
    expect(await refusal(check('services', { price }, context()))).toEqual([DISPLAY.request, text])
  })

  it('that is stored in an invalid form does not block other changes', async () => {
    const stored = documentOf({ price: [{ price: 1 }], description: 'TV' })
    await check('services', { price: [{ price: 1 }], description: 'TV 2' }, context(), stored)
  })
})

describe('limit_cycles of a service', () => {
  const price = [tier(0, 3), tier(3, 12)]

  it.each([[12], ['12'], ['12.0'], [null], [''], [undefined]])('%j is accepted', async (limit) => {
    await check('services', { price, limit_cycles: limit }, context())
  })

  it.each([
    [3, price, 'limit_cycles must be the highest to of price, is 3'],
    [12, [tier(0, 'UNLIMITED')], 'limit_cycles must be the highest to of price'],
    [12, undefined, 'limit_cycles must be the highest to of price'],
    [0, price, 'limit_cycles must be a number above 0'],
    [-12, price, 'limit_cycles must be a number above 0'],
    ['many', price, 'limit_cycles must be a number above 0'],
  ])('%j is refused', async (limit, prices, text) => {
    const asked = check('services', { price: prices, limit_cycles: limit }, context())
    const [code, message] = (await refusal(asked)) ?? []
    expect(code).toBe(DISPLAY.request)
    expect(message).toContain(text)
  })
})

describe('a recurrence', () => {
  const codes = { services: DISPLAY.request, plans: DISPLAY.planRecurrence } as const

  it.each(['services', 'plans'] as const)('of %s is complete', async (collection) => {
    const fields = { connection_type: 'postpaid' }
    for (const recurrence of [{ periodicity: 'month' }, { frequency: 1, start: '1' }]) {
      await prepare(collection, { ...fields, recurrence }, context())
    }
    const wrong: [object, string][] = [
      [{}, 'recurrence.frequency is missing'],
      [{ recurrence: {} }, 'recurrence.frequency is missing'],
      [{ recurrence: { frequency: 1 } }, 'recurrence.start is missing'],
      [{ recurrence: { start: 1, periodicity: '' } }, 'recurrence.frequency is missing'],
    ]
    for (const [given, text] of wrong) {
      const [code, message] = (await refusal(
        prepare(collection, { ...fields, ...given }, context()),
      )) ?? [0, '']
      expect([code, message]).toEqual([codes[collection], expect.stringContaining(text)])
    }
  })

  it.each(['services', 'plans'] as const)(
    'of %s is not required again by updates',
    async (collection) => {
      const target = documentOf({ connection_type: 'postpaid' })
      await prepare(collection, { description: 'Gold 2026' }, context(), target)
      const part = prepare(collection, { 'recurrence.start': 2 }, context(), target)
      expect((await refusal(part))?.[1]).toContain('recurrence.frequency is missing')
      const whole = documentOf({ ...target, recurrence: { frequency: 1, start: 1 } })
      await prepare(collection, { 'recurrence.start': 2 }, context(), whole)
    },
  )

  it('is required of a plan that becomes postpaid, and of no prepaid one', async () => {
    await prepare('plans', { connection_type: 'prepaid' }, context())
    const prepaid = documentOf({ connection_type: 'prepaid' })
    await prepare('plans', { description: 'x' }, context(), prepaid)
    const asked = prepare('plans', { connection_type: 'postpaid' }, context(), prepaid)
    expect(await refusal(asked)).toEqual([DISPLAY.planRecurrence, expect.any(String)])
  })
})

describe('rounding rules', () => {
  const rules = (stage: unknown, type: unknown, decimals: unknown): Record<string, unknown> => ({
    rounding_rules: { rounding_stage: stage, rounding_type: type, rounding_decimals: decimals },
  })

  it.each(['plans', 'services', 'rates'])('of %s are complete', async (collection) => {
    await check(collection, rules('after_tax', 'nearest', 2), context())
    await check(collection, rules('before_tax', 'up', '0'), context())
    await check(collection, rules('None', undefined, undefined), context())
    await check(collection, { rounding_rules: { rounding_type: 'None' } }, context())
    await check(collection, { rounding_rules: [] }, context())
    const wrong: [Record<string, unknown>, string][] = [
      [rules('after_tax', 'None', 2), 'rounding_rules.rounding_type must be up, down or nearest'],
      [rules('after_tax', undefined, 2), 'rounding_rules.rounding_type'],
      [rules('after_tax', 'up', undefined), 'rounding_rules.rounding_decimals'],
      [rules('after_tax', 'up', ''), 'rounding_rules.rounding_decimals'],
      [rules('after_tax', 'up', 11), 'rounding_rules.rounding_decimals'],
      [rules('after_tax', 'up', 1.5), 'rounding_rules.rounding_decimals'],
    ]
    for (const [fields, text] of wrong) {
      const [code, message] = (await refusal(check(collection, fields, context()))) ?? [-1, '']
      expect([code, message]).toEqual([0, expect.stringContaining(text)])
    }
  })
})

describe('a rate of category retail', () => {
  const addsToRetail = async (set: Record<string, unknown>, target?: Record<string, unknown>) => {
    const before = target === undefined ? null : documentOf(target)
    return (await prepare('rates', set, context(), before)).set['add_to_retail']
  }

  it('always has add_to_retail', async () => {
    expect(await addsToRetail({ tariff_category: 'retail', add_to_retail: false })).toBe(true)
    expect(await addsToRetail({ tariff_category: 'wholesale' })).toBeUndefined()
    expect(await addsToRetail({ add_to_retail: false }, { tariff_category: 'retail' })).toBe(true)
    const wholesale = { tariff_category: 'wholesale' }
    expect(await addsToRetail({ add_to_retail: false }, wholesale)).toBe(false)
    expect(await addsToRetail({ description: 'x' }, { tariff_category: 'retail' })).toBeUndefined()
  })
})

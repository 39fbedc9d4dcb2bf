import { describe, expect, it } from 'vitest'
import { useStore } from '../../support/catalog/store.ts'
import {
  check,
  contextOf,
  DISPLAY,
  documentOf,
  refusal,
} from '../../support/entities/rules/context.ts'
import { useMadeEach } from '../../support/opened.ts'

const store = useStore()
const context = useMadeEach(async () => contextOf(await store.open()))

const onPlan = { fields: [{ field: 'plan', op: 'in', value: ['GOLD'] }] }
const onService = { service: { any: [{ fields: [{ field: 'name', op: 'eq', value: 'TV' }] }] } }
const onAccount = { account: { fields: [{ field: 'aid', op: 'in', value: [17] }] } }
const params = (cycles: unknown, ...conditions: object[]) => ({ params: { cycles, conditions } })

describe.each(['charges', 'discounts'])('%s:', (collection) => {
  it.each([
    [{ simultaneous_limit: 1 }],
    [{ simultaneous_limit: '3' }],
    [{ simultaneous_limit: '' }],
    [{ simultaneous_limit: 0 }],
    [{ simultaneous_limit: -1 }],
    [params(12, { subscriber: [onPlan] })],
    [params(12, onAccount, { ...onAccount, subscriber: [onService] })],
    [params('', onAccount)],
    [params(12, { subscriber: [{ fields: [{ field: 'plan_activation', op: 'exists' }] }] })],
    [{}],
  ])('%j are accepted', async (fields) => {
    await check(collection, fields, context())
  })

  it.each([
    [{ simultaneous_limit: -2 }, 'simultaneous_limit must be an integer from -1'],
    [{ simultaneous_limit: 1.5 }, 'simultaneous_limit must be an integer from -1'],
    [params(12), 'params.cycles needs a condition'],
    [params('12', onAccount), 'params.cycles needs a condition'],
    [
      params(1, { account: { fields: [{ field: 'plan', op: 'eq', value: 'GOLD' }] } }),
      'params.cycles needs a condition',
    ],
    [
      params('', { subscriber: [{ fields: [{ field: 'plan', op: 'like', value: 'G' }] }] }),
      'params.conditions.0.subscriber.0.fields.0.op must be one of eq, ne, in,',
    ],
    [
      params('', { account: { fields: [{ op: 'eq', value: 1 }] } }),
      'params.conditions.0.account.fields.0.field must be the name of a field',
    ],
    [
      params('', { account: { fields: [{ field: 'aid', op: 'eq' }] } }),
      'params.conditions.0.account.fields.0.value is missing',
    ],
    [
      params('', { account: { fields: [{ field: 'aid', op: 'nin', value: 17 }] } }),
      'params.conditions.0.account.fields.0.value must be a list',
    ],
  ])('%j are refused: %s', async (fields, text) => {
    const [code, message] = (await refusal(check(collection, fields, context()))) ?? []
    expect(code).toBe(DISPLAY.request)
    expect(message).toContain(text)
  })
})

describe('a percentage', () => {
  const plan = (value: unknown) => ({ plan: { GOLD: { value } } })

  it.each([
    ['discounts', undefined, plan(0.1)],
    ['discounts', 'percentage', plan('1')],
    ['discounts', 'percentage', { monthly_fees: { value: 0 } }],
    ['discounts', 'monetary', plan(5)],
    ['charges', undefined, { general: { value: 50 } }],
  ])('of %s (%s) %j is accepted', async (collection, type, subject) => {
    await check(collection, { type, subject }, context())
  })

  it.each([
    ['discounts', undefined, plan(10), 'subject.plan.GOLD.value'],
    ['discounts', 'percentage', plan('1.000000001'), 'subject.plan.GOLD.value'],
    ['discounts', 'percentage', { monthly_fees: { value: -0.1 } }, 'subject.monthly_fees.value'],
    ['discounts', 'percentage', plan('half'), 'subject.plan.GOLD.value'],
    ['charges', 'percentage', { general: { value: 50 } }, 'subject.general.value'],
  ])('of %s (%s) %j is refused', async (collection, type, subject, path) => {
    const text = `${path} must be a fraction from 0 to 1: 0.1 is 10 %`
    const asked = check(collection, { type, subject }, context())
    expect(await refusal(asked)).toEqual([DISPLAY.request, text])
  })

  it('is checked again when a monetary discount becomes one', async () => {
    const stored = documentOf({ type: 'monetary', subject: plan(5) })
    const asked = check('discounts', { type: 'percentage', subject: plan(5) }, context(), stored)
    expect(await refusal(asked)).toEqual([DISPLAY.request, expect.any(String)])
  })
})

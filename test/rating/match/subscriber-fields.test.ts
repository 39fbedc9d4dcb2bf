import { expect, it } from 'vitest'
import { compileLineValue } from '../../../src/rating/match/computed.ts'
import { requestFields } from '../../../src/rating/match/usage-fields.ts'
import { usageWith } from '../../support/rating/match/rates.ts'

const read = (name: string, usage = usageWith()) =>
  compileLineValue({ line_key: name }, 'filter').value(usage, 0)

it('a rule reads a custom field of the subscriber', () => {
  const facts: Record<string, string> = { tier: 'gold', 'plan.code': 'x' }
  const usage = usageWith({}, { subscriberField: (name) => facts[name] })
  expect(read('subscriber.tier', usage)).toBe('gold')
  expect(read('subscriber.plan.code', usage)).toBe('x')
  expect(read('subscriber.other', usage)).toBe('')
  expect(read('tier', usage)).toBe('')
})

it('a field of the request with the same name takes precedence', () => {
  const usage = usageWith({ 'subscriber.tier': 'sent' }, { subscriberField: () => 'gold' })
  expect(read('subscriber.tier', usage)).toBe('sent')
  expect(read('uf.subscriber.tier', usage)).toBe('sent')
  expect(requestFields(['subscriber.tier'])).toEqual(['subscriber.tier'])
})

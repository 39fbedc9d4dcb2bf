import { expect, it } from 'vitest'
import { meets } from '../../src/rating/conditions.ts'

const FACTS = { name: 'TV', quantity: 2, prorated: true }

it.each([
  ['eq', 'name', 'TV', true],
  ['eq', 'quantity', '2', true],
  ['eq', 'missing', 'TV', false],
  ['ne', 'name', 'TV', false],
  ['ne', 'missing', 'TV', true],
  ['in', 'name', ['A', 'TV'], true],
  ['in', 'name', 'TV', true],
  ['nin', 'name', ['A'], true],
  ['lt', 'quantity', 10, true],
  ['lt', 'quantity', '10', true],
  ['lte', 'quantity', 2, true],
  ['gt', 'quantity', 2, false],
  ['gte', 'quantity', 2, true],
  ['gt', 'name', 'TU', true],
  ['gte', 'missing', 0, false],
  ['regex', 'name', /^T/, true],
  ['regex', 'name', '^T', false],
  ['exists', 'prorated', true, true],
  ['exists', 'prorated', false, false],
  ['exists', 'missing', false, true],
] as const)('%s %s %j is %s', (op, field, value, expected) => {
  expect(meets([{ op, field, value }], FACTS)).toBe(expected)
})

it('all conditions must be met', () => {
  const [one, other] = [2, 3].map((value) => ({ op: 'eq' as const, field: 'quantity', value }))
  expect([meets([], FACTS), meets([one!], FACTS), meets([one!, other!], FACTS)]).toEqual([
    true,
    true,
    false,
  ])
})

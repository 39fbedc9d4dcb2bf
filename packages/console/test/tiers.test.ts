import { describe, expect, it } from 'vitest'
import { followed, withTier } from '../src/parts/document/tiers.ts'

const closed = { from: '0', to: '600', interval: '60', price: '0.1' }
const added = { interval: '60', price: '' }

describe('a tier that is added', () => {
  it('begins at the end of the last one, which stays, and is open', () => {
    expect(withTier([closed])).toEqual([closed, { ...added, from: '600', to: 'UNLIMITED' }])
  })

  it.each(['UNLIMITED', '', undefined])('takes over the open end %j', (to) => {
    expect(withTier([{ ...closed, to }])).toEqual([
      { ...closed, to: '' },
      { ...added, from: '', to: 'UNLIMITED' },
    ])
  })

  it('has members of its own kind, and is the only one of an empty list', () => {
    expect(withTier([{ from: 0, to: 3, price: '5' }])[1]).toEqual({
      from: 3,
      to: 'UNLIMITED',
      price: '',
    })
    expect(withTier([])).toEqual([{ from: '0', to: 'UNLIMITED', interval: '1', price: '' }])
  })
})

it('the next tier follows the end of the one before, if it did before', () => {
  const before = [closed, { from: '600', to: 'UNLIMITED' }]
  const after = before.with(0, { ...closed, to: '700' })
  expect(followed(before, after, 0)[1]).toMatchObject({ from: '700' })
  const gap = [closed, { from: '650', to: 'UNLIMITED' }]
  expect(followed(gap, gap.with(0, { ...closed, to: '700' }), 0)[1]).toMatchObject({ from: '650' })
})

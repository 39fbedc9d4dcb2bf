import { describe, expect, it } from 'vitest'
import { AccountInvalidations } from '../../src/workers/profiles.ts'

describe('invalidated accounts', () => {
  it('make everything begun before stale', () => {
    const drops = new AccountInvalidations()
    expect(drops.isStale(1, 1)).toBe(false)
    drops.invalidate(1, 5)
    expect([4, 5, 6].map((begun) => drops.isStale(1, begun))).toEqual([true, true, false])
    expect(drops.isStale(2, 4)).toBe(false)
  })

  it('stay bounded: accounts beyond the bound count as invalidated for all', () => {
    const drops = new AccountInvalidations(2)
    drops.invalidate(1, 1)
    drops.invalidate(2, 2)
    drops.invalidate(2, 3)
    expect(drops.isStale(3, 2)).toBe(false)
    drops.invalidate(3, 4)
    expect([1, 2, 3, 9].map((aid) => drops.isStale(aid, 4))).toEqual([true, true, true, true])
    expect(drops.isStale(1, 5)).toBe(false)
  })
})

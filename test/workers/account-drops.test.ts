import { describe, expect, it } from 'vitest'
import { AccountDrops } from '../../src/workers/account-drops.ts'

describe('dropped accounts', () => {
  it('make old what was begun before', () => {
    const drops = new AccountDrops()
    expect(drops.isOld(1, 1)).toBe(false)
    drops.drop(1, 5)
    expect([4, 5, 6].map((begun) => drops.isOld(1, begun))).toEqual([true, true, false])
    expect(drops.isOld(2, 4)).toBe(false)
  })

  it('stay bounded: what cannot be remembered counts for all', () => {
    const drops = new AccountDrops(2)
    drops.drop(1, 1)
    drops.drop(2, 2)
    drops.drop(2, 3)
    expect(drops.isOld(3, 2)).toBe(false)
    drops.drop(3, 4)
    expect([1, 2, 3, 9].map((aid) => drops.isOld(aid, 4))).toEqual([true, true, true, true])
    expect(drops.isOld(1, 5)).toBe(false)
  })
})

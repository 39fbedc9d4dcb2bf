import { describe, expect, it } from 'vitest'
import { createInterned } from '../../../src/catalog/compile/interned.ts'

describe('interned values', () => {
  it('are one for equal parts, and made again only when too many are known', () => {
    const interned = createInterned<{ n: number }>(2)
    let made = 0
    const madeOf = (part: object) => {
      const make = () => {
        made += 1
        return { n: made }
      }
      return interned.of(part, make).n
    }
    expect([madeOf({ a: 1 }), madeOf({ a: 1 }), madeOf({ a: 2 })]).toEqual([1, 1, 2])
    expect([madeOf({ a: 3 }), madeOf({ a: 1 })]).toEqual([3, 4])
  })

  it('are not kept where making one fails', () => {
    const interned = createInterned<number>(2)
    const fail = () => {
      throw new Error('broken')
    }
    expect(() => interned.of({}, fail)).toThrow('broken')
    expect(interned.of({}, () => 7)).toBe(7)
  })
})

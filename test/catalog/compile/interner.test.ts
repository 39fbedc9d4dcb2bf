import { describe, expect, it } from 'vitest'
import { createInterner } from '../../../src/catalog/compile/interner.ts'

describe('interned values', () => {
  it('are shared between equal parts, and created again only after the cache is full', () => {
    const interned = createInterner<{ n: number }>(2)
    let made = 0
    const madeOf = (part: object) => {
      const make = () => {
        made += 1
        return { n: made }
      }
      return interned.get(part, make).n
    }
    expect([madeOf({ a: 1 }), madeOf({ a: 1 }), madeOf({ a: 2 })]).toEqual([1, 1, 2])
    expect([madeOf({ a: 3 }), madeOf({ a: 1 })]).toEqual([3, 4])
  })

  it('are not cached if creating one fails', () => {
    const interned = createInterner<number>(2)
    const fail = () => {
      throw new Error('broken')
    }
    expect(() => interned.get({}, fail)).toThrow('broken')
    expect(interned.get({}, () => 7)).toBe(7)
  })
})

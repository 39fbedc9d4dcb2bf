import { describe, expect, it } from 'vitest'
import { SmallMap } from '../../src/workers/small-map.ts'

describe('a map of few entries', () => {
  it.each([1, 8, 9, 100])('keeps %d entries in the order of insertion', (count) => {
    const map = new SmallMap<string, number>()
    for (let index = 0; index < count; index += 1) map.set(`key ${index}`, index)
    expect(map.values).toEqual(Array.from({ length: count }, (_, index) => index))
    for (let index = 0; index < count; index += 1) expect(map.get(`key ${index}`)).toBe(index)
    expect(map.get('another')).toBeUndefined()
  })

  it.each([3, 30])('replaces a value in its place, of %d', (count) => {
    const map = new SmallMap<number, string>()
    for (let key = 0; key < count; key += 1) map.set(key, 'first')
    map.set(count - 1, 'second')
    map.set(0, 'second')
    expect(map.values).toHaveLength(count)
    expect([map.get(0), map.get(1), map.get(count - 1)]).toEqual(['second', 'first', 'second'])
  })
})

import { describe, expect, it } from 'vitest'
import { ShardedMap } from '../../../src/catalog/feed/sharded-map.ts'

const sorted = (map: ReadonlyMap<string, number>) => [...map].sort()

describe('a sharded map', () => {
  it('behaves like a Map', () => {
    const [map, model] = [new ShardedMap<string, number>(), new Map<string, number>()]
    for (let n = 0; n < 5000; n += 1) {
      const key = `KEY_${(n * 7919) % 1009}`
      if (n % 3 === 2) expect(map.delete(key)).toBe(model.delete(key))
      else {
        map.set(key, n)
        model.set(key, n)
      }
    }
    expect(map.size).toBe(model.size)
    expect(sorted(map)).toEqual(sorted(model))
    expect([...map.keys()].sort()).toEqual([...model.keys()].sort())
    expect([...map.values()].sort()).toEqual([...model.values()].sort())
    const seen = new Map<string, number>()
    map.forEach((value, key) => {
      seen.set(key, value)
    })
    expect(sorted(seen)).toEqual(sorted(model))
    expect([map.get('KEY_X'), map.has('KEY_X'), map.delete('KEY_X')]).toEqual([
      undefined,
      false,
      false,
    ])
  })

  it('accepts numbers as keys', () => {
    const map = new ShardedMap<number, string>().set(7, 'a').set(263, 'b').set(-1, 'c')
    expect([map.get(7), map.get(263), map.get(-1), map.size]).toEqual(['a', 'b', 'c', 3])
  })

  it('shares no mutable state with its copies', () => {
    const first = new ShardedMap<string, number>().set('A', 1).set('B', 1)
    const second = first.copy()
    first.set('A', 2).delete('B')
    second.set('C', 3)
    const third = second.copy()
    second.set('C', 4)
    expect(sorted(first)).toEqual([['A', 2]])
    expect(sorted(second)).toEqual([
      ['A', 1],
      ['B', 1],
      ['C', 4],
    ])
    expect([third.get('C'), third.size, first.size]).toEqual([3, 3, 1])
  })
})

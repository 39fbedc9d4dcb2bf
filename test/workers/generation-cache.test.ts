import { expect, it } from 'vitest'
import { GenerationCache } from '../../src/workers/generation-cache.ts'

it('the generation cache keeps used entries and forgets unused ones', () => {
  const cache = new GenerationCache<string, number>(4)
  cache.set('used', 1)
  cache.set('unused', 2)
  for (let index = 0; index < 10; index += 1) {
    expect(cache.get('used')).toBe(1)
    cache.set(`other-${index}`, index)
  }
  expect(cache.get('unused')).toBeUndefined()
  cache.set('used', 3)
  expect(cache.get('used')).toBe(3)
  cache.delete('used')
  expect(cache.get('used')).toBeUndefined()
  cache.clear()
  expect(cache.get('other-9')).toBeUndefined()
})

it('the generation cache never brings back an older value', () => {
  const cache = new GenerationCache<number, number>(2)
  for (let round = 0; round < 100; round += 1) {
    const key = round % 3
    cache.set(key, round)
    const found = cache.get(key)
    expect(found).toBe(round)
    for (const other of [0, 1, 2]) {
      const value = cache.get(other)
      if (value !== undefined) expect(value).toBeGreaterThanOrEqual(round - 2)
    }
  }
})

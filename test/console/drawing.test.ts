import { describe, expect, it } from 'vitest'
import { drawn, scaleOf } from '../../packages/console/src/parts/bar-scale.ts'
import type { Piece } from '../../packages/console/src/parts/explain/explain.ts'
import { isLit, lengthsOf } from '../../packages/console/src/parts/explain/placing.ts'

const used = (size: number) => ({ kind: 'used', size }) as const
const free = (size: number) => ({ kind: 'free', size }) as const
const debt = (size: number) => ({ kind: 'debt', size }) as const

describe('bars', () => {
  it('of one unit share a scale, with debt left of zero', () => {
    expect(scaleOf([[used(3), free(5)], [debt(2)], [used(1)]])).toEqual({ left: 2, right: 8 })
  })

  it('are drawn from zero, debt to the left', () => {
    const scale = { left: 2, right: 8 }
    expect(drawn([used(4), free(4)], scale)).toEqual([
      { kind: 'used', x: 20, width: 40 },
      { kind: 'free', x: 60, width: 40 },
    ])
    expect(drawn([debt(1)], scale)).toEqual([{ kind: 'debt', x: 10, width: 10 }])
  })

  it('show the smallest amount, and nothing for none', () => {
    const [piece] = drawn([used(1), free(0)], { left: 0, right: 1e9 })
    expect(piece?.width).toBeGreaterThan(0)
    expect(drawn([used(0), free(0)], { left: 0, right: 5 })).toEqual([])
    expect(drawn([free(0)], { left: 0, right: 0 })).toEqual([])
  })
})

function piece(key: string, size: number, related: readonly string[] = []): Piece {
  return { key, mark: 'tier', name: key, amount: '', sentence: '', size, related }
}

describe('pieces of a band', () => {
  it('are as long as their sizes, and none is too small to be pointed at', () => {
    const [first, second, third] = lengthsOf([piece('a', 3), piece('b', 1), piece('c', 0)])
    expect([first, second]).toEqual([75, 25])
    expect(third).toBeGreaterThan(5)
  })

  it('without any length have equal ones', () => {
    const [first, second] = lengthsOf([piece('a', 0), piece('b', 0)])
    expect(first).toBe(second)
  })

  it('are lit with those that they belong to', () => {
    const tier = piece('tier1', 1, ['bucket2'])
    expect(isLit(tier, piece('bucket2', 1))).toBe(true)
    expect(isLit(tier, tier)).toBe(true)
    expect(isLit(tier, piece('bucket3', 1))).toBe(false)
    expect(isLit(tier, null)).toBe(false)
  })
})

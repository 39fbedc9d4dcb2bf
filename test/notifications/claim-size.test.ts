import { describe, expect, it } from 'vitest'
import { ClaimSize } from '../../src/notifications/claim-size.ts'

/** Sizes after steps of 100 ms, in each of which so many events are taken. */
function sizes(...steps: readonly number[]): number[] {
  let nowMs = 1_000
  const size = new ClaimSize(() => nowMs)
  return steps.map((taken) => {
    for (let at = 0; at < taken; at += 1) size.taken()
    nowMs += 100
    return size.now()
  })
}

describe('the size of claims', () => {
  it('is what the receiver takes in a quarter of a second', () => {
    expect(sizes(10, 10, 10, 10, 10, 10)).toEqual([2, 4, 8, 16, 25, 25])
  })

  it('is limited', () => {
    expect(sizes(...Array.from({ length: 12 }, () => 5_000)).at(-1)).toBe(250)
  })

  it('is one again when the receiver takes nothing', () => {
    expect(sizes(100, 100, 100, 0)).toEqual([2, 4, 8, 1])
  })

  it('stays as it is until there is something to measure', () => {
    let nowMs = 0
    const size = new ClaimSize(() => nowMs)
    for (let at = 0; at < 100; at += 1) size.taken()
    nowMs = 49
    expect(size.now()).toBe(1)
    nowMs = 50
    expect(size.now()).toBe(2)
  })
})

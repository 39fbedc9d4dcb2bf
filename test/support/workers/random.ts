/** A seeded random generator (mulberry32), so that a failed run can be repeated. */
export interface Random {
  /** 0 to max - 1. */
  below(max: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<T>(values: readonly T[]): T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (max: number) => Math.floor(next() * max)
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
  }
}

/** From TEST_SEED, or new for each run; shown in the test titles. */
export function chooseSeed(): number {
  return Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31)
}

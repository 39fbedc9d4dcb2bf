/** The finder against a scan of all rates that follows the rules literally. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RateRevision } from '../../../src/domain/catalogue.ts'
import { compileCalculators } from '../../../src/rating/match/calculators.ts'
import { RateFinder } from '../../../src/rating/match/finder.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'
import { rateWith, retailCalls, usageWith } from '../../support/rating/match/rates.ts'

type Filter = { type: string; rate_key: string; line_key: string }

const FIELDS = ['a', 'b', 'c'] as const
const text = fc.string({ unit: fc.constantFrom('1', '2', 'x'), maxLength: 4 })
const values = fc.array(text, { maxLength: 3 })
const filter = fc.record({
  type: fc.constantFrom('match', 'longestPrefix', 'equalFalse'),
  rate_key: fc.constantFrom(...FIELDS.map((name) => `params.${name}`)),
  line_key: fc.constantFrom(...FIELDS),
})
const priorities = fc.array(fc.array(filter, { minLength: 1, maxLength: 3 }), { maxLength: 3 })
const revision = fc.record({
  params: fc.record({ a: values, b: values, c: values }, { requiredKeys: [] }),
  usagets: fc.subarray(['call', 'sms']),
  play: fc.constantFrom('', '', 'TV'),
  until: fc.constantFrom(5, 10, 15),
})
const rates = fc.array(
  fc.record({
    key: fc.constantFrom('A', 'B', 'C', 'D', 'E'),
    revisions: fc.array(revision, { maxLength: 3 }),
  }),
  { maxLength: 12 },
)
const usage = fc.record({
  fields: fc.record({ a: text, b: text, c: text }),
  play: fc.constantFrom('', 'TV'),
  atMs: fc.integer({ min: 0, max: 20 }),
})

/** Consecutive revisions, each beginning where the one before ends. */
function revisionsOf(
  key: string,
  parts: readonly (typeof revision extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const ordered = [...parts].sort((a, b) => a.until - b.until)
  return ordered.map(({ params, usagets, play, until }, index) => {
    const fromMs = ordered[index - 1]?.until ?? 0
    return rateWith(key, params, { usagets, play, fromMs, toMs: until })
  })
}

function rankOf(rate: RateRevision, filters: readonly Filter[], fields: Record<string, string>) {
  const ranks: number[] = []
  for (const { type, rate_key: path, line_key: line } of filters) {
    const own = (rate.params[path.slice('params.'.length)] ?? []) as readonly string[]
    const value = fields[line] ?? ''
    if (type === 'match' && !own.includes(value)) return null
    if (type === 'equalFalse' && own.includes(value)) return null
    if (type !== 'longestPrefix') continue
    const lengths = own.filter((one) => one !== '' && value.startsWith(one)).map((o) => o.length)
    if (lengths.length === 0) return null
    ranks.push(Math.max(...lengths))
  }
  return ranks
}

function isBetter(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((rank, index) => rank !== other[index])
  return at >= 0 && one[at]! > other[at]!
}

function scan(
  all: readonly RateRevision[],
  rules: readonly (readonly Filter[])[],
  asked: { fields: Record<string, string>; play: string; atMs: number },
): RateRevision | null {
  for (const filters of rules) {
    let best: RateRevision | null = null
    let bestRank: readonly number[] = []
    for (const rate of [...all].sort((a, b) => (a.key < b.key ? -1 : 1))) {
      if (asked.atMs < rate.fromMs || asked.atMs >= rate.toMs || !rate.usages.has('call')) continue
      if (rate.play !== '' && rate.play !== asked.play) continue
      const rank = rankOf(rate, filters, asked.fields)
      if (rank === null || (best !== null && !isBetter(rank, bestRank))) continue
      best = rate
      bestRank = rank
    }
    if (best !== null) return best
  }
  return null
}

describe('the finder', () => {
  it('finds what a scan of all rates finds, after any series of changes', () => {
    fc.assert(
      fc.property(priorities, rates, fc.array(usage, { minLength: 1 }), (rules, changes, asked) => {
        const finder = new RateFinder(compileCalculators(retailCalls(...rules)), ['{USAGET}'])
        const current = new Map<string, readonly RateRevision[]>()
        for (const { key, revisions } of changes) {
          current.set(key, revisionsOf(key, revisions))
          finder.update([{ key, revisions: current.get(key)! }])
        }
        for (const { fields, play, atMs } of asked) {
          const found = finder.find('retail', usageWith(fields, { play }), atMs)
          expect(found).toBe(scan([...current.values()].flat(), rules, { fields, play, atMs }))
        }
      }),
      propertyRuns(2_000),
    )
  })

  it('finds the longest prefix among many and forgets removed ones', () => {
    const digits = fc.string({
      unit: fc.constantFrom('0', '1', '2', '3'),
      minLength: 1,
      maxLength: 7,
    })
    // Enough prefixes for the tables to grow.
    const prefixes = fc.array(digits, { minLength: 1, maxLength: 2_000, size: 'max' })
    fc.assert(
      fc.property(prefixes, fc.array(digits), (list, numbers) => {
        const finder = new RateFinder(compileCalculators({}), ['{called_number}'])
        const known = new Map(list.map((prefix) => [prefix, rateWith(prefix, { prefix })]))
        for (const [key, rate] of known) finder.update([{ key, revisions: [rate] }])
        const gone = [...known.keys()].filter((_, index) => index % 3 === 0)
        for (const key of gone) {
          finder.update([{ key, revisions: [] }])
          known.delete(key)
        }
        for (const calledNumber of [...numbers, ...gone, ...known.keys()]) {
          const fitting = [...known.keys()].filter((prefix) => calledNumber.startsWith(prefix))
          const longest = fitting.sort((a, b) => b.length - a.length)[0]
          const found = finder.find('retail', usageWith({}, { calledNumber }), 5)
          expect(found?.key).toBe(longest)
        }
      }),
      { numRuns: 20 },
    )
  })
})

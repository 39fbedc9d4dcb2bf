import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compare, mediansOf } from '../../bench/report/compare.ts'
import {
  emptyResults,
  type Results,
  readResults,
  writeResults,
} from '../../bench/report/results.ts'

function run(toEcho: number): Results {
  const results = emptyResults(0, false)
  const nothing = { figures: {}, goals: [], tables: [], notes: [] }
  results.scenarios['json'] = { ...nothing, ratios: { to_echo: toEcho } }
  return results
}

describe('comparing with a baseline', () => {
  it('takes the median of the runs, whatever the worst of them says', () => {
    const runs = [0.5, 0.01, 0.48, 0.52, 0.02].map(run)
    expect(mediansOf(runs)).toEqual({ 'json.to_echo': 0.48 })
  })

  it.each([
    [0.69, true],
    [0.699, true],
    [0.7, false],
    [0.71, false],
    [1, false],
    [2, false],
  ])('%f of what it was is worse: %s', (share, isWorse) => {
    const [one] = compare({ a: 0.45 }, { a: 0.45 * share })
    expect(one?.isWorse).toBe(isWorse)
  })

  it('names what was not measured, and does not take it for worse', () => {
    const compared = compare({ a: 0.5, b: 0.5 }, { b: 0.2, c: 0.1 })
    expect(compared.map(({ name, now, isWorse }) => [name, now, isWorse])).toEqual([
      ['a', undefined, false],
      ['b', 0.2, true],
    ])
  })

  it('reads results that a run has written, and refuses another file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tg-results-'))
    try {
      const file = join(folder, 'results.json')
      writeResults(file, run(0.4))
      expect(readResults(file)).toEqual(run(0.4))
      writeFileSync(file, '{"numPassedTests":1}')
      expect(() => readResults(file)).toThrow('no results')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

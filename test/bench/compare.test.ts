import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type Baseline,
  CompareError,
  compare,
  mediansOf,
  merged,
  ratiosOf,
  readBaseline,
  runsOf,
  scenariosOf,
  warningsOf,
} from '../../bench/report/compare.ts'
import {
  emptyResults,
  failuresOf,
  type Results,
  readResults,
  writeResults,
} from '../../bench/report/results.ts'

const NOTHING = { figures: {}, goals: [], tables: [], notes: [] }

function run(toEcho: number): Results {
  const results = emptyResults(0, false)
  results.scenarios['json'] = { ...NOTHING, ratios: { to_echo: toEcho } }
  return results
}

describe('the comparison with a baseline', () => {
  it('uses the median of the runs, regardless of the worst one', () => {
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
  ])('treats a ratio of %f of the baseline as worse: %s', (share, isWorse) => {
    const [one] = compare({ a: 0.45 }, { a: 0.45 * share })
    expect(one?.isWorse).toBe(isWorse)
  })

  it('fails ratios that were not measured: void, skipped, or omitted', () => {
    const compared = compare({ a: 0.5, b: 0.5 }, { b: 0.4, c: 0.1 })
    expect(compared.map(({ name, now, isWorse }) => [name, now, isWorse])).toEqual([
      ['a', undefined, true],
      ['b', 0.4, false],
    ])
  })

  it('computes no median if few runs were valid', () => {
    const isVoid = { ...emptyResults(0, false), scenarios: { json: { ...NOTHING, ratios: {} } } }
    expect(mediansOf([run(0.5), run(0.4), isVoid, isVoid])).toEqual({})
    expect(mediansOf([run(0.5), run(0.4), isVoid])).toEqual({ 'json.to_echo': 0.45 })
    const never = { ...NOTHING, ratios: { to_echo: Number.NaN } }
    expect(mediansOf([{ ...isVoid, scenarios: { json: never } }])).toEqual({})
  })

  it('treats a skipped scenario as a chosen one', () => {
    const skipped = { ...run(0.5), skipped: { listeners: 'no setting' } }
    expect(scenariosOf([skipped])).toEqual(['json', 'listeners'])
  })

  it.each(['0', '-1', 'x', '', '1.5'])('refuses --runs %s by its name', (text) => {
    expect(() => runsOf(text)).toThrow(CompareError)
    expect(() => runsOf(text)).toThrow('--runs')
  })

  it('explains how to write a missing baseline', () => {
    expect(() => readBaseline('/nowhere/baseline.json')).toThrow('bench:compare -- --write')
  })

  it('reads results that a run has written, and refuses other files', () => {
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

describe('a baseline', () => {
  const { machine } = emptyResults(0, false)
  const at = '1970-01-01T00:00:00.000Z'
  const mixed = { at, machine, short: false, ratios: { to_echo: 0.3, to_json: 0.8 } }
  const before: Baseline = { mixed, json: { ...mixed, ratios: { to_echo: 0.1 } } }

  it('written with some scenarios keeps the others', () => {
    const after = merged(before, [run(0.2), run(0.41), run(0.4)])
    expect(after).toEqual({ mixed, json: { ...mixed, ratios: { to_echo: 0.4 } } })
    expect(merged({}, [run(0.4)])).toEqual({ json: { ...mixed, ratios: { to_echo: 0.4 } } })
    expect(merged(before, [run(0.4)], ['audit'])).toEqual(before)
  })

  it('is not written without a ratio that it contained, or without any ratio', () => {
    const isVoid = { ...run(1), scenarios: { json: { ...NOTHING, ratios: {} } } }
    expect(() => merged(before, [isVoid])).toThrow(CompareError)
    const other = { ...run(1), skipped: { mixed: 'why' } }
    expect(() => merged(before, [other])).toThrow('mixed was not measured: to_echo, to_json')
    expect(() => merged({}, [])).toThrow('no ratio')
  })

  it('is compared by its own scenarios, and reports missing ones', () => {
    expect(ratiosOf(before, ['json'])).toEqual({ 'json.to_echo': 0.1 })
    expect(() => ratiosOf(before, ['latency'])).toThrow('no latency in')
  })

  it('of another machine causes a warning, of the short form an error', () => {
    expect(warningsOf(before, ['json'], [run(1)])).toEqual([])
    const elsewhere = { ...run(1), machine: { ...machine, cores: 64 } }
    expect(warningsOf(before, ['json', 'mixed'], [elsewhere])).toHaveLength(1)
    expect(() => warningsOf(before, ['json'], [{ ...run(1), short: true }])).toThrow('long form')
  })
})

describe('a benchmark run', () => {
  it('has failed if any correctness check is violated, regardless of its ratios', () => {
    const results = run(0.4)
    expect(failuresOf(results)).toEqual([])
    results.scenarios['audit'] = { ...NOTHING, ratios: {}, failures: ['2 subscribers differ'] }
    expect(failuresOf(results)).toEqual(['audit: 2 subscribers differ'])
  })
})

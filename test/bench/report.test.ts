import { readdirSync, readFileSync } from 'node:fs'
import { SaxesParser } from 'saxes'
import { describe, expect, it } from 'vitest'
import { CONSOLE_SCENARIOS } from '../../bench/console/scenarios.ts'
import { resultMarkdown, tableMarkdown } from '../../bench/report/markdown.ts'
import { pagesOf } from '../../bench/report/pages.ts'
import { plotsOf } from '../../bench/report/plots.ts'
import { emptyResults } from '../../bench/report/results.ts'
import { saturation } from '../../bench/report/saturation.ts'
import { barPlot, linePlot, niceAbove } from '../../bench/report/svg.ts'
import { goalText, isMet, tableText } from '../../bench/report/text.ts'
import { SCENARIOS } from '../../bench/scenarios.ts'

/** Every number of a plot; throws if it is not well-formed XML. */
function coordinates(svg: string): number[] {
  const numbers: number[] = []
  const parser = new SaxesParser()
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    expect(['svg', 'rect', 'line', 'text', 'circle', 'polyline']).toContain(name)
    for (const key of ['x', 'y', 'cx', 'cy', 'width', 'height', 'points', 'x1', 'y1']) {
      const text = String(attributes[key] ?? '')
      if (text !== '') numbers.push(...text.split(/[ ,]/).map(Number))
    }
  })
  parser.write(svg).close()
  return numbers
}

const AXES = { title: 'a < b & "c"', x: 'x', y: "y's" }

describe('plots', () => {
  it.each([
    [
      'linear',
      [
        [0, 1],
        [5, 3],
        [10, 2.5],
      ],
      false,
    ],
    [
      'logarithmic',
      [
        [100, 0.02],
        [20_000, 5],
        [40_000, 900],
      ],
      true,
    ],
    ['without points', [], false],
    ['with zeros only', [[0, 0]], true],
  ] as [string, [number, number][], boolean][])(
    'are well-formed and within bounds: %s',
    (_, points, isLog) => {
      const svg = linePlot({ ...AXES, isLogarithmic: isLog }, [{ name: '<p99>', points }])
      for (const number of coordinates(svg)) {
        expect(number).toBeGreaterThanOrEqual(0)
        expect(number).toBeLessThanOrEqual(720)
      }
      expect(svg).toContain('&lt;p99&gt;')
    },
  )

  it('place greater values higher', () => {
    const svg = linePlot(AXES, [
      {
        name: 'a',
        points: [
          [1, 1],
          [2, 9],
        ],
      },
    ])
    const [first = 0, second = 0] = [...svg.matchAll(/cy="([\d.]+)"/g)].map(([, y]) => Number(y))
    expect(second).toBeLessThan(first)
  })

  it('have bars in proportion', () => {
    const svg = barPlot('stages', 'µs', [
      ['decode', 2],
      ['script', 8],
    ])
    expect(coordinates(svg).every(Number.isFinite)).toBe(true)
    const widths = [...svg.matchAll(/width="([\d.]+)" height="17"/g)].map(([, w]) => Number(w))
    expect((widths[1] ?? 0) / (widths[0] ?? 1)).toBeCloseTo(4, 1)
  })

  it('are created from known curves only', () => {
    const points = [[1, 1]] as const
    const curves = { latency: [{ name: 'p50', points }], unknown: [{ name: 'x', points }] }
    expect(plotsOf(curves).map(({ file }) => file)).toEqual(['latency.svg'])
  })

  it('end an axis at a round number', () => {
    expect([0, 0.7, 1, 1.3, 2.2, 4, 7, 41_000].map(niceAbove)).toEqual([
      1, 1, 1, 2, 2.5, 5, 10, 50_000,
    ])
  })
})

describe('pages', () => {
  it('of bench/results belong to a scenario each, and docs/PERFORMANCE.md links them', () => {
    const names = [...SCENARIOS, ...CONSOLE_SCENARIOS].map(({ name }) => name)
    const ofOtherCommands = ['report', 'delivery']
    const files = readdirSync(new URL('../../bench/results', import.meta.url))
    const pages = files.filter((file) => file.endsWith('.md'))
    const all = [...ofOtherCommands, ...names].map((name) => `${name}.md`).sort()
    expect(all).toEqual(expect.arrayContaining(pages))
    const text = readFileSync(new URL('../../docs/PERFORMANCE.md', import.meta.url), 'utf8')
    for (const page of pages) expect(text).toContain(`(../bench/results/${page})`)
  })

  it('have no void rows and goals', () => {
    const text = resultMarkdown({
      figures: {},
      ratios: {},
      tables: [
        {
          title: 'T',
          columns: ['', '%'],
          rows: [
            ['a', 1],
            ['b', '2 % VOID'],
          ],
        },
      ],
      goals: [{ what: 'p99', is: 1, wanted: { atMost: 8 }, isVoid: true }],
      notes: ['5000/s is VOID'],
    })
    expect(text).toBe('**T**\n\n|  | % |\n|---|---:|\n| a | 1 |\n\n- 5000/s is VOID')
  })
})

describe('tables', () => {
  const table = {
    title: 'T',
    columns: ['', 'per second'],
    rows: [
      ['a|b', 1],
      ['c', 20],
    ],
  }

  it('are aligned as text', () => {
    expect(tableText(table).split('\n')).toEqual([
      'T',
      '       per second',
      '  a|b           1',
      '  c            20',
    ])
  })

  it('escape vertical bars in Markdown cells', () => {
    expect(tableMarkdown(table)).toContain('|  | per second |\n|---|---:|\n| a\\|b | 1 |')
  })

  it('treat a goal as met at its bound', () => {
    expect(isMet({ what: '', is: 1, wanted: { atLeast: 1 } })).toBe(true)
    expect(isMet({ what: '', is: 1, wanted: { atMost: 1 } })).toBe(true)
    expect(isMet({ what: '', is: 1.01, wanted: { atMost: 1 } })).toBe(false)
    expect(isMet({ what: '', is: 0.99, wanted: { atLeast: 1 } })).toBe(false)
  })

  it('treat a goal of a void value as missed', () => {
    const goal = { what: 'p99', is: 1, wanted: { atMost: 8 }, isVoid: true }
    expect(isMet(goal)).toBe(false)
    expect(goalText(goal)).toContain('VOID')
  })

  it('state on each page when and where it was measured', () => {
    const nothing = { figures: {}, ratios: {}, goals: [], tables: [] }
    const results = (atMs: number, cores: number, names: readonly string[]) => ({
      ...emptyResults(atMs, false),
      machine: { processor: 'P', cores, node: 'v20' },
      scenarios: Object.fromEntries(names.map((name) => [name, { ...nothing, notes: [name] }])),
    })
    const pages = pagesOf([results(0, 2, ['json', 'audit']), results(864e5, 8, ['json'])])
    expect(pages.get('json')).toContain('1970-01-02 00:00 UTC, 8 cores')
    expect(pages.get('audit')).toContain('1970-01-01 00:00 UTC, 2 cores')
    const isVoid = { ...nothing, notes: ['the run is VOID'] }
    expect([...pagesOf([{ ...emptyResults(0, false), scenarios: { json: isVoid } }])]).toEqual([])
  })
})

describe('the saturation estimate', () => {
  const costs = { main: 10, workers: 12, helpers: 3, redis: 8 }

  it('is limited by the cores while there are few, then by the main thread', () => {
    const few = saturation(costs, 2)
    expect(few.heldBy).toBe('cores')
    expect(few.oneLoop).toBeCloseTo(1.8e6 / 33)
    expect(saturation(costs, 16)).toMatchObject({ heldBy: 'main thread', oneLoop: 100_000 })
  })

  it('of several event loops is limited by a single Redis, and grows with a cluster', () => {
    const many = saturation(costs, 32)
    expect(many.loops).toBe(125_000)
    expect(many.clustered).toBeGreaterThan(many.loops)
  })

  it('is limited by Redis if it has the highest cost', () => {
    expect(saturation({ ...costs, redis: 50 }, 32)).toMatchObject({ heldBy: 'Redis' })
  })
})

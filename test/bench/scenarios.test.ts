import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseCommandStats, sumOf } from '../../bench/measure/figures.ts'
import { windowOf } from '../../bench/measure/load.ts'
import { collectionsIn } from '../../bench/measure/loop-delays.ts'
import { openLoopTable } from '../../bench/measure/open-loops.ts'
import { partsOf } from '../../bench/report/parts.ts'
import { failuresIn } from '../../bench/scenarios/audit.ts'
import { notAdmittedOf, ratesOf } from '../../bench/scenarios/latency.ts'
import { grows } from '../../bench/scenarios/sustained.ts'

describe('a backlog', () => {
  it('grows if the last third is longer by more than six seconds of entries', () => {
    const backlog = [0, 20, 10, 150, 220, 300, 400, 420, 410]
    expect(grows(backlog, 60)).toBe(true)
    expect(grows(backlog, 100)).toBe(false)
    expect(grows(backlog, 10_000)).toBe(false)
  })

  it('does not grow if it fluctuates', () => {
    expect(grows([0, 900, 100, 700, 0, 800, 300, 900, 200], 300)).toBe(false)
    expect(grows([], 300)).toBe(false)
  })
})

describe('the parts of a whole', () => {
  const known = [
    { name: 'a', micros: 2 },
    { name: 'b', micros: 6 },
  ]
  const sum = (parts: readonly { micros: number }[]) =>
    parts.reduce((total, { micros }) => total + micros, 0)

  it('are the known parts and the rest', () => {
    const { parts, scale } = partsOf(known, 10, 'rest')
    expect(parts).toEqual([...known, { name: 'rest', micros: 2 }])
    expect(scale).toBe(1)
  })

  it('never exceed the whole, and are reduced by a reported factor', () => {
    const { parts, scale } = partsOf(known, 4, 'rest')
    expect(parts.map(({ micros }) => micros)).toEqual([1, 3, 0])
    expect([sum(parts), scale]).toEqual([4, 0.5])
    expect(partsOf([], 3, 'rest').parts).toEqual([{ name: 'rest', micros: 3 }])
  })
})

describe('the rows of the latency table', () => {
  it('relate refused, failed and unanswered requests to the due ones', () => {
    const one = { admitted: 997, refused: 1, failed: 0, unanswered: 0 }
    const two = { admitted: 0, refused: 0, failed: 1, unanswered: 1 }
    expect(notAdmittedOf([one])).toBeCloseTo(1 / 998)
    expect(notAdmittedOf([one, two])).toBe(0.003)
    expect(notAdmittedOf([{ ...one, refused: 0 }])).toBe(0)
  })

  it('include half of saturation, and no rate twice', () => {
    expect(ratesOf(40_000)).toEqual([4_000, 5_000, 10_000, 20_000, 30_000, 36_000])
    expect(ratesOf(19_000)).toContain(9_500)
    expect(ratesOf(19_000)).toContain(10_000)
    expect(ratesOf(1_000)).toEqual([100, 250, 500, 750, 900])
  })
})

describe('the audit', () => {
  it('fails on a difference between ledger and lines, and on a failed audit', () => {
    expect(failuresIn([], 0)).toEqual([])
    expect(failuresIn(['100001: charged 1, recorded 0'], 0)).toHaveLength(1)
    expect(failuresIn([], 3)).toEqual(['tollgate audit ended with 3'])
  })
})

describe('benchmark statistics', () => {
  it('of Redis contain the calls that scripts make', () => {
    const text =
      'cmdstat_xadd:calls=12,usec=99,usec_per_call=8.25\r\ncmdstat_memory|usage:calls=64,usec=7'
    expect(parseCommandStats(text)).toEqual([
      { name: 'xadd', calls: 12, micros: 99 },
      { name: 'memory|usage', calls: 64, micros: 7 },
    ])
  })

  it('of the product are added up over its processes, by the complete name', () => {
    const text = 'a_total{node="n",role="r"} 2\na_total{node="n",role="s"} 3\na_total_more 100\n'
    expect(sumOf(text, 'a_total')).toBe(5)
  })
})

it('the pauses of a load are those of its time, by thread and kind', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-gc-'))
  try {
    writeFileSync(join(folder, 'gc-0.log'), '1500 3.00 scavenge\n')
    const worker = ['900 50 scavenge', '1000 4 scavenge', '1900 8 scavenge', '1950 131 compact', '']
    writeFileSync(join(folder, 'gc-2.log'), worker.join('\n'))
    const of = (thread: 'main' | 'workers', kind: 'scavenge' | 'compact') =>
      collectionsIn(folder, thread, kind, [1_000, 2_000])
    expect(of('main', 'scavenge')).toEqual({ count: 1, meanMs: 3, longestMs: 3 })
    expect(of('main', 'compact')).toEqual({ count: 0, meanMs: 0, longestMs: 0 })
    expect(of('workers', 'scavenge')).toEqual({ count: 2, meanMs: 6, longestMs: 8 })
    const window = windowOf({ flows: [], cpuMicros: 0, seconds: 1 })
    const collections = [of('workers', 'compact')]
    const refused = { new: 3, queue: 0, memory: 1 }
    const [row] = openLoopTable([{ name: 'a', window, refused, collections }]).rows
    expect(row?.slice(6)).toEqual(['new 3, memory 1', 0, '1 × 131 (131)'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

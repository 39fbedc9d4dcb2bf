import { describe, expect, it } from 'vitest'
import type { PhaseResult } from '../../bench/generator/job.ts'
import { PhaseMeter } from '../../bench/generator/phase-meter.ts'
import { PhaseTally } from '../../bench/generator/tally.ts'
import { windowOf } from '../../bench/measure/load.ts'

describe('the processor time of the generator', () => {
  it('is measured per phase: an idle phase does not hide the expensive one before it', () => {
    let cpu = 5_000
    const meter = new PhaseMeter([1000, 4000], () => cpu)
    meter.begin()
    cpu += 200_000
    meter.look(500)
    cpu += 300_000
    meter.look(1000)
    cpu += 150_000
    meter.look(2500)
    cpu += 150_000
    meter.look(4000)
    cpu += 1_000_000
    meter.end(7000)
    expect([meter.core(0), meter.core(1)]).toEqual([0.5, 0.1])
  })

  it('covers the time until the load ends, even if it ends before its phases', () => {
    let cpu = 0
    const meter = new PhaseMeter([1000, 2000], () => cpu)
    meter.begin()
    cpu += 100_000
    meter.end(500)
    expect([meter.core(0), meter.core(1)]).toEqual([0.2, 0])
  })

  it('of a window is that of its worst phase', () => {
    const phases = [0.1, 0.7, 0.2].map((core) => new PhaseTally().result(1, core))
    const result = { flows: [{ name: 'one', phases: phases as PhaseResult[] }] }
    expect(windowOf({ ...result, cpuMicros: 1_000_000, seconds: 3 }).generatorCore).toBe(0.7)
  })
})

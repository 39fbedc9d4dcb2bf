import { describe, expect, it } from 'vitest'
import { ProcessorShare } from '../../src/recorder/restraint.ts'

const CORES = 2
const SLICE_MS = 5
/** Processor time per request: of the recorder, and of the store that it loads. */
const OWN_MS = 0.033
const STORE_MS = 0.011
const REQUEST_BYTES = 70

interface Load {
  /** Cores that charging would use. */
  charging: number
  perSecond: number
  /** Multiple of the usual cost of a request for the recorder. */
  cost?: number
}

/** Two cores, which all share fairly, and a recorder with a backlog. */
class Machine {
  readonly share = new ProcessorShare({ cores: CORES, fullSpeedPercent: 25 }, () => this.#idleMs)
  backlog: number
  #nowMs = 1_000
  #ownMs = 500
  #idleMs = 0
  #observedMs = 0

  constructor(backlog = 10_000_000) {
    this.backlog = backlog
  }

  begin(): void {
    this.share.begin(this.#nowMs)
  }

  /** Returns the cores that the recorder itself used, and the part of the time that it rested. */
  run(seconds: number, load: Load, limitBytes = 1e12): { own: number; rested: number } {
    const from = { nowMs: this.#nowMs, ownMs: this.#ownMs }
    let restedMs = 0
    while (this.#nowMs < from.nowMs + seconds * 1_000) {
      this.#work(load)
      const restMs = this.share.restMs(this.#nowMs, this.#ownMs)
      this.#pass(restMs, load, 0)
      restedMs += restMs
      if (this.#nowMs - this.#observedMs >= 1_000) this.#observe(limitBytes)
    }
    const forMs = this.#nowMs - from.nowMs
    return { own: (this.#ownMs - from.ownMs) / forMs, rested: restedMs / forMs }
  }

  #work(load: Load): void {
    const { charging, cost = 1 } = load
    const store = STORE_MS / OWN_MS
    const demand = charging + 1 + store
    this.#pass(SLICE_MS * Math.max(1, demand / CORES), load, SLICE_MS * (1 + store))
    this.#ownMs += SLICE_MS
    this.backlog = Math.max(0, this.backlog - SLICE_MS / (OWN_MS * cost))
  }

  #pass(forMs: number, { charging, perSecond }: Load, usedMs: number): void {
    this.#nowMs += forMs
    this.#idleMs += Math.max(0, (CORES - charging) * forMs - usedMs)
    this.backlog += (perSecond * forMs) / 1_000
  }

  #observe(limitBytes: number): void {
    this.#observedMs = this.#nowMs
    const streamBytes = this.backlog * REQUEST_BYTES
    this.share.observe({ streamBytes, otherBytes: 0, limitBytes }, this.#nowMs)
  }
}

const HALF: Load = { charging: 1, perSecond: 8_000 }

describe('the recorder', () => {
  it('keeps to its share beside charging', () => {
    const machine = new Machine()
    expect(machine.run(60, HALF).own).toBeCloseTo(0.4, 1)
    expect(machine.backlog).toBeLessThan(10_000_000)
  })

  it('works at full speed while charging is idle, or on another machine', () => {
    const machine = new Machine()
    machine.run(10, HALF)
    machine.run(1, { charging: 0.2, perSecond: 8_000 })
    expect(machine.run(10, { charging: 0.2, perSecond: 8_000 }).rested).toBe(0)
  })

  it('keeps its share again as soon as charging needs the cores', () => {
    const machine = new Machine()
    machine.run(10, { charging: 0, perSecond: 0 })
    machine.run(0.5, HALF)
    expect(machine.run(2, HALF).own).toBeLessThan(0.5)
  })

  it('catches up beside the highest lasting load', () => {
    const machine = new Machine(1_000_000)
    const load = { charging: CORES, perSecond: 9_200 }
    // Before it would leave its share.
    expect(machine.run(14, load).rested).toBeGreaterThan(0)
    expect(machine.backlog).toBeLessThan(980_000)
  })

  it('leaves its share until it has caught up if the backlog grows', () => {
    const machine = new Machine(1_000_000)
    const costly = { charging: 1, perSecond: 8_000, cost: 2.5 }
    expect(machine.run(14, costly).own).toBeLessThan(0.5)
    machine.run(3, costly)
    expect(machine.run(60, costly).rested).toBe(0)
    expect(machine.backlog).toBeLessThan(1_000_000)
    machine.begin()
    expect(machine.run(10, costly).own).toBeLessThan(0.5)
  })

  it('works at full speed from a share of the memory on', () => {
    const machine = new Machine(1_000_000)
    const limitBytes = machine.backlog * REQUEST_BYTES * 3
    machine.run(2, HALF, limitBytes)
    expect(machine.run(10, HALF, limitBytes).rested).toBe(0)
    machine.run(30, HALF, limitBytes * 2)
    expect(machine.run(1, HALF, limitBytes * 2).own).toBeLessThan(0.5)
  })
})

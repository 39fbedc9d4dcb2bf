/** Admission of a node in simulated time: below its peak, above it, and after stalls. */
import { describe, expect, it } from 'vitest'
import { createAdmission } from '../../src/realtime/admission.ts'
import {
  type Mix,
  NodeModel,
  type Outcomes,
  type Pause,
  PEAK,
  quantile,
  refusedIn,
} from '../support/realtime/node-model.ts'

const TARGET_MS = 20
/** One start, ten reports that request more, and one release. */
const SESSIONS: Mix = { opening: 8, asking: 5, report: 79, termination: 8 }
/** Gateways that mostly ask: their reports stay below the peak at three times the load. */
const ASKING: Mix = { opening: 45, asking: 30, report: 20, termination: 5 }

const KINDS = ['thread', 'inline'] as const

function nodeOf(kind: (typeof KINDS)[number]): NodeModel {
  const queue = { targetMs: TARGET_MS, newSessionsPercent: 80, limitMin: 160 }
  const options = { inFlightMax: 4096, reportsBytesMax: 64 * 1024 ** 2, waitMsMax: 2_500, queue }
  return new NodeModel(createAdmission(options), kind)
}

/** Pauses of the kinds and lengths that a node under load has shown. */
const SCAVENGES: readonly Pause[] = Array.from({ length: 28 }, (_, index) => {
  return { part: 'worker', atMs: 150 + index * 210, forMs: [7, 9, 18, 8, 31, 9][index % 6] ?? 9 }
})
const stallsOf = (workerMs: number): readonly Pause[] => [
  ...SCAVENGES,
  { part: 'worker', atMs: 1_000, forMs: workerMs },
  { part: 'redis', atMs: 2_000, forMs: 14 },
  { part: 'redis', atMs: 2_600, forMs: 80 },
  { part: 'main', atMs: 3_500, forMs: 60 },
  { part: 'worker', atMs: 4_500, forMs: workerMs },
  // Redis forks while the backlog of the pause is still being answered.
  { part: 'redis', atMs: 4_510 + workerMs, forMs: 30 },
]

describe.each(KINDS)('below the peak, with a worker of the kind %s,', (kind) => {
  it('nothing is refused of a burst after an idle time', () => {
    const node = nodeOf(kind)
    expect(refusedIn(node.run(1_000, 0, SESSIONS))).toBe(0)
    const cold = [{ part: 'worker', atMs: 0, forMs: 60 }] as const
    expect(refusedIn(node.run(40, PEAK / 2, { ...SESSIONS, opening: 79, report: 8 }, cold))).toBe(0)
  })

  for (const share of [0.1, 0.5, 0.7]) {
    it.each([30, 130])(`nothing is refused: ${share} of it, pauses of %d ms`, (workerMs) => {
      const node = nodeOf(kind)
      const outcomes = node.run(6_000, share * PEAK, SESSIONS, stallsOf(workerMs))
      expect(refusedIn(outcomes)).toBe(0)
      expect(quantile(outcomes, 1)).toBeLessThan(workerMs + 100)
    })
  }
})

const refusedShare = ({ admitted, refused }: Outcomes, load: 'opening' | 'asking') =>
  refused[load] / (admitted[load] + refused[load])

const OVERLOADS = [1.5, 3].flatMap((times) => KINDS.map((kind) => ({ times, kind })))

describe.each(OVERLOADS)('$times times the peak, $kind,', ({ times, kind }) => {
  const node = nodeOf(kind)
  node.run(1_000, 0.5 * PEAK, ASKING)

  it('bounds the latency of what is admitted, also when it begins and with pauses', () => {
    expect(quantile(node.run(1_000, times * PEAK, ASKING), 0.99)).toBeLessThan(250)
    const lasting = node.run(3_000, times * PEAK, ASKING)
    expect(quantile(lasting, 0.99)).toBeLessThan(1.5 * TARGET_MS)
    expect(lasting.tookMs.length).toBeGreaterThan(0.98 * 3_000 * PEAK)
    expect(quantile(node.run(6_000, times * PEAK, ASKING, stallsOf(130)), 0.99)).toBeLessThan(250)
  })

  it('bounds it although the answers stall again and again', () => {
    const stalls = Array.from({ length: 60 }, (_, index): Pause => {
      return { part: 'redis', atMs: index * 90, forMs: 25 }
    })
    node.run(1_000, times * PEAK, ASKING, stalls)
    expect(quantile(node.run(4_000, times * PEAK, ASKING, stalls), 0.99)).toBeLessThan(100)
  })

  it('refuses starts first, then what only asks, and neither reports nor terminations', () => {
    const outcomes = node.run(2_000, times * PEAK, ASKING)
    expect(refusedShare(outcomes, 'opening')).toBeGreaterThan(0.7)
    expect(refusedShare(outcomes, 'opening')).toBeGreaterThan(refusedShare(outcomes, 'asking'))
    expect(outcomes.refused).toMatchObject({ report: 0, termination: 0 })
    expect(outcomes.admitted.termination).toBeGreaterThan(0)
  })

  it('refuses nothing 100 ms after it has ended', () => {
    node.run(100, 0.7 * PEAK, ASKING)
    const after = node.run(3_000, 0.7 * PEAK, ASKING, SCAVENGES)
    expect(refusedIn(after)).toBe(0)
  })
})

it.each(KINDS)('refuses requests during a long stall, and nothing 100 ms later: %s', (kind) => {
  const node = nodeOf(kind)
  node.run(1_000, 0.7 * PEAK, ASKING)
  const stall = [{ part: 'redis', atMs: 0, forMs: 500 }] as const
  const outcomes = node.run(500, 0.7 * PEAK, ASKING, stall)
  expect(outcomes.refused.opening).toBeGreaterThan(100)
  expect(outcomes.refused).toMatchObject({ report: 0, termination: 0 })
  node.run(100, 0.7 * PEAK, ASKING)
  expect(refusedIn(node.run(2_000, 0.7 * PEAK, ASKING))).toBe(0)
})

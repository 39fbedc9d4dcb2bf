/** Ten thousand sessions that end at the same time, while other sessions continue. */

import type { Product } from '../../test/support/product/product.ts'
import {
  type Answers,
  type Beside,
  grantedBy,
  openSessions,
  type ReleaseProtocol,
  releaseAll,
  startUpdates,
} from '../mass-release.ts'
import { round } from '../measure/load.ts'
import type { Bench, Goal, Scenario, Table } from '../scenario.ts'
import { PAUSED } from './json.ts'

const SESSIONS = 10_000
const STEADY = 2_000
/** Continuing sessions, each with one request under way. */
const CONTINUING = 16
const CONNECTIONS: Readonly<Record<ReleaseProtocol, number>> = {
  diameter: 2,
  json: 1_000,
  keyValue: 1_000,
}
/** Upper bound for their latency meanwhile, ms. */
const P99_MS_MAX = 200

interface Round {
  protocol: ReleaseProtocol
  answers: Answers
  /** Releases per second: all at the same time, and before that a few at a time. */
  perSecond: number
  steadyPerSecond: number
  before: Beside
  during: Beside
}

export const releaseScenario: Scenario = {
  name: 'release',
  what: '10,000 sessions that end at once, over Diameter and HTTP: refusals, others beside them',
  async run(bench) {
    const product = await bench.product(PAUSED)
    const rounds: Round[] = []
    for (const protocol of ['diameter', 'json', 'keyValue'] as const) {
      rounds.push(await measure(bench, product, protocol))
    }
    const least = (figure: (one: Round) => number) => Math.min(...rounds.map(figure))
    const p99 = Math.max(...rounds.map(({ during }) => during.p99))
    const goals: Goal[] = [
      {
        what: 'p99 of the others meanwhile, ms',
        is: round(p99, 1),
        wanted: { atMost: P99_MS_MAX },
      },
    ]
    return {
      figures: { p99_beside_ms: round(p99, 1) },
      ratios: {
        to_steady: least(({ perSecond, steadyPerSecond }) => perSecond / steadyPerSecond),
      },
      goals,
      tables: [tableOf(rounds)],
      notes: [`${CONTINUING} sessions beside them report and ask, each after its last answer`],
      failures: rounds.flatMap(failuresOf),
    }
  },
}

async function measure(bench: Bench, product: Product, protocol: ReleaseProtocol): Promise<Round> {
  bench.say(`  ${protocol}`)
  const { subscribers } = bench.settings
  const mass = { protocol, subscribers, connections: CONNECTIONS[protocol] }
  const steady = { ...mass, run: `steady-${protocol}`, sessions: STEADY, connections: CONTINUING }
  await openSessions(product, { ...steady, connections: CONTINUING })
  const all = { ...mass, run: `mass-${protocol}`, sessions: SESSIONS }
  await openSessions(product, { ...all, connections: CONTINUING })
  const updates = await startUpdates(product, `beside-${protocol}`, CONTINUING)
  updates.begin()
  const paced = await releaseAll(product, { ...steady, underWay: CONTINUING })
  const before = updates.figures()
  updates.begin()
  const { answers, seconds } = await releaseAll(product, all)
  const during = updates.figures()
  await updates.stop()
  const [perSecond, steadyPerSecond] = [SESSIONS / seconds, STEADY / paced.seconds]
  return { protocol, answers, perSecond, steadyPerSecond, before, during }
}

function failuresOf({ protocol, answers }: Round): string[] {
  const released = answers[grantedBy(protocol)] ?? 0
  if (released === SESSIONS) return []
  return [`${protocol}: ${SESSIONS - released} releases were not taken: ${JSON.stringify(answers)}`]
}

function tableOf(rounds: readonly Round[]): Table {
  return {
    title: `${SESSIONS} sessions end at once`,
    columns: [
      '',
      'per second',
      'per second a few at a time',
      'not taken',
      'p99 of others before, ms',
      'p99 of others meanwhile, ms',
    ],
    rows: rounds.map(({ protocol, answers, perSecond, steadyPerSecond, before, during }) => [
      protocol,
      Math.round(perSecond),
      Math.round(steadyPerSecond),
      SESSIONS - (answers[grantedBy(protocol)] ?? 0),
      round(before.p99, 1),
      round(during.p99, 1),
    ]),
  }
}

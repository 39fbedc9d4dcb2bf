import { beforeEach, describe, expect, it } from 'vitest'
import type { NodeHealth } from '../../../src/admin/health.ts'
import { Alarms } from '../../../src/admin/live/alarms.ts'
import { ProcessRates } from '../../../src/admin/live/rates.ts'
import { latencyOf, numbersOf, sampleFigures } from '../../../src/admin/live/sample.ts'
import { createMetrics, type Metrics, type MetricsSnapshot } from '../../../src/runtime/metrics.ts'
import { useMadeEach } from '../../support/opened.ts'

const READY: NodeHealth = {
  status: 'ready',
  redis: 'ok',
  mongo: 'ok',
  ledger: 'ok',
  changes: 'ok',
  catalogue: 'ok',
}
const LIMITS = { lagWarnMs: 60_000, backlogWarnPercent: 40 }
let own: MetricsSnapshot
const rates = useMadeEach(() => new ProcessRates())
const alarms = useMadeEach(() => new Alarms(LIMITS))
beforeEach(async () => {
  own = await createMetrics({ node: 'n1', role: 'admin' }).snapshot()
})

const taken = async (metrics: Metrics, takenMs: number) => ({
  ...(await metrics.snapshot()),
  takenMs,
})

function figures(published: readonly MetricsSnapshot[] | null, more = {}) {
  return sampleFigures({ health: READY, published, own, hasRecorder: false, ...more }, rates(), 0)
}

const requests = (metrics: Metrics, count: number) => {
  for (let index = 0; index < count; index += 1) metrics.request('granted', 1, 3, 'ggsn', 'json')
}

describe('rates', () => {
  it('are the growth between two publications by the clock of the process', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    requests(metrics, 50)
    expect(figures([await taken(metrics, 1_000)]).sample.requests.granted).toBeNull()
    requests(metrics, 100)
    expect(figures([await taken(metrics, 3_000)]).sample.requests.granted).toBe(50)
  })

  it('stay until the next publication, so that no second counts twice or not at all', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    figures([await taken(metrics, 1_000)])
    requests(metrics, 10)
    const second = await taken(metrics, 2_000)
    expect(figures([second]).sample.requests.granted).toBe(10)
    expect(figures([second]).sample.requests.granted).toBe(10)
    expect(figures([await taken(metrics, 3_000)]).sample.requests.granted).toBe(0)
  })

  it('are added up over processes; one that has just restarted has none yet', async () => {
    const first = createMetrics({ node: 'n1', role: 'realtime' })
    const second = createMetrics({ node: 'n2', role: 'realtime' })
    figures([await taken(first, 1_000), await taken(second, 500_000)])
    requests(first, 10)
    requests(second, 5)
    const both = [await taken(first, 2_000), await taken(second, 501_000)]
    expect(figures(both).sample.requests.granted).toBe(15)
    const restarted = createMetrics({ node: 'n2', role: 'realtime' })
    requests(restarted, 3)
    requests(first, 20)
    const after = [await taken(first, 3_000), await taken(restarted, 800)]
    expect(figures(after).sample.requests.granted).toBe(20)
    requests(restarted, 4)
    const later = [await taken(first, 4_000), await taken(restarted, 1_800)]
    expect(figures(later).sample.requests.granted).toBe(4)
  })

  it('of a release that does not send the time are not known', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    const { takenMs: _, ...snapshot } = await metrics.snapshot()
    figures([snapshot])
    expect(figures([snapshot]).sample.requests.granted).toBeNull()
  })
})

describe('a sample', () => {
  it('has the recorder of the process that runs it, and never figures of others', async () => {
    const realtime = await taken(createMetrics({ node: 'n1', role: 'realtime' }), 1_000)
    expect(figures([realtime]).sample).toMatchObject({
      processes: { realtime: 1, recorder: 0 },
      sessions: { open: null },
      recorder: { backlog: null, age_s: null },
      load: { in_flight: 0 },
    })
    const admin = createMetrics({ node: 'n1', role: 'admin' })
    admin.openSessions(4)
    own = await admin.snapshot()
    expect(figures([realtime], { hasRecorder: true }).sample).toMatchObject({
      processes: { realtime: 1, recorder: 1 },
      sessions: { open: 4 },
    })
  })

  it('has null instead of old figures while Redis is away', () => {
    const { sample, alarms: about } = figures(null, { health: { ...READY, redis: 'unavailable' } })
    expect(sample).toMatchObject({ processes: null, load: { in_flight: null }, file_types: [] })
    expect(
      alarms()
        .update(sample.health, about, 0)
        .map(({ name }) => name),
    ).toEqual(['redis'])
  })

  it('has the connections of Diameter peers by state', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    metrics.diameter.readConnections(() => [
      { peerName: 'pcef', state: 'open' },
      { peerName: 'pcef', state: 'open' },
      { peerName: 'asterisk', state: 'suspect' },
    ])
    metrics.diameter.readSessions(() => 9)
    expect(figures([await taken(metrics, 1)]).sample.diameter).toMatchObject({
      sessions: 9,
      connections: 3,
      peers: [
        { peer: 'asterisk', state: 'suspect', connections: 1 },
        { peer: 'pcef', state: 'open', connections: 2 },
      ],
    })
  })

  it('has its numbers in the history under their paths', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    figures([await taken(metrics, 1_000)])
    requests(metrics, 2)
    metrics.workerCounts({ reservations: 6, commits: 3 })
    const { sample } = figures([await taken(metrics, 3_000)])
    const numbers = numbersOf({ ...sample, alarms: [] })
    expect(Object.fromEntries(numbers)).toMatchObject({
      'requests.granted': 1,
      'file_types.json.granted': 1,
      reservations: 3,
      'workers.commits': 1.5,
      'health.redis': 1,
      'latency.p99_ms': 5,
      'recorder.backlog': null,
      'processes.realtime': 1,
      alarms: 0,
    })
    expect([...numbers.keys()].filter((name) => /time|peers/.test(name))).toEqual([
      'processes.realtime',
    ])
  })
})

describe('latency', () => {
  const counts = (...rows: [string, number][]) => new Map(rows)

  it.each([
    ['no process', counts(), { p50_ms: null, p99_ms: null, beyond: null }],
    ['no requests', counts(['0.001', 0], ['+Inf', 0]), { p50_ms: null, p99_ms: null, beyond: 0 }],
    [
      'the bucket with the percentile',
      counts(['0.01', 100], ['0.001', 50], ['0.002', 98], ['+Inf', 100]),
      { p50_ms: 1, p99_ms: 10, beyond: 0 },
    ],
    [
      'the last bucket, and how many are beyond',
      counts(['0.001', 60], ['5', 90], ['+Inf', 100]),
      { p50_ms: 1, p99_ms: 5000, beyond: 10 },
    ],
  ])('is %s', (_, rows, expected) => {
    expect(latencyOf(rows)).toEqual(expected)
  })
})

describe('alarms', () => {
  const raised = (published: readonly MetricsSnapshot[], nowMs: number) => {
    const { sample, alarms: about } = figures(published, { hasRecorder: true })
    return alarms()
      .update(sample.health, about, nowMs)
      .map(({ name, since }) => `${name} ${since}`)
  }

  it('are raised and withdrawn with their figures, and say since when', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    expect(raised([await taken(metrics, 1)], 1_000)).toEqual([])
    metrics.redisCannotWrite(1)
    metrics.catalogueSkipped({ catalogueSkipped: { rates: 2 }, entities: [] })
    const expected = ['redis_cannot_write 2000', 'catalogue_skipped 2000']
    expect(raised([await taken(metrics, 2)], 2_000)).toEqual(expected)
    expect(raised([await taken(metrics, 3)], 3_000)).toEqual(expected)
    metrics.redisCannotWrite(0)
    expect(raised([await taken(metrics, 4)], 4_000)).toEqual(['catalogue_skipped 2000'])
    expect(raised([], 5_000)).toEqual(['charging 5000'])
  })

  it('for a counter that grows stay for a minute', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'realtime' })
    raised([await taken(metrics, 1_000)], 1_000)
    metrics.workerCounts({ damaged: 1 })
    expect(raised([await taken(metrics, 2_000)], 2_000)).toEqual(['profiles_damaged 2000'])
    expect(raised([await taken(metrics, 3_000)], 61_999)).toEqual(['profiles_damaged 2000'])
    expect(raised([await taken(metrics, 4_000)], 62_000)).toEqual([])
  })

  it('compare the backlog with the settings, and certificates with two weeks', async () => {
    const metrics = createMetrics({ node: 'n1', role: 'recorder' })
    const realtime = await taken(createMetrics({ node: 'n1', role: 'realtime' }), 1)
    const recorded = async () => raised([realtime, await taken(metrics, 1)], 0)
    metrics.streamLag(59.9, 1)
    metrics.streamMemory(1, 0.39)
    metrics.tls.used('admin', 15 * 24 * 3_600_000)
    expect(await recorded()).toEqual([])
    metrics.streamLag(60, 1)
    metrics.streamMemory(1, 0.4)
    metrics.tls.used('realtime', 13 * 24 * 3_600_000)
    expect(await recorded()).toEqual(['backlog_age 0', 'backlog_memory 0', 'certificate 0'])
  })
})

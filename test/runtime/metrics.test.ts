import { describe, expect, it } from 'vitest'
import type { DiameterMetrics } from '../../src/runtime/diameter-metrics.ts'
import {
  createMetrics,
  type Metrics,
  mergeSnapshots,
  parseSnapshot,
} from '../../src/runtime/metrics.ts'

const origin = (role: string) => ({ node: 'n1', role })
const linesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(name))

function countOverload({ readAdmission, dropped, workerCounts }: Metrics): void {
  const refused = { refusedNew: 3, refusedQueue: 2, refusedInFlight: 1, refusedMemory: 7 }
  const reports = { waiting: 12, reportsBytes: 34_000, refusedLate: 8 }
  readAdmission(() => ({ limit: 99.9, delayMs: 25, ...refused, ...reports }))
  dropped('gone', 4)
  dropped('late', 1)
  workerCounts({ late: 6 })
}

function countDiameter(diameter: DiameterMetrics): void {
  const ofPeer = { peerName: 'PGW', state: 'open' }
  diameter.readConnections(() => [ofPeer, ofPeer, { peerName: '', state: 'waitCer' }])
  diameter.readSessions(() => 11)
  diameter.readQueue(() => ({ pending: 12, dropped: 13 }))
  diameter.message('in', 272, true, 0)
  diameter.message('in', 272, true, 0)
  diameter.message('out', 272, false, 4012)
  // Values made up by peers do not become labels.
  for (const code of [0, 0xffffffff]) diameter.message('out', 272, false, code)
  for (const command of [4711, 0xffffff]) diameter.message('in', command, true, 0)
  diameter.refused('address')
  diameter.answerUnmatched()
  diameter.answerDropped()
  diameter.answerDropped()
  diameter.serverRequest('RAR', 'success')
}

function countRecording(metrics: Metrics): void {
  metrics.streamBacklog(6)
  metrics.streamMemory(1_048_576, 0.25)
  metrics.streamLag(75, 12)
  metrics.openSessions(7)
}

describe('metrics', () => {
  it('count skipped catalogue documents, and the requests that fail because of them', async () => {
    const metrics = createMetrics(origin('realtime'))
    const reason = 'x'.repeat(300)
    const left = { collection: 'rates', name: 'CALL', path: 'rates.call', reason }
    const gone = { ...left, collection: 'plans', name: 'GONE' }
    metrics.catalogueSkipped({ catalogueSkipped: { rates: 2, plans: 1 }, entities: [left, gone] })
    metrics.catalogueSkipped({ catalogueSkipped: { rates: 3, plans: 0 }, entities: [left] })
    metrics.workerCounts({ damaged: 6 })
    const text = await mergeSnapshots([await metrics.snapshot()])
    const labels = 'node="n1",role="realtime"'
    const named = `collection="rates",name="CALL",path="rates.call",reason="${'x'.repeat(200)}"`
    for (const line of [
      `tollgate_catalogue_skipped{collection="rates",${labels}} 3`,
      `tollgate_catalogue_skipped{collection="plans",${labels}} 0`,
      `tollgate_catalogue_skipped_entity{${named},${labels}} 1`,
      `tollgate_profiles_damaged_total{${labels}} 6`,
    ]) {
      expect(text.split('\n')).toContain(line)
    }
    expect(text).not.toContain('GONE')
  })

  it('have the documented names and labels', async () => {
    const metrics = createMetrics(origin('realtime'))
    metrics.request('granted', 1, 0.5)
    metrics.request('granted', 1, 3)
    metrics.request('denied', -1, 1)
    metrics.request('denied', -1, 1, 'PGW', 'gy')
    metrics.request('denied', -1, 1, 'PGW', 'json')
    metrics.request('denied', -1, 1, 'PGW', 'gy')
    metrics.refused('PGW', 'rate')
    metrics.refused('', 'credentials')
    metrics.refused('', 'credentials')
    metrics.batch(17)
    metrics.workerCounts({ commits: 9, conflicts: 2, loads: 3 })
    metrics.workerCounts({ commits: 1, busy: 4, reservations: 8 })
    metrics.catalogueSkipped({ catalogueSkipped: { rates: 3, plans: 0 }, entities: [] })
    metrics.readInFlight(() => 5)
    countRecording(metrics)
    countDiameter(metrics.diameter)
    const text = await mergeSnapshots([await metrics.snapshot()])
    const peer = 'tollgate_peer_requests_total{peer="PGW"'
    const labels = 'node="n1",role="realtime"'
    const messages = 'tollgate_diameter_messages_total'
    for (const line of [
      `tollgate_requests_total{outcome="granted",code="1",${labels}} 2`,
      `tollgate_requests_total{outcome="denied",code="-1",${labels}} 4`,
      `tollgate_peer_requests_total{peer="",file_type="",outcome="granted",code="1",${labels}} 2`,
      `${peer},file_type="gy",outcome="denied",code="-1",${labels}} 2`,
      `${peer},file_type="json",outcome="denied",code="-1",${labels}} 1`,
      `tollgate_requests_refused_total{peer="PGW",cause="rate",${labels}} 1`,
      `tollgate_requests_refused_total{peer="",cause="credentials",${labels}} 2`,
      `tollgate_request_duration_seconds_bucket{le="0.0002",${labels}} 0`,
      `tollgate_request_duration_seconds_bucket{le="0.0005",${labels}} 1`,
      `tollgate_request_duration_seconds_bucket{le="+Inf",${labels}} 6`,
      `tollgate_request_duration_seconds_count{${labels}} 6`,
      `tollgate_reservations_total{${labels}} 8`,
      `tollgate_batch_size_bucket{le="16",${labels}} 0`,
      `tollgate_batch_size_bucket{le="32",${labels}} 1`,
      `tollgate_batch_size_sum{${labels}} 17`,
      `tollgate_commits_total{${labels}} 10`,
      `tollgate_commit_conflicts_total{${labels}} 2`,
      `tollgate_ledger_loads_total{${labels}} 3`,
      `tollgate_turns_waited_total{${labels}} 4`,
      `tollgate_catalogue_skipped{collection="rates",${labels}} 3`,
      `tollgate_catalogue_skipped{collection="plans",${labels}} 0`,
      `tollgate_in_flight{${labels}} 5`,
      `tollgate_diameter_connections{peer="PGW",state="open",${labels}} 2`,
      `tollgate_diameter_connections{peer="",state="waitCer",${labels}} 1`,
      `tollgate_diameter_sessions{${labels}} 11`,
      `${messages}{direction="in",command="CC",type="request",result="",${labels}} 2`,
      `${messages}{direction="out",command="CC",type="answer",result="4012",${labels}} 1`,
      `${messages}{direction="out",command="CC",type="answer",result="other",${labels}} 2`,
      `${messages}{direction="in",command="other",type="request",result="",${labels}} 2`,
      `tollgate_diameter_peers_refused_total{cause="address",${labels}} 1`,
      `tollgate_diameter_unmatched_answers_total{${labels}} 1`,
      `tollgate_diameter_dropped_answers_total{${labels}} 2`,
      `tollgate_diameter_server_requests_total{kind="RAR",outcome="success",${labels}} 1`,
      `tollgate_diameter_server_requests_pending{${labels}} 12`,
      `tollgate_diameter_server_requests_dropped_total{${labels}} 13`,
      `tollgate_stream_backlog_entries{${labels}} 6`,
      `tollgate_stream_backlog_bytes{${labels}} 1048576`,
      `tollgate_stream_backlog_ratio{${labels}} 0.25`,
      `tollgate_stream_oldest_entry_seconds{${labels}} 75`,
      `tollgate_stream_drain_seconds{${labels}} 12`,
      `tollgate_open_sessions{${labels}} 7`,
    ]) {
      expect(text.split('\n')).toContain(line)
    }
    expect(linesOf(text, 'process_cpu_seconds_total')).toHaveLength(1)
  })

  it('report overload', async () => {
    const metrics = createMetrics(origin('realtime'))
    countOverload(metrics)
    const text = await mergeSnapshots([await metrics.snapshot()])
    const labels = 'node="n1",role="realtime"'
    for (const line of [
      `tollgate_admission_limit{${labels}} 99`,
      `tollgate_admission_delay_seconds{${labels}} 0.025`,
      `tollgate_overload_refused_total{cause="new",${labels}} 3`,
      `tollgate_overload_refused_total{cause="queue",${labels}} 2`,
      `tollgate_overload_refused_total{cause="in_flight",${labels}} 1`,
      `tollgate_overload_refused_total{cause="memory",${labels}} 7`,
      `tollgate_overload_refused_total{cause="waited",${labels}} 8`,
      `tollgate_reports_waiting{${labels}} 12`,
      `tollgate_reports_bytes{${labels}} 34000`,
      `tollgate_requests_dropped_total{cause="gone",${labels}} 4`,
      `tollgate_requests_dropped_total{cause="late",${labels}} 7`,
    ]) {
      expect(text.split('\n')).toContain(line)
    }
  })

  it('of several processes are combined in one text, after serialisation as JSON', async () => {
    const realtime = createMetrics(origin('realtime'))
    const admin = createMetrics(origin('admin'))
    realtime.openSessions(3)
    const sent = JSON.stringify(await realtime.snapshot())
    const received = parseSnapshot(sent)
    if (received === undefined) throw new Error('the snapshot is not understood')
    const text = await mergeSnapshots([received, await admin.snapshot()])
    expect(linesOf(text, 'tollgate_open_sessions')).toEqual([
      'tollgate_open_sessions{node="n1",role="realtime"} 3',
      'tollgate_open_sessions{node="n1",role="admin"} 0',
    ])
    expect(linesOf(text, '# TYPE tollgate_open_sessions ')).toHaveLength(1)
    expect(text).not.toMatch(/ (null|NaN|undefined)$/m)
  })

  it('of one process sent twice are counted once', async () => {
    const metrics = createMetrics(origin('realtime'))
    metrics.openSessions(3)
    const snapshot = await metrics.snapshot()
    const text = await mergeSnapshots([snapshot, snapshot])
    expect(linesOf(text, 'tollgate_open_sessions')).toHaveLength(1)
  })

  it('without a value are omitted: JSON has no NaN', async () => {
    const metrics = createMetrics(origin('realtime'))
    metrics.streamBacklog(Number.NaN)
    const received = parseSnapshot(JSON.stringify(await metrics.snapshot()))
    const text = await mergeSnapshots(received ? [received] : [])
    expect(linesOf(text, 'tollgate_stream_backlog_entries')).toEqual([])
    expect(linesOf(text, 'tollgate_open_sessions')).toHaveLength(1)
  })

  it('of several event loops are added up as one process', async () => {
    const first = createMetrics(origin('realtime'))
    const second = createMetrics(origin(''), 1)
    first.readLoops(async () => [await second.snapshot()])
    for (const [index, metrics] of [first, second].entries()) {
      metrics.request('granted', 1, 0.15)
      metrics.batch(3 + index * 20)
      metrics.workerCounts({ conflicts: 2 })
      metrics.readInFlight(() => 5)
      const refused = { refusedNew: 1, refusedQueue: 0, refusedInFlight: 0, refusedMemory: 0 }
      const reports = { waiting: 3, reportsBytes: 5, refusedLate: 0 }
      metrics.readAdmission(() => ({
        limit: 100,
        delayMs: 500 + 1000 * index,
        ...refused,
        ...reports,
      }))
    }
    second.request('granted', 1, 7)
    second.request('denied', -1, 7, 'PGW', 'gy')
    // Only the first event loop exports it.
    first.catalogueSkipped({ catalogueSkipped: { rates: 3 }, entities: [] })
    const received = parseSnapshot(JSON.stringify(await first.snapshot()))
    const text = await mergeSnapshots(received ? [received] : [])
    const labels = 'node="n1",role="realtime"'
    for (const line of [
      `tollgate_requests_total{outcome="granted",code="1",${labels}} 3`,
      `tollgate_requests_total{outcome="denied",code="-1",${labels}} 1`,
      `tollgate_request_duration_seconds_bucket{le="0.0002",${labels}} 2`,
      `tollgate_request_duration_seconds_count{${labels}} 4`,
      `tollgate_batch_size_sum{${labels}} 26`,
      `tollgate_commit_conflicts_total{${labels}} 4`,
      `tollgate_in_flight{${labels}} 10`,
      `tollgate_admission_limit{${labels}} 200`,
      `tollgate_admission_delay_seconds{${labels}} 1.5`,
      `tollgate_overload_refused_total{cause="new",${labels}} 2`,
      `tollgate_catalogue_skipped{collection="rates",${labels}} 3`,
      `tollgate_loop_requests_total{loop="0",${labels}} 1`,
      `tollgate_loop_requests_total{loop="1",${labels}} 3`,
    ]) {
      expect(text.split('\n')).toContain(line)
    }
    const busy = linesOf(text, 'tollgate_loop_busy_seconds_total')
    expect(busy.map((line) => /loop="(\d)"/.exec(line)?.[1])).toEqual(['0', '1'])
    // The metrics of Node describe the whole process, once.
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes']) {
      expect(linesOf(text, name)).toHaveLength(1)
      expect((await second.snapshot()).metrics.map((metric) => metric.name)).not.toContain(name)
    }
  })

  it('of two processes in one address space are separate', async () => {
    const one = createMetrics(origin('one'))
    const two = createMetrics(origin('two'))
    one.request('failed', -91, 1)
    const text = await mergeSnapshots([await two.snapshot()])
    expect(linesOf(text, 'tollgate_requests_total')).toEqual([])
  })

  it.each(['', 'no JSON', '1', 'null', '{}', '{"node":"a","role":"b","metrics":[1]}'])(
    '%j is refused as a snapshot',
    (text) => {
      expect(parseSnapshot(text)).toBeUndefined()
    },
  )
})

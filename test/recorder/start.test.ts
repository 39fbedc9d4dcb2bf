import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { streamBacklog } from '../../src/ledger/streams.ts'
import { startRecorder } from '../../src/recorder/start.ts'
import { createMetrics, mergeSnapshots } from '../../src/runtime/metrics.ts'
import { useOpened } from '../support/opened.ts'
import {
  holdUnits,
  loadOwner,
  NOW_MS,
  silent,
  startTestStores,
  topUp,
} from '../support/recorder/accounts.ts'

const stores = useOpened(startTestStores)

it('the recorder drains streams, expires abandoned sessions and serves metrics', async () => {
  await topUp(stores().ledger, 1, 11, 1_000, 'op-1')
  await holdUnits(stores().ledger, 1, 11, 300, NOW_MS + 5)
  await holdUnits(stores().ledger, 1, 11, 200, NOW_MS + 1_000_000)
  expect(await loadOwner(stores().ledger, 1, 11)).toMatchObject({
    buckets: [{ free: 500, reserved: 500 }],
  })
  const env = {
    ...stores().environment,
    TOLLGATE_SWEEP_INTERVAL_MS: '20',
    TOLLGATE_RECORDER_BLOCK_MS: '20',
    TOLLGATE_RECORDER_GATHER_MS: '20',
  }
  const metrics = createMetrics({ node: 'test', role: 'recorder' })
  const recorder = await startRecorder({
    config: loadConfig({ env }),
    log: silent,
    metrics,
    clock: { nowMs: () => NOW_MS + 10 },
  })
  const exposition = async () => (await mergeSnapshots([await metrics.snapshot()])).split('\n')
  const metric = async (name: string) =>
    (await exposition()).find((line) => line.startsWith(`${name}{`))?.split(' ')[1]
  await expect.poll(() => metric('tollgate_sessions_expired_total')).toBe('1')
  await expect.poll(() => metric('tollgate_entries_recorded_total')).toBe('4')
  await expect.poll(() => metric('tollgate_open_sessions')).toBe('1')
  // An empty stream still has its own overhead.
  expect(Number(await metric('tollgate_stream_backlog_bytes'))).toBeGreaterThan(0)
  expect(Number(await metric('tollgate_stream_backlog_ratio'))).toBeGreaterThan(0)
  expect(await loadOwner(stores().ledger, 1, 11)).toMatchObject({
    buckets: [{ free: 800, reserved: 200 }],
  })
  await recorder.stop(1_000)
  expect(await streamBacklog(stores().ledger)).toBe(0)
  const [projected] = await stores().catalog.balances.find({ aid: 1, sid: 11 }).toArray()
  expect(projected).toMatchObject({ v: 4, free: 800, reserved: 200 })
})

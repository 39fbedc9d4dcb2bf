import { expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { isInline, loopConfig, workersOf } from '../../src/realtime/thread-context.ts'

const configOf = (listeners: number, inFlightMax: number) =>
  loadConfig({
    env: {
      TOLLGATE_REALTIME_LISTENERS: String(listeners),
      TOLLGATE_REALTIME_IN_FLIGHT_MAX: String(inFlightMax),
    },
  })

it('divides the requests in flight, with at least one for each event loop', () => {
  for (const [listeners, inFlightMax, each] of [
    [1, 4096, 4096],
    [4, 4096, 1024],
    [3, 4096, 1365],
    [4, 2, 1],
  ] as const) {
    const config = configOf(listeners, inFlightMax)
    for (const loop of [0, listeners - 1]) {
      expect(loopConfig(config, loop).realtime.inFlightMax).toBe(each)
    }
  }
})

it('assigns Diameter to the first event loop, and changes nothing more', () => {
  const config = configOf(2, 2)
  expect(loopConfig(config, 0)).toEqual({
    ...config,
    realtime: {
      ...config.realtime,
      inFlightMax: 1,
      batchesInFlightMax: Math.ceil(config.realtime.batchesInFlightMax / 2),
      reportsBytesMax: config.realtime.reportsBytesMax / 2,
    },
  })
  expect(loopConfig(config, 1)).toEqual({
    ...loopConfig(config, 0),
    diameter: { ...config.diameter, enabled: false },
  })
})

it('assigns each event loop the configured workers, or its share of the remaining cores', () => {
  expect(workersOf({ workers: 3, listeners: 2 }, 2)).toBe(3)
  const automatic = (listeners: number, cores: number) =>
    workersOf({ workers: 0, listeners }, cores)
  expect([1, 2, 8].map((cores) => automatic(1, cores))).toEqual([1, 1, 7])
  expect([1, 2, 4, 8, 16].map((cores) => automatic(2, cores))).toEqual([1, 1, 1, 3, 7])
  expect([4, 8, 16, 32].map((cores) => automatic(4, cores))).toEqual([1, 1, 3, 7])
})

it('runs the only worker on the event loop on one or two cores, or as configured', () => {
  const { workerKind } = configOf(1, 1).realtime
  const automatic = (workers: number, listeners: number, cores: number) =>
    isInline({ workerKind, workers, listeners }, cores)
  for (const workers of [0, 1]) {
    const byCores = [1, 2, 3, 4].map((cores) => automatic(workers, 1, cores))
    expect(byCores).toEqual([true, true, false, false])
  }
  expect([automatic(2, 1, 2), automatic(0, 2, 2)]).toEqual([false, false])
  for (const cores of [1, 8]) {
    expect(isInline({ workerKind: 'inline', workers: 0, listeners: 1 }, cores)).toBe(true)
    expect(isInline({ workerKind: 'thread', workers: 0, listeners: 1 }, cores)).toBe(false)
  }
})

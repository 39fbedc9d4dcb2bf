/** Values of the charts: one a second, with gaps where there was no sample. */
import { expect, it } from 'vitest'
import type { LiveSample } from '../src/api/live.ts'
import { SeriesStore } from '../src/pages/overview/series-store.ts'

const T = 1_795_705_200_000
const GRANTED = 'requests.granted'

function sampleAt(timeMs: number, granted: number | null): LiveSample {
  const sample = {
    time: timeMs,
    requests: { granted },
    reservations: granted,
    file_types: [{ name: 'my.type', granted, denied: 1, failed: 0 }],
    peers: [],
    alarms: [],
  }
  return sample as unknown as LiveSample
}

function valuesOf(store: SeriesStore, name = GRANTED) {
  return store.window().values.get(name) ?? []
}

it('samples extend the history; seconds without one are gaps', () => {
  const store = new SeriesStore()
  const series = { [GRANTED]: [5, null, 7] }
  store.addHistory({ from: T, to: T + 2_000, step_ms: 1_000, series })
  store.addSample(sampleAt(T + 5_000, 9))
  expect(valuesOf(store).slice(-6)).toEqual([5, null, 7, null, null, 9])
  expect(store.lastMs).toBe(T + 5_000)
})

it('what is not newer changes nothing', () => {
  const store = new SeriesStore()
  store.addSample(sampleAt(T, 1))
  store.addSample(sampleAt(T, 2))
  store.addHistory({ from: T - 1_000, to: T, step_ms: 1_000, series: { [GRANTED]: [8, 8] } })
  expect(valuesOf(store).slice(-2)).toEqual([null, 1])
})

it('all series are 900 seconds long, also after a pause of an hour', () => {
  const store = new SeriesStore()
  store.addSample(sampleAt(T, 1))
  store.addSample(sampleAt(T + 3_600_000, 2))
  const names = [GRANTED, 'reservations', 'file_types.my.type.granted', 'file_types.my.type.denied']
  for (const name of names) {
    expect(valuesOf(store, name)).toHaveLength(900)
    expect(valuesOf(store, name).at(-1)).not.toBeNull()
  }
  expect(
    valuesOf(store)
      .slice(0, -1)
      .every((value) => value === null),
  ).toBe(true)
})

it('a figure that is not known is a gap', () => {
  const store = new SeriesStore()
  store.addSample(sampleAt(T, 1))
  store.addSample(sampleAt(T + 1_000, null))
  expect(valuesOf(store).slice(-2)).toEqual([1, null])
})

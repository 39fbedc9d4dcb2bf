/** Live data of the overview. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { followLive, type LiveSample, type LiveState, readHistory } from '../../api/live.ts'
import { SeriesStore, type SeriesWindow } from './series-store.ts'

/** More missing seconds than this are read from the history. */
const GAP_MS = 1_500

export interface OverviewData {
  readonly live: ReadonlySignal<LiveState>
  readonly series: ReadonlySignal<SeriesWindow>
  readonly isPaused: ReadonlySignal<boolean>
  /** The shown sample: the newest, or the one at which the page was paused. */
  readonly sample: ReadonlySignal<LiveSample | null>
  pause(isPaused: boolean): void
}

export function useOverviewData(): OverviewData {
  const { data, start } = useMemo(createData, [])
  useEffect(start, [start])
  return data
}

function createData() {
  const store = new SeriesStore()
  const live = signal<LiveState>({ sample: null, atMs: null, mode: 'connecting', refusal: null })
  const series = signal<SeriesWindow>(store.window())
  const shown = signal<LiveSample | null>(null)
  const isPaused = signal(false)
  const show = () => {
    if (isPaused.peek()) return
    series.value = store.window()
    shown.value = live.peek().sample
  }
  const add = async (sample: LiveSample) => {
    const { lastMs } = store
    if (lastMs === null || sample.time - lastMs > GAP_MS) {
      const history = await readHistory(lastMs === null ? 0 : lastMs + 1)
      if (history !== null) store.addHistory(history)
    }
    store.addSample(sample)
    show()
  }
  const pause = (paused: boolean) => {
    isPaused.value = paused
    show()
  }
  const start = () => {
    const follower = followLive()
    let adding = Promise.resolve()
    const unsubscribe = follower.state.subscribe((state) => {
      const { sample } = state
      const isNew = sample !== null && sample !== live.peek().sample
      live.value = state
      if (!isNew) return
      // The state of the stores is not to wait for the history.
      if (!isPaused.peek()) shown.value = sample
      adding = adding.then(() => add(sample))
    })
    return () => {
      unsubscribe()
      follower.stop()
    }
  }
  const data: OverviewData = { live, series, isPaused, sample: shown, pause }
  return { data, start }
}

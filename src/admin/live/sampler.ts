/** Makes one sample a second for all viewers. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { type AlarmLimits, Alarms } from './alarms.ts'
import { type LiveHistory, SampleRing } from './history.ts'
import { ProcessRates } from './rates.ts'
import { type LiveReading, type LiveSample, numbersOf, sampleFigures } from './sample.ts'

/** A sample, and its JSON text, which is written once for all viewers. */
export interface MadeSample {
  readonly sample: LiveSample
  readonly json: string
}

export interface LiveSampler {
  /** Begins to sample if the history is kept. */
  start(): void
  /** The newest sample; makes one if there is none of this second or the one before. */
  current(): Promise<MadeSample>
  /** Calls the listener with each sample until the returned function is called. */
  watch(listener: (made: MadeSample) => void): () => void
  /** The values from an instant on, ms since 1970. */
  history(fromMs: number): LiveHistory
  stop(): void
}

export interface SamplerOptions {
  /** Settles within a second. */
  read(): Promise<LiveReading>
  /** The real time. */
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  readonly limits: AlarmLimits
  /** Whether samples are also made without viewers. */
  readonly keepsHistory: boolean
}

const SECOND_MS = 1_000
/** Timers may fire a little early, in the second before. */
const EARLY_MS = 20
/** After a single sample: a second one soon after has rates. */
const POLLED_MS = 10_000

export function createSampler(options: SamplerOptions): LiveSampler {
  const { clock, log, keepsHistory } = options
  const listeners = new Set<(made: MadeSample) => void>()
  const rates = new ProcessRates()
  const alarms = new Alarms(options.limits)
  const ring = new SampleRing()
  let latest: MadeSample | null = null
  let making: Promise<MadeSample> | null = null
  let timer: NodeJS.Timeout | undefined
  let polledMs = Number.NEGATIVE_INFINITY
  let isStopped = false

  const timeMs = () => clock.nowMs() + EARLY_MS
  const isWanted = () =>
    keepsHistory || listeners.size > 0 || Math.abs(timeMs() - polledMs) < POLLED_MS

  const make = async (): Promise<MadeSample> => {
    const nowMs = timeMs()
    const figures = sampleFigures(await options.read(), rates, nowMs)
    const { health } = figures.sample
    const sample = { ...figures.sample, alarms: alarms.update(health, figures.alarms, nowMs) }
    ring.add(sample.time, numbersOf(sample))
    latest = { sample, json: JSON.stringify(sample) }
    return latest
  }
  /** Calls that overlap share a sample. */
  const makeOnce = (): Promise<MadeSample> => {
    making ??= make().finally(() => {
      making = null
    })
    return making
  }
  const tick = async () => {
    timer = undefined
    try {
      const made = await makeOnce()
      for (const listener of listeners) listener(made)
    } catch (error) {
      log.error({ err: error }, 'a live sample could not be made')
    }
    arm()
  }
  const arm = () => {
    if (timer !== undefined || isStopped) return
    if (!isWanted()) {
      // The rates of a later sample would be those of the whole pause.
      rates.clear()
      return
    }
    timer = setTimeout(tick, SECOND_MS - (timeMs() % SECOND_MS))
    timer.unref()
  }
  return {
    start: arm,
    async current() {
      polledMs = timeMs()
      const isFresh = latest !== null && polledMs - latest.sample.time < 2 * SECOND_MS
      const made = isFresh && latest !== null ? latest : await makeOnce()
      arm()
      return made
    },
    watch(listener) {
      listeners.add(listener)
      arm()
      return () => {
        listeners.delete(listener)
      }
    },
    history: (fromMs) => ring.read(fromMs),
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

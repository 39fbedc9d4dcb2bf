/** Makes one sample a second for all viewers. */
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { type AlarmLimits, Alarms } from './alarms.ts'
import { type LiveHistory, SampleRing } from './history.ts'
import { ProcessRates } from './rates.ts'
import { type LiveReading, numbersOf, sampleFigures } from './sample.ts'
import type { LiveSample } from './sample-schema.ts'

/** A sample, and its JSON text, which is written once for all viewers. */
export interface MadeSample {
  readonly sample: LiveSample
  readonly json: string
}

export interface LiveSampler {
  /** Begins to sample if the history is kept. */
  start(): void
  /** The newest sample; makes one unless this second or the one before has one. */
  current(): Promise<MadeSample>
  /**
   * Calls the listener with the newest sample, if it is recent, and with each further one until the
   * returned function is called.
   */
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
  return new Sampler(options)
}

class Sampler implements LiveSampler {
  readonly #options: SamplerOptions
  readonly #listeners = new Set<(made: MadeSample) => void>()
  readonly #rates = new ProcessRates()
  readonly #alarms: Alarms
  readonly #ring = new SampleRing()
  #latest: MadeSample | null = null
  #making: Promise<MadeSample> | null = null
  #timer: NodeJS.Timeout | undefined
  #polledMs = Number.NEGATIVE_INFINITY
  #isStopped = false

  constructor(options: SamplerOptions) {
    this.#options = options
    this.#alarms = new Alarms(options.limits)
  }

  start(): void {
    this.#arm()
  }

  async current(): Promise<MadeSample> {
    const nowMs = this.#timeMs()
    this.#polledMs = nowMs
    const made = this.#recent(nowMs) ?? (await this.#makeOnce())
    this.#arm()
    return made
  }

  watch(listener: (made: MadeSample) => void): () => void {
    this.#listeners.add(listener)
    this.#arm()
    const recent = this.#recent(this.#timeMs())
    if (recent !== null) listener(recent)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  history(fromMs: number): LiveHistory {
    return this.#ring.read(fromMs)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /** The sample of this second or the one before, if there is one. */
  #recent(nowMs: number): MadeSample | null {
    const latest = this.#latest
    return latest !== null && nowMs - latest.sample.time < 2 * SECOND_MS ? latest : null
  }

  #timeMs(): number {
    return this.#options.clock.nowMs() + EARLY_MS
  }

  #isWatched(): boolean {
    const isPolled = Math.abs(this.#timeMs() - this.#polledMs) < POLLED_MS
    return this.#options.keepsHistory || this.#listeners.size > 0 || isPolled
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isStopped) return
    if (!this.#isWatched()) {
      // The rates of a later sample would be those of the whole pause.
      this.#rates.clear()
      return
    }
    const leftMs = SECOND_MS - (this.#timeMs() % SECOND_MS)
    this.#timer = setTimeout(() => void this.#tick(), leftMs)
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    this.#timer = undefined
    try {
      const made = await this.#makeOnce()
      for (const listener of this.#listeners) listener(made)
    } catch (error) {
      this.#options.log.error({ err: error }, 'a live sample could not be made')
    }
    this.#arm()
  }

  /** Calls that overlap share a sample. */
  #makeOnce(): Promise<MadeSample> {
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    return this.#making
  }

  async #make(): Promise<MadeSample> {
    const nowMs = this.#timeMs()
    const figures = sampleFigures(await this.#options.read(), this.#rates, nowMs)
    const { health } = figures.sample
    const sample = { ...figures.sample, alarms: this.#alarms.update(health, figures.alarms, nowMs) }
    this.#ring.add(sample.time, numbersOf(sample))
    const made = { sample, json: JSON.stringify(sample) }
    this.#latest = made
    return made
  }
}

/** Supervises a process: starts it, restarts it when it exits unexpectedly, and stops it. */
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { KilledAtStartError } from './errors.ts'

export interface Running {
  readonly pid: number | undefined
  /** Resolves with the exit reason when it has exited for any reason. */
  readonly exited: Promise<string>
  /** Bounded in time; the process has exited when this resolves. */
  stop(): Promise<void>
}

/** A standby that can replace the running process; it may still be starting. */
export interface StandbyProcess extends Pick<Running, 'exited' | 'stop'> {
  /** Rejects if the standby cannot take over; it has exited then. */
  takeOver(): Promise<Running>
}

export interface Supervisor {
  /**
   * Rejects if the first start fails or `stop` was called. A process that was killed while it
   * started is started again, a few times.
   */
  start(): Promise<void>
  /** May be called at any time. No process is running when it resolves. */
  stop(): Promise<void>
}

export interface SupervisorOptions {
  readonly name: string
  readonly begin: () => Promise<Running>
  /** Prepares a standby, one at a time; undefined for none. */
  readonly prepare?: (() => StandbyProcess) | undefined
  readonly log: Pick<Logger, 'warn' | 'error'>
}

/** Further starts of a process that is killed during its first start. */
const RESTARTS_AT_START = 5
const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 10_000
/** A process that ran this long is restarted without increased back-off. */
const STEADY_MS = 5_000
/** Delays the standby until the main process has started up. */
const STANDBY_AFTER_MS = 500

export function createSupervisor(options: SupervisorOptions): Supervisor {
  return new ProcessSupervisor(options)
}

class ProcessSupervisor implements Supervisor {
  readonly #options: SupervisorOptions
  readonly #standbys: StandbySupervisor | null
  #isStopping = false
  #starting: Promise<Running> | undefined
  #running: Running | undefined
  #startedMs = 0
  #pauseMs = PAUSE_MS_MIN
  #timer: NodeJS.Timeout | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    const { prepare, log, name } = options
    this.#standbys = prepare === undefined ? null : new StandbySupervisor(name, prepare, log)
  }

  async start(): Promise<void> {
    for (let left = RESTARTS_AT_START; ; left -= 1) {
      try {
        return await this.#begin(this.#options.begin)
      } catch (error) {
        if (!(error instanceof KilledAtStartError) || left === 0 || this.#isStopping) throw error
        this.#tellRetry(error)
        await delay(this.#nextPauseMs())
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    const spareStopped = this.#standbys?.stop()
    const starting = await this.#starting?.catch(() => undefined)
    await (this.#running ?? starting)?.stop()
    await spareStopped
  }

  async #begin(begin: () => Promise<Running>): Promise<void> {
    const { name } = this.#options
    if (this.#isStopping) throw new Error(`${name} is not started: tollgate is stopping`)
    this.#startedMs = monotonicMs()
    this.#starting = begin()
    try {
      this.#running = await this.#starting
    } finally {
      this.#starting = undefined
    }
    this.#standbys?.schedule()
    void this.#running.exited.then((how) => this.#ended(how))
  }

  #ended(how: string): void {
    this.#running = undefined
    if (this.#isStopping) return
    const { name, log } = this.#options
    if (monotonicMs() - this.#startedMs > STEADY_MS) this.#pauseMs = PAUSE_MS_MIN
    log.error({ part: name, how }, `${name} exited unexpectedly and is restarted`)
    const standby = this.#standbys?.take()
    if (standby === undefined) this.#beginLater()
    else this.#attempt(() => standby.takeOver())
  }

  #beginLater(): void {
    this.#timer = setTimeout(() => this.#attempt(this.#options.begin), this.#nextPauseMs())
  }

  #nextPauseMs(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
    return pauseMs
  }

  #tellRetry(error: unknown): void {
    const { name, log } = this.#options
    log.error({ part: name, err: error }, `${name} failed to start and is retried`)
  }

  #attempt(begin: () => Promise<Running>): void {
    this.#begin(begin).catch((error: unknown) => {
      if (this.#isStopping) return
      this.#tellRetry(error)
      this.#beginLater()
    })
  }
}

/** Keeps one standby prepared from the first call of `schedule` on. */
class StandbySupervisor {
  readonly #name: string
  readonly #prepare: () => StandbyProcess
  readonly #log: Pick<Logger, 'warn'>
  #isStopping = false
  #standby: StandbyProcess | undefined
  #pauseMs = PAUSE_MS_MIN
  #timer: NodeJS.Timeout | undefined

  constructor(name: string, prepare: () => StandbyProcess, log: Pick<Logger, 'warn'>) {
    this.#name = name
    this.#prepare = prepare
    this.#log = log
  }

  /** Prepares a standby after the delay unless there is one. */
  schedule(afterMs = STANDBY_AFTER_MS): void {
    clearTimeout(this.#timer)
    if (this.#isStopping || this.#standby !== undefined) return
    this.#timer = setTimeout(() => this.#begin(), afterMs)
  }

  /** Undefined if there is no standby. */
  take(): StandbyProcess | undefined {
    clearTimeout(this.#timer)
    const taken = this.#standby
    this.#standby = undefined
    return taken
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.take()?.stop()
  }

  #begin(): void {
    const startedMs = monotonicMs()
    const standby = this.#prepare()
    this.#standby = standby
    void standby.exited.then((how) => {
      // The standby has been taken.
      if (this.#isStopping || this.#standby !== standby) return
      this.#standby = undefined
      this.#log.warn({ part: this.#name, how }, 'a standby has exited and is prepared again')
      if (monotonicMs() - startedMs > STEADY_MS) this.#pauseMs = PAUSE_MS_MIN
      this.schedule(this.#pauseMs)
      this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX)
    })
  }
}

/** Shows the clock of the installation, and moves it forward. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Gateways } from '../../billing/cards/gateways.ts'
import type { Actor } from '../../catalog/actor.ts'
import type { Audit } from '../../catalog/audit/audit.ts'
import { advanceClock } from '../../catalog/installation-clock.ts'
import type { Config } from '../../config/schema.ts'
import { EntityRuleError, fieldRule, RequestError } from '../../requests/errors.ts'
import { offsetMs, raiseOffset, realTimeOf } from '../../runtime/clock.ts'
import type { ClockView, MovedClock, RanWork } from './answers.ts'
import { DAY_MS, type DueParts, type DueWork, dueWork, settledJobs } from './due-work.ts'

export interface ClockParts extends DueParts {
  readonly audit: Audit
  readonly config: DueParts['config'] & Pick<Config, 'clock' | 'catalog'>
  readonly charges: { readonly gateways: Pick<Gateways, 'live'> }
}

export interface ClockMover {
  show(): ClockView
  /**
   * Moves the clock to `toMs` and runs what is due between. Rejects with `RequestError` 403 if it
   * is no test clock, 409 while another move runs, or 503 if the process stops; with
   * `EntityRuleError` for a time that is past or too far ahead, or beside a live gateway.
   */
  move(toMs: number, actor: Actor): Promise<MovedClock>
  /** Interrupts a move; the clock stays at the time that it has reached. */
  stop(): void
}

/** Limit of one move. */
const YEARS_MAX = 10
const MOVE_MS_MAX = YEARS_MAX * 366 * DAY_MS

export function createClockMover(parts: ClockParts): ClockMover {
  const { clock, config } = parts
  const abort = new AbortController()
  let isMoving = false
  return {
    show() {
      const { start, test } = config.clock
      const ahead_ms = clock.ahead === undefined ? 0 : offsetMs(clock.ahead)
      const now = new Date(clock.nowMs())
      const time_zone = config.rating.timeZone
      return { now, time_zone, ahead_ms, test, start: start === '' ? null : start }
    },
    async move(toMs, actor) {
      if (!config.clock.test) {
        throw new RequestError(403, 'clock.test is false: the clock cannot be moved')
      }
      if (isMoving) throw new RequestError(409, 'the clock is being moved')
      isMoving = true
      try {
        await check(parts, toMs)
        return await new Move(parts, toMs, abort.signal).run(actor)
      } finally {
        isMoving = false
      }
    },
    stop: () => abort.abort(),
  }
}

async function check({ clock, charges }: ClockParts, toMs: number): Promise<void> {
  const nowMs = clock.nowMs()
  if (toMs < nowMs) {
    const reached = new Date(nowMs).toISOString()
    throw fieldRule('to', `is before ${reached}: the clock never goes back`)
  }
  if (toMs - nowMs > MOVE_MS_MAX) {
    throw fieldRule('to', `is more than ${YEARS_MAX} years ahead: move in several steps`)
  }
  const live = await charges.gateways.live()
  if (live !== null) {
    throw new EntityRuleError(
      `payment gateway ${live} has a key of production: remove it to move the clock`,
      'refused',
    )
  }
}

interface Scheduled {
  readonly work: DueWork
  notBeforeMs: number
  pauseMs: number
}

class Move {
  readonly #parts: ClockParts
  readonly #toMs: number
  readonly #signal: AbortSignal
  readonly #ran: RanWork[] = []
  readonly #runs: Record<string, number> = {}

  constructor(parts: ClockParts, toMs: number, signal: AbortSignal) {
    this.#parts = parts
    this.#toMs = toMs
    this.#signal = signal
  }

  async run(actor: Actor): Promise<MovedClock> {
    const { audit, clock, config } = this.#parts
    const fromMs = clock.nowMs()
    const [from, to] = [new Date(fromMs), new Date(this.#toMs)]
    const entry = { collection: 'clock', type: 'move', key: 'clock', old: { now: from } }
    await audit.record(actor, fromMs, { ...entry, new: { now: to } })
    const scheduled = dueWork(this.#parts).map((work): Scheduled => {
      return { work, notBeforeMs: fromMs, pauseMs: work.everyMs }
    })
    for (;;) {
      const next = await this.#earliest(scheduled)
      if (next === null) break
      await this.#set(next.atMs)
      await this.#run(next.scheduled)
    }
    await this.#set(this.#toMs)
    for (const each of scheduled) await this.#runLast(each)
    // Every process that reaches MongoDB has read the clock in two polls.
    await delay(2 * config.catalog.pollMs, undefined, { signal: this.#signal }).catch(() => null)
    return { from, now: new Date(clock.nowMs()), ran: this.#ran, runs: this.#runs }
  }

  /** The time stands still while jobs run: what they do is dated by it. */
  async #earliest(
    all: readonly Scheduled[],
  ): Promise<{ scheduled: Scheduled; atMs: number } | null> {
    const { jobs } = await settledJobs(this.#parts, this.#signal)
    const due = await Promise.all(all.map(({ work }) => work.dueMs(jobs)))
    let earliest: { scheduled: Scheduled; atMs: number } | null = null
    for (const [index, scheduled] of all.entries()) {
      const atMs = Math.max(due[index] ?? Infinity, scheduled.notBeforeMs)
      if (atMs <= this.#toMs && atMs < (earliest?.atMs ?? Infinity)) earliest = { scheduled, atMs }
    }
    return earliest
  }

  /** Work of the last part of the move that had run shortly before. */
  async #runLast(scheduled: Scheduled): Promise<void> {
    const { jobs } = await settledJobs(this.#parts, this.#signal)
    const dueMs = await scheduled.work.dueMs(jobs)
    if (dueMs !== null && dueMs <= this.#parts.clock.nowMs()) await this.#run(scheduled)
  }

  async #run(scheduled: Scheduled): Promise<void> {
    const { work } = scheduled
    const at = new Date(this.#parts.clock.nowMs())
    const { done, isByOthers } = await work.run(this.#signal)
    this.#stopIfAborted()
    for (const each of done) this.#ran.push({ job: work.name, at, ...each })
    this.#runs[work.name] = (this.#runs[work.name] ?? 0) + 1
    const hasEffect = done.some(({ error }) => error === undefined)
    scheduled.pauseMs =
      hasEffect || isByOthers
        ? work.everyMs
        : Math.max(work.everyMs, Math.min(2 * scheduled.pauseMs, DAY_MS))
    scheduled.notBeforeMs = at.getTime() + scheduled.pauseMs
  }

  /** This process first: what it runs next must see the time. */
  async #set(atMs: number): Promise<void> {
    this.#stopIfAborted()
    const { catalog, clock } = this.#parts
    const aheadMs = Math.ceil(atMs - realTimeOf(clock).nowMs())
    await advanceClock(catalog, aheadMs)
    if (clock.ahead !== undefined) raiseOffset(clock.ahead, aheadMs)
  }

  #stopIfAborted(): void {
    if (!this.#signal.aborted) return
    const reached = new Date(this.#parts.clock.nowMs()).toISOString()
    throw new RequestError(503, `the process is stopping: the clock was moved to ${reached}`)
  }
}

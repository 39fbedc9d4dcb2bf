/** A running load: combines sessions of the ring, slots of the link, and the schedule. */
import { performance } from 'node:perf_hooks'
import type { Flow, FlowResult } from './job.ts'
import type { Link } from './link.ts'
import { ownCpuMicros, PhaseMeter } from './phase-meter.ts'
import { Schedule, seededRandom } from './schedule.ts'
import type { Fate, SessionRing } from './session-ring.ts'
import { PhaseTally } from './tally.ts'

/** How long to wait for answers after the end of the load. */
const ANSWER_WAIT_MS = 3_000
const SEED = 20_261_121

export class FlowRun {
  readonly #nowMs: () => number
  readonly #flow: Flow
  readonly #ring: SessionRing
  readonly #link: Link
  readonly #tallies: PhaseTally[]
  readonly #begins: number[] = []
  /** Null in a closed loop. */
  readonly #schedule: Schedule | null
  readonly #free: number[] = []
  /** Session of the request in each slot. */
  readonly #session: Int32Array
  readonly #isStart: Uint8Array
  readonly #dueMs: Float64Array
  readonly #phase: Uint8Array
  readonly #endMs: number
  readonly #meter: PhaseMeter
  #startMs = 0
  /** The time since which a slot and a session are available for the next due request. */
  #sendableMs = 0
  #lastMs = 0
  #underWay = 0
  #finish: (() => void) | null = null

  /** `nowMs`: a monotonic clock. */
  constructor(flow: Flow, ring: SessionRing, link: Link, nowMs = () => performance.now()) {
    this.#nowMs = nowMs
    this.#flow = flow
    this.#ring = ring
    this.#link = link
    const random = flow.gaps === 'random' ? seededRandom(SEED) : null
    const isClosed = flow.phases.every(({ perSecond }) => perSecond === 0)
    this.#schedule = isClosed ? null : new Schedule(flow.phases, random)
    this.#tallies = flow.phases.map(() => new PhaseTally())
    let begin = 0
    for (const { seconds } of flow.phases) {
      this.#begins.push(begin)
      begin += seconds * 1000
    }
    this.#endMs = begin
    this.#meter = new PhaseMeter([...this.#begins.slice(1), begin], ownCpuMicros)
    this.#session = new Int32Array(link.slots)
    this.#isStart = new Uint8Array(link.slots)
    this.#dueMs = new Float64Array(link.slots)
    this.#phase = new Uint8Array(link.slots)
  }

  /** Resolves when all due requests are answered, or the waiting time has elapsed. */
  run(): Promise<void> {
    this.#startMs = this.#nowMs()
    this.#meter.begin()
    for (let slot = this.#link.slots - 1; slot >= 0; slot -= 1) this.#free.push(slot)
    return new Promise((resolve) => {
      this.#finish = resolve
      this.pump()
    })
  }

  /** Sends due requests as long as there are slots and sessions. */
  pump(): void {
    if (this.#finish === null) return
    const nowMs = this.#nowMs() - this.#startMs
    this.#meter.look(nowMs)
    if (this.#schedule === null) this.#refill(nowMs)
    else this.#sendDue(this.#schedule, nowMs)
    const isSent = this.#schedule === null || this.#schedule.dueMs === Number.POSITIVE_INFINITY
    const isOver = isSent && this.#underWay === 0
    if (isOver || nowMs > this.#endMs + ANSWER_WAIT_MS) this.#end()
  }

  answered(slot: number, fate: Fate, answer: number): void {
    const nowMs = this.#nowMs() - this.#startMs
    const phase = this.#phase[slot] ?? 0
    const dueMs = this.#dueMs[slot] ?? 0
    const sinceMs = dueMs - (this.#begins[phase] ?? 0)
    this.#tallies[phase]?.answer(fate, answer, this.#isStart[slot] === 1, sinceMs, nowMs - dueMs)
    this.#lastMs = nowMs
    this.#underWay -= 1
    if (this.#free.length === 0 || this.#ring.free === 0) this.#sendableMs = nowMs
    this.#ring.release(this.#session[slot] ?? 0, fate)
    this.#free.push(slot)
    this.pump()
  }

  result(): FlowResult {
    const { name, phases } = this.#flow
    const isClosed = this.#schedule === null
    const secondsOf = (seconds: number) => (isClosed ? this.#lastMs / 1000 : seconds)
    return {
      name,
      phases: this.#tallies.map((tally, index) =>
        tally.result(secondsOf(phases[index]?.seconds ?? 0), this.#meter.core(index)),
      ),
    }
  }

  #refill(nowMs: number): void {
    while (nowMs < this.#endMs && this.#free.length > 0) {
      const session = this.#ring.take()
      if (session < 0) return
      this.#send(session, 0, nowMs, nowMs)
    }
  }

  #sendDue(schedule: Schedule, nowMs: number): void {
    while (schedule.dueMs <= nowMs && this.#free.length > 0) {
      const session = this.#ring.take()
      if (session < 0) return
      this.#send(session, schedule.duePhase, schedule.dueMs, nowMs)
      schedule.take()
    }
  }

  #send(session: number, phase: number, dueMs: number, nowMs: number): void {
    const slot = this.#free.pop() as number
    this.#session[slot] = session
    this.#isStart[slot] = this.#ring.step[session] === 0 ? 1 : 0
    this.#dueMs[slot] = dueMs
    this.#phase[slot] = phase
    this.#underWay += 1
    const waitedMs = Math.max(0, this.#sendableMs - dueMs)
    this.#tallies[phase]?.sent(waitedMs, nowMs - dueMs - waitedMs)
    this.#link.send(slot, session)
  }

  /** Requests still under way or never sent count as not answered. */
  #end(): void {
    const taken = new Set(Array.from({ length: this.#link.slots }, (_, slot) => slot))
    for (const slot of this.#free) taken.delete(slot)
    for (const slot of taken) {
      this.#link.abandon(slot)
      this.#unanswered(this.#phase[slot] ?? 0)
      this.#ring.release(this.#session[slot] ?? 0, 'failed')
    }
    const schedule = this.#schedule
    while (schedule !== null && schedule.dueMs !== Number.POSITIVE_INFINITY) {
      this.#unanswered(schedule.duePhase)
      schedule.take()
    }
    this.#meter.end(this.#nowMs() - this.#startMs)
    const finish = this.#finish
    this.#finish = null
    finish?.()
  }

  #unanswered(phase: number): void {
    const tally = this.#tallies[phase]
    if (tally !== undefined) tally.unanswered += 1
  }
}

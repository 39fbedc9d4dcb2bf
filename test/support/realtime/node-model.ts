/**
 * A realtime node in simulated time, with the real admission: requests arrive at random, a worker
 * and Redis process batches one after the other, and each of them and the main thread may pause. An
 * inline worker keeps the main thread busy, and pauses with it.
 */
import { type Admission, TICK_MS } from '../../../src/realtime/admission.ts'
import type { LoadClass } from '../../../src/realtime/load-class.ts'
import { createRandom } from '../workers/random.ts'
import { requestOf } from './requests.ts'

/** Requests per ms that the worker settles in full batches. */
export const PEAK = 18
const BATCH_SIZE_MAX = 64
const BATCHES_IN_FLIGHT_MAX = 3
/** Time of a batch besides that of its requests. */
const BATCH_MS = 0.3
const REDIS_REQUEST_MS = 1 / 60
const STEP_MS = 0.1
const BYTES = 200
const SEED = 20_261_130

type Part = 'main' | 'worker' | 'redis'

export interface Pause {
  readonly part: Part
  readonly atMs: number
  readonly forMs: number
}

/** Requests of each class among a hundred. */
export type Mix = Readonly<Record<LoadClass, number>>

interface Arrival {
  readonly candidate: { request: ReturnType<typeof requestOf>; load: LoadClass; bytes: number }
  readonly atMs: number
}

interface Batch {
  readonly requests: readonly Arrival[]
  leftMs: number
}

/** Outcomes of the requests that arrived in one phase. */
export interface Outcomes {
  readonly admitted: Record<LoadClass, number>
  readonly refused: Record<LoadClass, number>
  readonly tookMs: number[]
}

export class NodeModel {
  nowMs = 0
  readonly #admission: Admission
  readonly #isInline: boolean
  readonly #random = createRandom(SEED)
  readonly #queued: Arrival[] = []
  readonly #stages: Record<'worker' | 'redis', Batch[]> = { worker: [], redis: [] }
  #answers: Arrival[] = []
  #arrived: Arrival[] = []
  #dueMs = 0
  #tickMs = 0
  #sessions = 0
  /** The pauses of a part that are not over, by their begin. */
  readonly #pauses: Record<Part, Pause[]> = { main: [], worker: [], redis: [] }
  #outcomes = noOutcomes()

  constructor(admission: Admission, kind: 'thread' | 'inline') {
    this.#admission = admission
    this.#isInline = kind === 'inline'
  }

  /** Arrivals at `perMs` for `ms`; pauses count from the begin. */
  run(ms: number, perMs: number, mix: Mix, pauses: readonly Pause[] = []): Outcomes {
    const fromMs = this.nowMs
    this.#outcomes = noOutcomes()
    const threadOf = (part: Part) => (this.#isInline && part === 'main' ? 'worker' : part)
    for (const part of ['main', 'worker', 'redis'] as const) {
      this.#pauses[part] = pauses
        .filter((pause) => threadOf(pause.part) === part)
        .map((pause) => ({ ...pause, atMs: fromMs + pause.atMs }))
        .toSorted((one, other) => one.atMs - other.atMs)
    }
    this.#dueMs = fromMs + this.#gapMs(perMs)
    while (this.nowMs < fromMs + ms) {
      this.nowMs += STEP_MS
      for (; this.#dueMs <= this.nowMs; this.#dueMs += this.#gapMs(perMs)) this.#arrive(mix)
      this.#work('worker')
      this.#work('redis')
      if (!this.#isMainBusy()) this.#turn()
    }
    return this.#outcomes
  }

  /** An iteration of the event loop: timers, then sockets, then the messages of the worker. */
  #turn(): void {
    if (this.nowMs >= this.#tickMs) {
      this.#admission.tick(this.nowMs)
      this.#tickMs = this.nowMs + TICK_MS
    }
    for (const arrival of this.#arrived.splice(0)) this.#take(arrival)
    for (const { candidate, atMs } of this.#answers.splice(0)) {
      this.#admission.release(candidate, this.nowMs, false, true)
      this.#outcomes.tookMs.push(this.nowMs - atMs)
    }
    const { worker, redis } = this.#stages
    while (this.#queued.length > 0 && worker.length + redis.length < BATCHES_IN_FLIGHT_MAX) {
      const requests = this.#queued.splice(0, BATCH_SIZE_MAX)
      const eachMs = 1 / PEAK - BATCH_MS / BATCH_SIZE_MAX
      worker.push({ requests, leftMs: BATCH_MS + requests.length * eachMs })
    }
  }

  #take(arrival: Arrival): void {
    const { candidate } = arrival
    const { load } = candidate
    const { admitted, refused } = this.#outcomes
    const enter = () => {
      admitted[load] += 1
      this.#queued.push(arrival)
    }
    const decision = this.#admission.acquire(candidate, this.nowMs)
    if (decision === 'admitted') enter()
    else if (decision === 'waits') {
      const late = () => {
        refused[load] += 1
      }
      this.#admission.wait({ ...candidate, admitted: enter, refused: late }, this.nowMs)
    } else refused[load] += 1
  }

  #work(stage: 'worker' | 'redis'): void {
    const [batch] = this.#stages[stage]
    if (batch === undefined || this.#isPaused(stage)) return
    batch.leftMs -= STEP_MS
    if (batch.leftMs > 0) return
    this.#stages[stage].shift()
    const leftMs = batch.requests.length * REDIS_REQUEST_MS
    if (stage === 'worker') this.#stages.redis.push({ ...batch, leftMs })
    else this.#answers.push(...batch.requests)
  }

  #isMainBusy(): boolean {
    if (!this.#isInline) return this.#isPaused('main')
    return this.#stages.worker.length > 0 || this.#isPaused('worker')
  }

  #isPaused(part: Part): boolean {
    const pauses = this.#pauses[part]
    for (let [next] = pauses; next !== undefined; [next] = pauses) {
      if (this.nowMs < next.atMs) return false
      if (this.nowMs < next.atMs + next.forMs) return true
      pauses.shift()
    }
    return false
  }

  #arrive(mix: Mix): void {
    this.#sessions += 1
    const request = requestOf(`s${this.#sessions}`)
    const candidate = { request, load: this.#loadOf(mix), bytes: BYTES }
    this.#arrived.push({ candidate, atMs: this.#dueMs })
  }

  #loadOf(mix: Mix): LoadClass {
    let at = this.#random.below(100)
    for (const [load, percent] of Object.entries(mix)) {
      if (at < percent) return load as LoadClass
      at -= percent
    }
    return 'report'
  }

  /** The gaps of a Poisson process. */
  #gapMs(perMs: number): number {
    return -Math.log(1 - this.#random.below(1e9) / 1e9) / perMs
  }
}

function noOutcomes(): Outcomes {
  const none = () => ({ opening: 0, asking: 0, report: 0, termination: 0 })
  return { admitted: none(), refused: none(), tookMs: [] }
}

export function refusedIn({ refused }: Outcomes): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0)
}

export function quantile({ tookMs }: Outcomes, share: number): number {
  const sorted = tookMs.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

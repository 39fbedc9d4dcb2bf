/** Counts the outcomes of the requests of one phase. */
import { Histogram } from './histogram.ts'
import { LATE_MS, type PhaseResult, type Slice } from './job.ts'
import type { Fate } from './session-ring.ts'

const SLICE_MS = 100

/** An answer as one number (HTTP status and return code), so that counting creates no strings. */
export function answerNumber(status: number, code: number): number {
  return status * 100_000 + code + 50_000
}

function answerText(answer: number): string {
  const status = Math.floor(answer / 100_000)
  const code = (answer % 100_000) - 50_000
  return status === 0 ? String(code) : `${status} ${code}`
}

export class PhaseTally {
  admitted = 0
  refused = 0
  failed = 0
  unanswered = 0
  #startsAdmitted = 0
  #startsRefused = 0
  readonly #latency = new Histogram()
  readonly #refusedLatency = new Histogram()
  readonly #waiting = new Histogram()
  readonly #lateness = new Histogram()
  readonly #answers = new Map<number, number>()
  readonly #slices: Slice[] = []

  /** `waitedMs`: until it could be sent; `lateMs`: after that. */
  sent(waitedMs: number, lateMs: number): void {
    this.#waiting.record(waitedMs * 1000)
    this.#lateness.record(lateMs * 1000)
  }

  /** `sinceMs`: due time since the start of the phase. */
  answer(fate: Fate, answer: number, isStart: boolean, sinceMs: number, latencyMs: number): void {
    const micros = latencyMs * 1000
    const slice = this.#sliceAt(sinceMs)
    this.#answers.set(answer, (this.#answers.get(answer) ?? 0) + 1)
    if (fate === 'admitted') {
      this.admitted += 1
      if (isStart) this.#startsAdmitted += 1
      this.#latency.record(micros)
      if (latencyMs > LATE_MS) slice.late += 1
      else slice.inTime += 1
      return
    }
    this.#refusedLatency.record(micros)
    slice.refused += 1
    if (fate === 'failed') this.failed += 1
    else this.refused += 1
    if (fate === 'refused' && isStart) this.#startsRefused += 1
  }

  result(seconds: number, generatorCore: number): PhaseResult {
    const { admitted, refused, failed, unanswered } = this
    const startsAdmitted = this.#startsAdmitted
    const startsRefused = this.#startsRefused
    const counts = { admitted, refused, failed, unanswered, startsAdmitted, startsRefused }
    const named = [...this.#answers].map(([answer, count]) => [answerText(answer), count] as const)
    return {
      ...counts,
      seconds,
      answered: admitted + refused + failed,
      latency: this.#latency.pack(),
      refusedLatency: this.#refusedLatency.pack(),
      waiting: this.#waiting.pack(),
      lateness: this.#lateness.pack(),
      generatorCore,
      answers: Object.fromEntries(named),
      slices: this.#slices,
    }
  }

  #sliceAt(sinceMs: number): Slice {
    const index = Math.max(0, Math.floor(sinceMs / SLICE_MS))
    while (this.#slices.length <= index) this.#slices.push({ refused: 0, late: 0, inTime: 0 })
    return this.#slices[index] as Slice
  }
}

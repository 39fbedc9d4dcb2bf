/** Processor time that the generator process uses in each phase of a load. */

interface Mark {
  atMs: number
  cpuMicros: number
}

/** Processor time of this process so far, all threads, µs. */
export function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

export class PhaseMeter {
  readonly #endsMs: readonly number[]
  readonly #cpuMicros: () => number
  /** At the start, and at the end of each phase so far. */
  readonly #marks: Mark[] = []

  /** `endsMs`: end of each phase, since the start. */
  constructor(endsMs: readonly number[], cpuMicros: () => number) {
    this.#endsMs = endsMs
    this.#cpuMicros = cpuMicros
  }

  begin(): void {
    this.#marks.push({ atMs: 0, cpuMicros: this.#cpuMicros() })
  }

  /** Called often: a phase ends at the first call after its end. */
  look(nowMs: number): void {
    const endMs = this.#endsMs[this.#marks.length - 1]
    if (endMs !== undefined && nowMs >= endMs) this.#mark(nowMs)
  }

  /** Ends the load, even before the end of its phases. */
  end(nowMs: number): void {
    if (this.#marks.length <= this.#endsMs.length) this.#mark(nowMs)
  }

  /** Share of one core; 0 for a phase that was not reached. */
  core(phase: number): number {
    const [from, to] = [this.#marks[phase], this.#marks[phase + 1]]
    if (from === undefined || to === undefined || to.atMs <= from.atMs) return 0
    return (to.cpuMicros - from.cpuMicros) / 1000 / (to.atMs - from.atMs)
  }

  #mark(atMs: number): void {
    this.#marks.push({ atMs, cpuMicros: this.#cpuMicros() })
  }
}

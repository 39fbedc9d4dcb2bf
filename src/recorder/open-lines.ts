/**
 * Lines of open segments, which change with every report: while the recorder is busy, newer
 * versions of a stored line wait. Lines of ended segments never wait.
 */
import type { Line } from '../domain/line.ts'
import type { FlushRecords } from './coalesce.ts'
import type { KnownRecords } from './known-records.ts'

/** Lines that a flush with others takes although they could still wait. */
const TAKEN_MAX = 500
/** Waiting lines, by memory; if there are more, the oldest are written. */
const WAITING_MAX = 20_000

interface WaitingLine {
  line: Line
  sinceMs: number
}

export class OpenLines {
  /** By stamp, in the order in which they began to wait. */
  readonly #waiting = new Map<string, WaitingLine>()
  readonly #waitMs: number
  readonly #known: Pick<KnownRecords, 'hasAnyLine'>

  /** `waitMs`: the longest time for which a line waits. */
  constructor(waitMs: number, known: Pick<KnownRecords, 'hasAnyLine'>) {
    this.#waitMs = waitMs
    this.#known = known
  }

  /**
   * The lines to write now: those of the flush that do not wait, and those that have waited; all of
   * them if the flush has no lines.
   */
  select({ lines }: Pick<FlushRecords, 'lines'>, nowMs: number): Map<string, Line> {
    const selected = new Map<string, Line>()
    for (const [stamp, line] of lines) {
      if (this.#waitMs > 0 && line.state === 'open' && this.#known.hasAnyLine(stamp)) {
        this.#wait(stamp, line, nowMs)
      } else {
        this.#waiting.delete(stamp)
        selected.set(stamp, line)
      }
    }
    const may = lines.size === 0 ? WAITING_MAX : TAKEN_MAX
    let taken = 0
    for (const [stamp, { line, sinceMs }] of this.#waiting) {
      const isDue = nowMs - sinceMs >= this.#waitMs || this.#waiting.size > WAITING_MAX
      if (!isDue && taken >= may) break
      this.#waiting.delete(stamp)
      selected.set(stamp, line)
      taken += 1
    }
    return selected
  }

  #wait(stamp: string, line: Line, nowMs: number): void {
    const waiting = this.#waiting.get(stamp)
    if (waiting === undefined) this.#waiting.set(stamp, { line, sinceMs: nowMs })
    else if (line.version > waiting.line.version) waiting.line = line
  }
}

/** Progress of a command whose work has an unknown end: what is done, and how fast. */
import { monotonicMs } from '../runtime/clock.ts'
import { WorkRate } from '../runtime/terminal.ts'
import type { Shell } from './shell.ts'

const TERMINAL_MS = 200
const LINES_MS = 10_000

/** On standard error: one line on a terminal, otherwise a line every ten seconds. */
export class Progress {
  readonly #line: ReturnType<Shell['statusLine']>
  readonly #unit: string
  readonly #rate: WorkRate
  #shownMs: number

  /** `unit`: of the work, as `accounts`. */
  constructor(shell: Pick<Shell, 'statusLine'>, unit: string) {
    this.#line = shell.statusLine()
    this.#unit = unit
    this.#shownMs = monotonicMs()
    this.#rate = new WorkRate(this.#shownMs)
  }

  show(done: number): void {
    const nowMs = monotonicMs()
    if (nowMs - this.#shownMs < (this.#line.isTerminal ? TERMINAL_MS : LINES_MS)) return
    this.#shownMs = nowMs
    this.#line.show(`${done} ${this.#unit}${this.#rate.text({ done, total: null }, nowMs)}`)
  }

  end(): void {
    this.#line.clear()
  }
}

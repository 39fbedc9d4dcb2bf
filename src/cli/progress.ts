/** Progress of a command: what is done, how fast, and the time left if the end is known. */
import { monotonicMs } from '../runtime/clock.ts'
import { WorkRate } from '../runtime/terminal.ts'
import type { Shell } from './shell.ts'

const TERMINAL_MS = 200
const LINES_MS = 10_000

/** On standard error: one line on a terminal, otherwise a line every ten seconds. */
export class Progress {
  readonly #line: ReturnType<Shell['statusLine']>
  readonly #unit: string
  readonly #total: number | null
  #rate: WorkRate | null = null
  #shownMs: number

  /** `unit`: of the work, as `accounts`; `total`: null if it is not known. */
  constructor(shell: Pick<Shell, 'statusLine'>, unit: string, total: number | null = null) {
    this.#line = shell.statusLine()
    this.#unit = unit
    this.#total = total
    this.#shownMs = monotonicMs()
  }

  /** The first call names work that was done before. */
  show(done: number): void {
    const nowMs = monotonicMs()
    this.#rate ??= new WorkRate(nowMs, done)
    if (nowMs - this.#shownMs < (this.#line.isTerminal ? TERMINAL_MS : LINES_MS)) return
    this.#shownMs = nowMs
    const total = this.#total
    const rate = this.#rate.text({ done, total }, nowMs)
    if (total === null) this.#line.show(`${done} ${this.#unit}${rate}`)
    else this.#line.show(`${done} of ${total} ${this.#unit}${rate}`, done / total)
  }

  end(): void {
    this.#line.clear()
  }
}

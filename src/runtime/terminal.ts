/** The only module that writes to the terminal and reads standard input. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

export interface Streams {
  readonly stdin: Readable
  readonly stdout: Writable & { isTTY?: boolean }
  readonly stderr: Writable & { isTTY?: boolean; columns?: number }
}

/** Standard input and output of a command: those of this process, or given ones. */
export class Terminal {
  readonly #streams: Streams

  constructor(streams: Streams = process) {
    this.#streams = streams
  }

  /** Standard input. */
  get input(): Readable {
    return this.#streams.stdin
  }

  /** Writes a line to standard output: the result of a command. */
  print(line = ''): void {
    this.#streams.stdout.write(`${escaped(line)}\n`)
  }

  /** Writes a line to standard error: why a command failed. */
  printError(line: string): void {
    this.#streams.stderr.write(`${escaped(line)}\n`)
  }

  /** Writes texts to standard output with back-pressure; as they are unless it is a terminal. */
  async printAll(texts: AsyncIterable<string>): Promise<void> {
    const { stdout } = this.#streams
    for await (const text of texts) {
      const printed = stdout.isTTY === true ? escaped(text) : text
      if (!stdout.write(printed)) await once(stdout, 'drain')
    }
  }

  /** Exits with 1 when the output of this process has no reader any more, as with `head`. */
  stopWithoutReader(): void {
    if (this.#streams !== process) return
    process.stderr.on('error', () => undefined)
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(1)
      throw error
    })
  }

  /** Output without a reader, such as that of a closed terminal, is dropped: the logs have it. */
  continueWithoutReader(): void {
    const { stdout, stderr } = this.#streams
    for (const stream of [stdout, stderr]) stream.on('error', () => undefined)
  }

  statusLine(): StatusLine {
    const { stderr } = this.#streams
    const isTerminal = stderr.isTTY === true
    return {
      isTerminal,
      show(text, share) {
        const printed = escaped(text)
        if (!isTerminal) return void stderr.write(`${printed}\n`)
        const whole = share === undefined ? printed : `${barOf(share)} ${printed}`
        stderr.write(`\r\u001b[K${whole.slice(0, Math.max(20, (stderr.columns ?? 80) - 1))}`)
      },
      clear() {
        if (isTerminal) stderr.write('\r\u001b[K')
      },
    }
  }
}

const BAR_LENGTH = 24

function barOf(share: number): string {
  const filled = Math.min(BAR_LENGTH, Math.floor(BAR_LENGTH * share))
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_LENGTH - filled)}]`
}

/** Texts of stores could otherwise move the cursor, or write to the clipboard. */
function escaped(text: string): string {
  return text.replace(CONTROL, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them; tab and line feed stay
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/** Rate of long work of this process, and the time that is left. */
export class WorkRate {
  readonly #beganMs: number
  readonly #doneBefore: number

  /** `doneBefore`: what earlier processes have done. */
  constructor(beganMs: number, doneBefore = 0) {
    this.#beganMs = beganMs
    this.#doneBefore = doneBefore
  }

  /** `, 5/s, 10 s left`; `total` null: unknown. Empty before anything was done. */
  text({ done, total }: { done: number; total: number | null }, nowMs: number): string {
    const seconds = (nowMs - this.#beganMs) / 1000
    const rate = (done - this.#doneBefore) / seconds
    if (!(rate > 0) || seconds <= 0) return ''
    const left = total === null ? 0 : (total - done) / rate
    const suffix = `, ${rate < 1 ? Number(rate.toPrecision(1)) : Math.round(rate)}/s`
    return left > 0 ? `${suffix}, ${durationText(Math.ceil(left))} left` : suffix
  }
}

function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}

/** Progress of a long operation on standard error; on a terminal the line is overwritten. */
export interface StatusLine {
  /** Whether the output is a terminal. */
  readonly isTerminal: boolean
  /** `share`: of the work that is done, 0 to 1; on a terminal it is a bar before the text. */
  show(text: string, share?: number): void
  /** Clears the line. */
  clear(): void
}

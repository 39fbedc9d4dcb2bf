/** The only module that writes to the terminal and reads standard input. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

export interface Streams {
  readonly stdin: Readable
  readonly stdout: Writable
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
    this.#streams.stdout.write(`${line}\n`)
  }

  /** Writes a line to standard error: why a command failed. */
  printError(line: string): void {
    this.#streams.stderr.write(`${line}\n`)
  }

  /** Writes texts to standard output with back-pressure. */
  async printAll(texts: AsyncIterable<string>): Promise<void> {
    const { stdout } = this.#streams
    for await (const text of texts) {
      if (!stdout.write(text)) await once(stdout, 'drain')
    }
  }

  /** Exits with 1 when the output of this process has no reader any more, as with `head`. */
  stopWithoutReader(): void {
    if (this.#streams !== process) return
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
      show(text) {
        const fitting = text.slice(0, Math.max(20, (stderr.columns ?? 80) - 1))
        stderr.write(isTerminal ? `\r\u001b[K${fitting}` : `${text}\n`)
      },
      clear() {
        if (isTerminal) stderr.write('\r\u001b[K')
      },
    }
  }
}

/** Progress of a long operation on standard error; on a terminal the line is overwritten. */
export interface StatusLine {
  /** Whether the output is a terminal. */
  readonly isTerminal: boolean
  show(text: string): void
  /** Clears the line. */
  clear(): void
}

/** The only module that writes to the terminal and reads standard input. */
import { once } from 'node:events'

/** Writes a line to standard output: the result of a command. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a line to standard error: why a command failed. */
export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Exits with 1 when the output has no reader any more, as with `head`. */
export function stopWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(1)
    throw error
  })
}

/** Output without a reader, such as that of a closed terminal, is dropped: the logs have it. */
export function continueWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** Standard input. */
export function standardInput(): AsyncIterable<Uint8Array> {
  return process.stdin
}

/** Progress of a long operation on standard error; on a terminal the line is overwritten. */
export interface StatusLine {
  /** Whether the output is a terminal. */
  readonly isTerminal: boolean
  show(text: string): void
  /** Clears the line. */
  clear(): void
}

export function statusLine(): StatusLine {
  const { stderr } = process
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

/** Writes texts to standard output with back-pressure. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }
}

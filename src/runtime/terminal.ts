/** The one place that writes for a person at a terminal, and reads what is typed or piped in. */
import { once } from 'node:events'

/** Writes a line to standard output: what a command was asked for. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a line to standard error: why a command could not do it. */
export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Ends the process with 1 when its output has no reader any more, as behind `head`. */
export function stopWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(1)
    throw error
  })
}

/** What is typed or piped in. */
export function standardInput(): AsyncIterable<Uint8Array> {
  return process.stdin
}

/** What a long work says of itself on standard error; a line that is written over on a terminal. */
export interface StatusLine {
  /** Whether somebody watches it change. */
  readonly isTerminal: boolean
  show(text: string): void
  /** Takes away what is written over. */
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

/** Writes a stream of texts to standard output, as fast as it is read there. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain')
  }
}

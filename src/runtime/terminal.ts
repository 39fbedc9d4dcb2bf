/** The one place that writes for a person at a terminal, and reads what is typed or piped in. */

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

/** The one place that writes for a person at a terminal. */

/** Writes a line to standard output: what a command was asked for. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a line to standard error: why a command could not do it. */
export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}

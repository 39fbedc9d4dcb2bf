/** Where the parts of `tollgate start` log: files for all of it, the terminal for what matters. */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { printError } from '../runtime/terminal.ts'

export interface Logs {
  /** Takes the lines of one part. */
  sink(part: string): (line: string) => void
  close(): void
}

/** One older file is kept. */
const FILE_BYTES_MAX = 16 * 1024 * 1024
const SHOWN: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal'])

export function openLogs(folder: string): Logs {
  mkdirSync(folder, { recursive: true })
  const files = new Map<string, LogFile>()
  return {
    sink(part) {
      const file = new LogFile(join(folder, `${part}.log`))
      files.set(part, file)
      return (line) => {
        file.write(line)
        const shown = shownLine(part, line)
        if (shown !== undefined) printError(shown)
      }
    },
    close() {
      for (const file of files.values()) file.close()
    },
  }
}

/** What a person at the terminal should see of a log line; undefined for nothing. */
export function shownLine(part: string, line: string): string | undefined {
  let record: { level?: unknown; msg?: unknown; err?: { message?: unknown } | string }
  try {
    record = JSON.parse(line)
  } catch {
    // No log line: what Node or a library says when something is really wrong.
    return line.trim() === '' ? undefined : `[${part}] ${line}`
  }
  if (record === null || !SHOWN.has(record.level)) return undefined
  const reason = typeof record.err === 'string' ? record.err : record.err?.message
  const detail = reason === undefined ? '' : `: ${reason}`
  return `[${part}] ${record.level}: ${record.msg}${detail}`
}

class LogFile {
  readonly #path: string
  #file: number
  #sizeBytes: number

  constructor(path: string) {
    this.#path = path
    this.#file = openSync(path, 'a')
    this.#sizeBytes = fstatSync(this.#file).size
  }

  write(line: string): void {
    if (this.#sizeBytes > FILE_BYTES_MAX) this.#turn()
    this.#sizeBytes += writeSync(this.#file, `${line.trimEnd()}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }

  #turn(): void {
    closeSync(this.#file)
    renameSync(this.#path, `${this.#path}.1`)
    this.#file = openSync(this.#path, 'a')
    this.#sizeBytes = 0
  }
}

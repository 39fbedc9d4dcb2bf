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
  let record: {
    level?: unknown
    msg?: unknown
    err?: { message?: unknown } | string
    problem?: unknown
  }
  try {
    record = JSON.parse(line)
  } catch {
    // No log line: what Node or a library says when something is really wrong.
    return line.trim() === '' ? undefined : `[${part}] ${line}`
  }
  if (record === null || !SHOWN.has(record.level)) return undefined
  const error = typeof record.err === 'string' ? record.err : record.err?.message
  const reason = error ?? record.problem
  const detail = reason === undefined ? '' : `: ${reason}`
  return `[${part}] ${record.level}: ${record.msg}${detail}`
}

class LogFile {
  readonly #path: string
  #file: number | undefined
  #sizeBytes = 0

  constructor(path: string) {
    this.#path = path
  }

  write(line: string): void {
    this.#file ??= this.#open()
    if (this.#sizeBytes > FILE_BYTES_MAX) {
      this.close()
      renameSync(this.#path, `${this.#path}.1`)
      this.#file = this.#open()
    }
    this.#sizeBytes += writeSync(this.#file, `${line.trimEnd()}\n`)
  }

  /** A line that comes later opens it again. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #open(): number {
    const file = openSync(this.#path, 'a')
    this.#sizeBytes = fstatSync(file).size
    return file
  }
}

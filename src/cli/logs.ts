/** Where the parts of `tollgate start` log: files for all of it, the terminal for what matters. */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  closeFileToOthers,
  closeFolderToOthers,
  FILE_MODE,
  FOLDER_MODE,
} from '../runtime/file-modes.ts'
import { printError } from '../runtime/terminal.ts'

export interface Logs {
  /** Takes the lines of one part. */
  sink(part: string): (line: string) => void
  close(): void
}

/** One older file is kept. */
const FILE_BYTES_MAX = 16 * 1024 * 1024
const TERMINAL_LEVELS: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal'])

export function openLogs(folder: string): Logs {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  closeFolderToOthers(folder)
  const files = new Map<string, LogFile>()
  return {
    sink(part) {
      const file = new LogFile(join(folder, `${part}.log`))
      files.set(part, file)
      return (line) => {
        file.write(line)
        const shown = terminalLine(part, line)
        if (shown !== undefined) printError(shown)
      }
    },
    close() {
      for (const file of files.values()) file.close()
    },
  }
}

/** What a person at the terminal should see of a log line; undefined for nothing. */
export function terminalLine(part: string, line: string): string | undefined {
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
  if (record === null || !TERMINAL_LEVELS.has(record.level)) return undefined
  const error = typeof record.err === 'string' ? record.err : record.err?.message
  const reason = error ?? record.problem
  const detail = reason === undefined ? '' : `: ${reason}`
  return `[${part}] ${record.level}: ${record.msg}${detail}`
}

/** A disk that is full must not end what it logs: lines are lost, and counted. */
class LogFile {
  readonly #path: string
  #file: number | undefined
  #sizeBytes = 0
  #linesLost = 0

  constructor(path: string) {
    this.#path = path
  }

  write(line: string): void {
    try {
      this.#append(`${this.#lost()}${line.trimEnd()}\n`)
      this.#linesLost = 0
    } catch {
      this.#linesLost += 1
    }
  }

  #lost(): string {
    if (this.#linesLost === 0) return ''
    return `\n{"level":"warn","msg":"${this.#linesLost} log lines could not be written"}\n`
  }

  #append(text: string): void {
    this.#file ??= this.#open()
    if (this.#sizeBytes > FILE_BYTES_MAX) {
      this.close()
      renameSync(this.#path, `${this.#path}.1`)
      this.#file = this.#open()
    }
    this.#sizeBytes += writeSync(this.#file, text)
  }

  /** A line that comes later opens it again. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #open(): number {
    const file = openSync(this.#path, 'a', FILE_MODE)
    closeFileToOthers(file)
    this.#sizeBytes = fstatSync(file).size
    return file
  }
}

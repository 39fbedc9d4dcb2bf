/**
 * Log sinks of `tollgate start`: everything goes to files, warnings and errors also to the
 * terminal.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  closeFileToOthers,
  closeFolderToOthers,
  FILE_MODE,
  FOLDER_MODE,
} from '../runtime/file-modes.ts'
import type { Terminal } from '../runtime/terminal.ts'

export interface Logs {
  /** Returns the sink for the lines of one part. */
  sink(part: string): (line: string) => void
  close(): void
}

/** One rotated file is kept. */
const FILE_BYTES_MAX = 16 * 1024 * 1024
const TERMINAL_LEVELS: ReadonlySet<unknown> = new Set(['warn', 'error', 'fatal'])

export function openLogs(terminal: Terminal, folder: string): Logs {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE })
  closeFolderToOthers(folder)
  const files = new Map<string, LogFile>()
  return {
    sink(part) {
      const file = new LogFile(join(folder, `${part}.log`))
      files.set(part, file)
      return (line) => {
        file.write(line)
        const text = terminalLine(part, line)
        if (text !== undefined) terminal.printError(text)
      }
    },
    close() {
      for (const file of files.values()) file.close()
    },
  }
}

/** The text of a log line for the terminal; undefined if it is not shown. */
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
    // Not a log line: output of Node or a library when something is seriously wrong.
    return line.trim() === '' ? undefined : `[${part}] ${line}`
  }
  if (record === null || !TERMINAL_LEVELS.has(record.level)) return undefined
  const error = typeof record.err === 'string' ? record.err : record.err?.message
  const reason = error ?? record.problem
  const detail = reason === undefined ? '' : `: ${reason}`
  return `[${part}] ${record.level}: ${record.msg}${detail}`
}

/** A full disk must not stop the process: lines are dropped and counted. */
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

  /** A later write opens the file again. */
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

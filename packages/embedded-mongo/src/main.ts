#!/usr/bin/env node
import type { Log } from './interfaces.ts'
import { runMongoProcess } from './process.ts'

/** The command line: logs lines of JSON to standard error. */
function write(level: keyof Log, fields: object, message: string): void {
  const plain = Object.entries(fields).map(([name, value]) => [
    name,
    value instanceof Error ? `${value.name}: ${value.message}` : value,
  ])
  const line = { level, message, ...Object.fromEntries(plain) }
  process.stderr.write(`${JSON.stringify(line)}\n`)
}

const log: Log = {
  info: (fields, message) => write('info', fields, message),
  warn: (fields, message) => write('warn', fields, message),
  error: (fields, message) => write('error', fields, message),
  fatal: (fields, message) => write('fatal', fields, message),
}

await runMongoProcess({ log })

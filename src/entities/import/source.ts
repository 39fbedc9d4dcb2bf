/** Streams the rows of a CSV or JSON lines file; the file is never read into memory as a whole. */
import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError, ExecutionError } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import { plainValue } from './extended-json.ts'

/** A row: its cells, its object, or why it cannot be parsed. */
export interface SourceRow {
  /** Counted from 1 as in a spreadsheet, including the header of CSV. */
  number: number
  content: { cells: readonly string[] } | { object: Fields } | { problem: string }
}

/** Receives the bytes that are read. */
export type ByteWatch = (chunk: Buffer) => void

export interface SourceOptions {
  path: string
  format: 'csv' | 'jsonl'
  delimiter: string
  watch?: ByteWatch
}

/** Limit on one row. With an unclosed quote, the whole file would be one row. */
const ROW_BYTES_MAX = 1024 * 1024

/**
 * For CSV, the header is the first row. Empty lines are counted but not returned. Throws
 * `ExecutionError` if the file cannot be parsed at all.
 */
export function readSource(options: SourceOptions): AsyncGenerator<SourceRow> {
  return options.format === 'csv' ? readCsv(options) : readLines(options)
}

interface CsvRow {
  record: string[]
  info: { records: number; empty_lines: number }
}

async function* readCsv(options: SourceOptions): AsyncGenerator<SourceRow> {
  const parser = parse({
    bom: true,
    delimiter: options.delimiter,
    info: true,
    max_record_size: ROW_BYTES_MAX,
    // Files edited by hand may mix line endings, so they are not detected from the first line.
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  })
  // Destroys both streams when either ends; errors are thrown by the iteration of the parser.
  pipeline(Readable.from(chunksOf(options)), parser, () => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRow>) {
      yield { number: info.records + info.empty_lines, content: { cells: record } }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new ExecutionError(`the file is not valid CSV: ${error.message}`, 'refused')
  }
}

async function* readLines(options: SourceOptions): AsyncGenerator<SourceRow> {
  let number = 0
  for await (const line of linesOf(chunksOf(options))) {
    number += 1
    const text = (number === 1 ? line.replace(/^\uFEFF/, '') : line).trim()
    if (text !== '') yield { number, content: objectOf(text) }
  }
}

function objectOf(text: string): SourceRow['content'] {
  try {
    const object = plainValue(parseJson(text, 'the line'))
    const isObject = typeof object === 'object' && object !== null && !Array.isArray(object)
    return isObject ? { object: object as Fields } : { problem: 'the line must be an object' }
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    return { problem: error.message }
  }
}

/** Splits at line feeds only: JSON strings may contain all other line separators. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let to = chunk.indexOf(10); to >= 0; to = chunk.indexOf(10, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, to)]).toString('utf8')
      parts = []
      bytes = 0
      from = to + 1
    }
    parts.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > ROW_BYTES_MAX) {
      throw new ExecutionError(`the file has a line of more than ${ROW_BYTES_MAX} bytes`, 'refused')
    }
  }
  if (bytes > 0) yield Buffer.concat(parts).toString('utf8')
}

async function* chunksOf({ path, watch }: SourceOptions): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    watch?.(chunk as Buffer)
    yield chunk as Buffer
  }
}

/** First pass over the file: validates it, determines its format and counts its rows. */
import { createHash } from 'node:crypto'
import { ExecutionError } from '../../requests/errors.ts'
import { hasTrait } from '../definitions/traits.ts'
import { createMapper, type MappingContext, type RowMapper } from './mapping.ts'
import { RateLines } from './rate-lines.ts'
import type { ImportSettings } from './settings.ts'
import { readSource, type SourceRow } from './source.ts'

export interface ImportFile {
  path: string
  /** Name that the client sent. */
  name: string
  contentType?: string
}

export interface Prescan {
  format: 'csv' | 'jsonl'
  rows: number
  /** Checksum of the content and of all settings that affect the result. */
  checksum: string
  map: RowMapper
  /** For rates: the number of lines of each rate. Null otherwise. */
  lines: RateLines | null
}

export interface PrescanOptions extends Pick<MappingContext, 'definition' | 'fields'> {
  settings: ImportSettings
  file: ImportFile
  rowsMax: number
}

/** Throws `ExecutionError` if the file is invalid as a whole. */
export async function prescan(options: PrescanOptions): Promise<Prescan> {
  const { settings, file, definition, rowsMax } = options
  const format = formatOf(options)
  const hash = createHash('sha256').update(JSON.stringify(identityOf(options, format)))
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const watch = (chunk: Buffer) => {
    hash.update(chunk)
    checkText(decoder, chunk)
  }
  const hasLines = hasTrait(definition, 'hasPriceLines') && !settings.isMigration
  const lines = hasLines ? new RateLines() : null
  let map = format === 'jsonl' ? createMapper({ ...options, ...nameOf(file), header: null }) : null
  let rows = 0
  const source = { path: file.path, format, delimiter: settings.delimiter, watch }
  for await (const row of readSource(source)) {
    if (map === null) {
      map = createMapper({ ...options, ...nameOf(file), header: headerOf(row) })
      continue
    }
    rows += 1
    if (rows > rowsMax)
      throw new ExecutionError(`the file has more than ${rowsMax} rows`, 'refused')
    lines?.count(map(row))
  }
  checkText(decoder)
  if (map === null || rows === 0) throw new ExecutionError('the file has no rows', 'refused')
  return { format, rows, checksum: hash.digest('hex'), map, lines }
}

/** Settings that affect the result or the order of the units. */
function identityOf({ definition, settings, file }: PrescanOptions, format: string): unknown {
  const { map, ranges, lists, listActions, isDryRun: _, ...others } = settings
  const texts = [...map].map(([name, source]) => [name, source])
  // A predefined import uses the file name in the labels of its rows.
  const name = settings.type === 'predefined_mapping' ? file.name : ''
  return [definition.name, format, name, others, texts, [...ranges], [...lists], [...listActions]]
}

function nameOf({ name }: ImportFile): { fileName: string } {
  return { fileName: name }
}

const JSON_LINES = /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonl|jsonlines)\b/i

function formatOf({ settings, file }: PrescanOptions): 'csv' | 'jsonl' {
  if (settings.format !== null) return settings.format
  const isNamed = /\.(?:jsonl|ndjson)$/i.test(file.name)
  return isNamed || JSON_LINES.test(file.contentType ?? '') ? 'jsonl' : 'csv'
}

function headerOf({ content }: SourceRow): readonly string[] {
  return 'cells' in content ? content.cells : []
}

/** Without a chunk: checks that the file does not end within a character. */
function checkText(decoder: InstanceType<typeof TextDecoder>, chunk?: Buffer): void {
  try {
    decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw new ExecutionError('the file is not UTF-8', 'refused')
  }
}

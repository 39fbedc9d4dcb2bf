/** `tollgate import lines`: the lines of another system's last run, before the first run here. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { BillingError } from '../billing/errors.ts'
import { type FailedRow, importLines, type LineRow } from '../billing/run/import-lines.ts'
import { loadConfig } from '../config/load.ts'
import { print, printError } from '../runtime/terminal.ts'
import { CommandError, UsageError } from './errors.ts'
import type { OptionValues } from './parse.ts'
import { withCatalog } from './stores.ts'

const BATCH = 1_000
const LISTED_MAX = 20

/** `failed`: writes all failed rows. Returns 0 if all rows succeeded, otherwise 1. */
export async function importLineFile(
  file: string,
  options: OptionValues,
  configFile: string | undefined,
  failed: (row: FailedRow) => void,
): Promise<0 | 1> {
  for (const name of ['operation', 'settings', 'resume', 'migrate']) {
    if (options[name] !== undefined) throw new UsageError(`--${name} is not for lines`)
  }
  const config = loadConfig(configFile === undefined ? {} : { file: configFile })
  const isDry = options['dry-run'] === true
  const total = { rows: 0, imported: 0, failed: 0 }
  await withCatalog(config, async (catalog) => {
    for await (const rows of batchesOf(file)) {
      const parsed = rows.filter(({ text }) => text === null)
      const result = await importLines(catalog, parsed, config.rating.timeZone, isDry)
      const invalid = rows.flatMap(({ row, text }) => (text === null ? [] : [{ row, text }]))
      for (const each of [...invalid, ...result.failed]) {
        if (total.failed < LISTED_MAX) printError(`row ${each.row}: ${each.text}`)
        total.failed += 1
        failed(each)
      }
      total.rows += rows.length
      total.imported += result.imported
    }
  }).catch((error: unknown) => {
    if (error instanceof BillingError) throw new CommandError(error.message, { cause: error })
    throw error
  })
  if (total.failed > LISTED_MAX) printError(`and ${total.failed - LISTED_MAX} more`)
  const done = isDry ? 'would be imported' : 'imported'
  if (options['json'] === true) print(JSON.stringify(total))
  else print(`${total.imported} of ${total.rows} rows ${done}, ${total.failed} failed`)
  return total.failed === 0 ? 0 : 1
}

interface ReadRow extends LineRow {
  /** Why the row is no JSON; null if it is. */
  readonly text: string | null
}

/** Rows are numbered from 1; empty ones are left out. */
async function* batchesOf(file: string): AsyncGenerator<ReadRow[]> {
  const input = createReadStream(file, 'utf8')
  let batch: ReadRow[] = []
  let row = 0
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    row += 1
    if (line.trim() === '') continue
    batch.push(readRow(row, line))
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

function readRow(row: number, line: string): ReadRow {
  try {
    return { row, value: JSON.parse(line), text: null }
  } catch {
    return { row, value: null, text: 'is not JSON' }
  }
}

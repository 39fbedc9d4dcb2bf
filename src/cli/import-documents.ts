/**
 * `tollgate import` of documents that are no entities: the lines of another system's last run,
 * before the first run here, and prepaid cards.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { BillingError } from '../billing/errors.ts'
import {
  type FailedRow,
  type ImportedRows,
  importLines,
  type LineRow,
} from '../billing/run/import-lines.ts'
import type { Catalog } from '../catalog/connection.ts'
import { repeated } from '../catalog/patience.ts'
import { cardSecretsOf } from '../catalog/sealing/card-secrets.ts'
import type { Config } from '../config/schema.ts'
import { importCards } from '../prepaid/cards/import.ts'
import { ApiError } from '../requests/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import type { OptionValues } from './options.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog } from './stores.ts'

const BATCH = 1_000
const LISTED_MAX = 20

interface Target {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: Config
  readonly isDry: boolean
}

type ImportBatch = (target: Target, rows: readonly LineRow[]) => Promise<ImportedRows>

const DOCUMENTS: ReadonlyMap<string, ImportBatch> = new Map([
  [
    'lines',
    ({ catalog, config, isDry }, rows) => importLines(catalog, rows, config.rating.timeZone, isDry),
  ],
  [
    'cards',
    ({ catalog, clock, config, isDry }, rows) => {
      const stores = { catalog, actor: operator(), nowMs: clock.nowMs() }
      const secrets = cardSecretsOf(catalog, config)
      return importCards({ ...stores, secrets, timeZone: config.rating.timeZone, isDry }, rows)
    },
  ],
])

export const DOCUMENT_COLLECTIONS: readonly string[] = [...DOCUMENTS.keys()]

/** `failed`: writes all failed rows. Returns 0 if all rows succeeded, otherwise 1. */
export async function importDocumentFile(
  shell: Shell,
  collection: string,
  file: string,
  options: OptionValues,
  failed: (row: FailedRow) => void,
): Promise<0 | 1> {
  for (const name of ['operation', 'settings', 'resume', 'migrate']) {
    if (options[name] !== undefined) throw new UsageError(`--${name} is not for ${collection}`)
  }
  const importBatch = DOCUMENTS.get(collection) as ImportBatch
  const config = shell.config()
  const isDry = options['dry-run'] === true
  const total = { rows: 0, imported: 0, failed: 0 }
  const patience = patienceIn(shell, config)
  const importAll = async (catalog: Catalog, clock: Clock) => {
    for await (const rows of batchesOf(file)) {
      const parsed = rows.filter(({ text }) => text === null)
      const batch = () => importBatch({ catalog, clock, config, isDry }, parsed)
      const result = await repeated(batch, patience)
      const invalid = rows.flatMap(({ row, text }) => (text === null ? [] : [{ row, text }]))
      for (const each of [...invalid, ...result.failed]) {
        if (total.failed < LISTED_MAX) shell.printError(`row ${each.row}: ${each.text}`)
        total.failed += 1
        failed(each)
      }
      total.rows += rows.length
      total.imported += result.imported
    }
  }
  await withCatalog(config, importAll, patience).catch((error: unknown) => {
    if (!(error instanceof BillingError || error instanceof ApiError)) throw error
    throw new CommandError(error.message, { cause: error })
  })
  if (total.failed > LISTED_MAX) shell.printError(`and ${total.failed - LISTED_MAX} more`)
  const done = isDry ? 'would be imported' : 'imported'
  if (options['json'] === true) shell.print(JSON.stringify(total))
  else shell.print(`${total.imported} of ${total.rows} rows ${done}, ${total.failed} failed`)
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

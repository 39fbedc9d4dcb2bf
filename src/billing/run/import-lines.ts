/** Stores the lines of another system's last run, which the first run here corrects. */
import type { Catalog } from '../../catalog/connection.ts'
import { type ImportedLine, importedLine } from '../../catalog/records/money/imported-line.ts'
import { FieldError } from '../../domain/fields.ts'
import { BillingError } from '../errors.ts'

export interface LineRow {
  /** Number of the row in the file. */
  readonly row: number
  readonly value: unknown
}

export interface FailedRow {
  readonly row: number
  readonly text: string
}

export interface ImportedRows {
  readonly imported: number
  readonly failed: readonly FailedRow[]
}

/**
 * A line whose stamp was imported before is replaced. `isDry`: checks, and writes nothing. Rejects
 * with `BillingError` for lines of a cycle that is followed by a run here, and with
 * `CatalogUnavailableError`.
 */
export async function importLines(
  catalog: Catalog,
  rows: readonly LineRow[],
  zone: string,
  isDry: boolean,
): Promise<ImportedRows> {
  const failed: FailedRow[] = []
  const lines = new Map<string, { row: number; line: ImportedLine }>()
  for (const { row, value } of rows) {
    try {
      const line = importedLine(value, zone)
      const twin = lines.get(line.stamp)
      if (twin !== undefined) throw new FieldError('stamp', `is that of row ${twin.row}`)
      lines.set(line.stamp, { row, line })
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      failed.push({ row, text: error.message })
    }
  }
  await refuseRun(
    catalog,
    [...lines.values()].map(({ line }) => line.billrun),
  )
  for (const stamp of await foreignStamps(catalog, [...lines.keys()])) {
    const { row } = lines.get(stamp) as { row: number }
    failed.push({ row, text: 'stamp is that of a line which was not imported' })
    lines.delete(stamp)
  }
  if (!isDry && lines.size > 0)
    await store(
      catalog,
      [...lines.values()].map(({ line }) => line),
    )
  return { imported: lines.size, failed: failed.sort((one, other) => one.row - other.row) }
}

/** A run after these lines has been computed without them. */
async function refuseRun(catalog: Catalog, keys: readonly string[]): Promise<void> {
  const first = keys.toSorted()[0]
  if (first === undefined) return
  const [run, invoice] = await Promise.all([
    catalog.cycleruns.findOne({ key: { $gte: first } }, { projection: { key: 1 } }),
    catalog.billrun.findOne(
      { billrun_key: { $gte: first, $regex: /^\d{6}$/ } },
      { projection: { billrun_key: 1 } },
    ),
  ])
  const key = run?.key ?? invoice?.billrun_key
  if (key === undefined) return
  throw new BillingError(
    `lines of cycle ${first} come too late: cycle ${key} was run here`,
    'refused',
  )
}

async function foreignStamps(catalog: Catalog, stamps: readonly string[]): Promise<string[]> {
  const found = await catalog.lines
    .find({ stamp: { $in: [...stamps] }, imported: { $ne: true } } as never, {
      projection: { _id: 0, stamp: 1 },
    })
    .toArray()
  return found.map(({ stamp }) => stamp)
}

async function store(catalog: Catalog, lines: readonly ImportedLine[]): Promise<void> {
  await catalog.lines.bulkWrite(
    lines.map((line) => ({
      replaceOne: { filter: { stamp: line.stamp }, replacement: line, upsert: true },
    })) as never[],
    { ordered: false },
  )
}

/** Results of the rows of an import, and the response. */
import { FAILURES_MAX, type Failure } from './progress.ts'

/** For files with more rows, only failed rows are listed. */
const DETAILS_MAX = 10_000

export interface ImportResult {
  /** Null if the import cannot be resumed. */
  importId: string | null
  total: number
  succeeded: number
  failed: number
  /** By row: true, or why it failed. */
  details: Record<string, true | string>
  isDryRun: boolean
  /** Fields in rows that the collection does not have. */
  ignored: readonly string[]
}

/** Collects the results; for large files only the failures. */
export class ResultSummary {
  readonly #details: Record<string, true | string> = {}
  readonly #total: number
  #failuresListed = 0
  succeeded = 0
  failed = 0

  constructor(total: number) {
    this.#total = total
  }

  succeed(row: string): void {
    this.succeeded += 1
    if (this.#total <= DETAILS_MAX) this.#details[row] = true
  }

  fail({ row, text }: Failure): void {
    this.failed += 1
    this.#failuresListed += 1
    if (this.#failuresListed <= FAILURES_MAX) this.#details[row] = text
  }

  /** Counts failures of earlier attempts whose rows are not stored. */
  failUnlisted(count: number): void {
    this.failed += count
  }

  result(
    importId: string | null,
    ignored: readonly string[],
    isDryRun = importId === null,
  ): ImportResult {
    const { succeeded, failed } = this
    const total = this.#total
    const details = this.#details
    return { importId, total, succeeded, failed, details, isDryRun, ignored }
  }
}

/** `status` 1 if all rows were imported, 2 if some failed. */
export function importEnvelope(result: ImportResult): Record<string, unknown> {
  const { importId, total, succeeded, failed, details, isDryRun, ignored } = result
  const notImported = isDryRun ? 'would not be' : 'were not'
  const warnings = [
    ...(failed > 0 ? [`${failed} of ${total} rows ${notImported} imported`] : []),
    ...ignored.map((name) => `${name} is not a field of the collection: ignored`),
  ]
  return {
    status: failed === 0 ? 1 : 2,
    details,
    ...(warnings.length > 0 && { warnings }),
    total,
    succeeded,
    failed,
    ...(isDryRun && { dry_run: true }),
    ...(importId !== null && { import_id: importId }),
  }
}

/** What became of the rows of an import, and the answer that tells it (spec/entity-api.md 2.12). */
import { FAILURES_MAX, type Failure } from './progress.ts'

/** Above this only failed rows are told one by one. */
const DETAILS_MAX = 10_000

export interface ImportResult {
  /** Null: of a dry run nothing is stored. */
  importId: string | null
  total: number
  succeeded: number
  failed: number
  /** By row: true, or why it failed. */
  details: Record<string, true | string>
  isDryRun: boolean
  /** Fields of rows that the collection does not have. */
  ignored: readonly string[]
}

/** Gathers results; of a large file only what has failed. */
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

  /** Of rows whose failure is no longer known one by one. */
  failUnlisted(count: number): void {
    this.failed += count
  }

  result(importId: string | null, ignored: readonly string[]): ImportResult {
    const { succeeded, failed } = this
    const total = this.#total
    const details = this.#details
    return { importId, total, succeeded, failed, details, isDryRun: importId === null, ignored }
  }
}

/** `status` 1: all rows; 2: some failed. */
export function importEnvelope(result: ImportResult): Record<string, unknown> {
  const { importId, total, succeeded, failed, details, isDryRun, ignored } = result
  const untold = isDryRun ? 'would not be' : 'were not'
  const warnings = [
    ...(failed > 0 ? [`${failed} of ${total} rows ${untold} imported`] : []),
    ...ignored.map((name) => `${name} is not a field of the collection: ignored`),
  ]
  return {
    status: failed === 0 ? 1 : 2,
    details,
    ...(warnings.length > 0 && { warnings }),
    total,
    succeeded,
    failed,
    ...(isDryRun ? { dry_run: true } : { import_id: importId }),
  }
}

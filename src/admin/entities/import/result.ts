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
}

/** Gathers results; of a large file only what has failed. */
export class ResultBook {
  private readonly details: Record<string, true | string> = {}
  private readonly total: number
  private told = 0
  succeeded = 0
  failed = 0

  constructor(total: number) {
    this.total = total
  }

  succeed(row: string): void {
    this.succeeded += 1
    if (this.total <= DETAILS_MAX) this.details[row] = true
  }

  fail({ row, text }: Failure): void {
    this.failed += 1
    this.told += 1
    if (this.told <= FAILURES_MAX) this.details[row] = text
  }

  /** Of rows whose failure is no longer known one by one. */
  failUntold(count: number): void {
    this.failed += count
  }

  result(importId: string | null): ImportResult {
    const { total, succeeded, failed, details } = this
    return { importId, total, succeeded, failed, details, isDryRun: importId === null }
  }
}

/** `status` 1: all rows; 2: some failed. */
export function importEnvelope(result: ImportResult): Record<string, unknown> {
  const { importId, total, succeeded, failed, details, isDryRun } = result
  const warning = `${failed} of ${total} rows ${isDryRun ? 'would not be' : 'were not'} imported`
  return {
    status: failed === 0 ? 1 : 2,
    details,
    ...(failed > 0 && { warnings: [warning] }),
    ...{ total, succeeded, failed },
    ...(isDryRun ? { dry_run: true } : { import_id: importId }),
  }
}

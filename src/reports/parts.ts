/** The dependencies of reports, composed in admin/start.ts. */
import type { Catalog } from '../catalog/connection.ts'
import type { Config } from '../config/schema.ts'
import type { CurrentFields } from '../entities/fields/current.ts'
import { createReportFiles, type ReportFiles } from './files.ts'

export interface ReportParts {
  readonly catalog: Catalog
  /** The connection of batch work: for files, and for reports that are sent as CSV. */
  readonly batch: Catalog
  /** The connection for reading rows, from a replica if there is one. */
  readonly reader: Catalog
  readonly config: Config
  readonly fields: CurrentFields
  readonly files: ReportFiles
}

/** `batch` is `catalog` if absent, as in a command. */
export function createReports(
  parts: Omit<ReportParts, 'files' | 'batch'> & { readonly batch?: Catalog },
): ReportParts {
  return { batch: parts.catalog, ...parts, files: createReportFiles(parts.config) }
}

/** Error texts of failed rows, and detection of errors that end the whole import. */
import { CatalogUnavailableError } from '../../catalog/errors.ts'
import { apiErrorOf } from '../../requests/api-errors.ts'
import { StoreDownError } from '../../store/redis.ts'
import type { ImportJob } from './job.ts'

export function isOutage(error: unknown): boolean {
  return error instanceof CatalogUnavailableError || error instanceof StoreDownError
}

const TEXT_LENGTH_MAX = 500

/**
 * Rethrows errors that are not caused by the row, such as an unavailable store. Internal errors are
 * logged and reported as such.
 */
export function problemOf(error: unknown, { stores }: Pick<ImportJob, 'stores'>): string {
  if (isOutage(error)) throw error
  const known = apiErrorOf(error)
  if (known === null) {
    stores.log.error({ err: error }, 'a row of an import failed')
    return 'internal error'
  }
  const { message } = known
  return message.length <= TEXT_LENGTH_MAX ? message : `${message.slice(0, TEXT_LENGTH_MAX)}…`
}

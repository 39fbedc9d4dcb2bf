/** Why a row failed, as it is told; and what ends a whole import. */
import { CatalogUnavailableError } from '../../../catalog/errors.ts'
import { StoreDownError } from '../../../store/redis.ts'
import { apiErrorOf } from '../answer.ts'
import type { ImportJob } from './job.ts'

export function isOutage(error: unknown): boolean {
  return error instanceof CatalogUnavailableError || error instanceof StoreDownError
}

const TEXT_LENGTH_MAX = 500

/** Throws what is no fault of the row: an outage. A defect of ours is logged, and told as one. */
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

/** What is done under each kind of job. */
import type { EntityApi } from '../entities/api.ts'
import { eraseHandler } from '../privacy/erase.ts'
import type { JobHandlers } from './runner.ts'

export function jobHandlers({ stores, fields }: EntityApi): JobHandlers {
  return { erase: eraseHandler({ stores, fields }) }
}

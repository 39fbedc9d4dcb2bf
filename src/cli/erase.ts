/** `tollgate erase`: removes personal data directly in the stores. */
import { createEntityApi } from '../admin/entity-api.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import type { Subject } from '../entities/erasure.ts'
import { readJob } from '../jobs/jobs.ts'
import { eraseHandler } from '../jobs/privacy/erase.ts'
import { requestErasure } from '../jobs/privacy/request.ts'
import { subjectText } from '../jobs/privacy/subject.ts'
import { runJob } from '../jobs/runner.ts'
import { ApiError } from '../requests/errors.ts'
import { createLogger } from '../runtime/log.ts'
import { CommandError, UsageError } from './errors.ts'
import { countsText, jobJson } from './job-list.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalNumber } from './options.ts'
import type { Shell } from './shell.ts'
import { LEDGER_LOST, withStores } from './stores.ts'

/**
 * Returns 0 if the erasure is done, or done as far as possible now. Throws `CommandError` with the
 * reason for a refusal.
 */
export async function erase(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const subject = subjectOf(options)
  const config = shell.config()
  const log = createLogger({ name: 'cli', level: 'silent' })
  const job = await withStores(config, async ({ catalog, ledger, clock, accounts, lost }) => {
    if (lost.length > 0) throw new CommandError(LEDGER_LOST)
    const { lookup } = accounts
    const api = createEntityApi({ catalog, ledger, clock, config, lookup, log })
    const request = { subject, force: options['force'] === true, actor: operator() }
    const begun = await requestErasure(api.stores, request).catch((error: unknown) => {
      throw error instanceof ApiError ? new CommandError(error.message, { cause: error }) : error
    })
    const runner = { catalog, clock, config, log, handlers: { erase: eraseHandler(api) } }
    await runJob(runner, begun, new AbortController().signal)
    return (await readJob({ catalog }, begun._id)) ?? begun
  })
  if (options['json'] === true) shell.print(JSON.stringify(jobJson(job)))
  else shell.print(outcomeText(subject, job))
  return job.error === '' ? 0 : 1
}

function subjectOf(options: OptionValues): Subject {
  const sid = optionalNumber(options, 'sid')
  const aid = optionalNumber(options, 'aid')
  if (sid !== undefined && aid === undefined) return { collection: 'subscribers', key: sid }
  if (aid !== undefined && sid === undefined) return { collection: 'accounts', key: aid }
  throw new UsageError('give either --sid for a subscriber, or --aid for an account')
}

function outcomeText(subject: Subject, job: JobDocument): string {
  const who = subjectText(subject)
  const counts = countsText(job)
  if (job.state === 'done') return `erased ${who}: ${counts}`
  if (job.error !== '') return `erasing ${who} is tried again by the control plane: ${job.error}`
  if (job.state === 'running') return `${who} is being erased by another process: ${counts}`
  return (
    `erased ${who}: ${counts}; sessions that have ended can still be reported late, so the ` +
    "control plane looks at their lines once more ('tollgate job list')"
  )
}

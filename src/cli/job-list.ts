/** `tollgate job list`: erasures and retention, the newest first. */
import type { JobDocument } from '../catalog/records/job-document.ts'
import type { OptionValues } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

const LISTED_MAX = 100

export async function listJobs(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const jobs = await withCatalog(config, (catalog) =>
    catalog.jobs.find().sort({ created: -1 }).limit(LISTED_MAX).toArray(),
  )
  if (options['json'] === true) shell.print(JSON.stringify(jobs.map(jobJson)))
  else for (const line of jobsText(jobs)) shell.print(line)
  return 0
}

export function jobJson(job: JobDocument) {
  const { _id, kind, subject, state, step, counts, error, created, changed, due, ended } = job
  return {
    id: _id.toHexString(),
    kind,
    subject,
    state,
    step,
    counts,
    error,
    created,
    changed,
    due: state === 'waiting' ? due : null,
    ended,
  }
}

function jobsText(jobs: readonly JobDocument[]): string[] {
  if (jobs.length === 0) return ['no jobs']
  const rows = jobs.map((job) => [
    job.kind,
    job.subject,
    job.state,
    job.step,
    job.changed.toISOString(),
    job.error === '' ? countsText(job) : job.error,
  ])
  return aligned([['kind', 'subject', 'state', 'step', 'changed', 'done'], ...rows])
}

export function countsText({ counts }: JobDocument): string {
  const parts = Object.entries(counts).map(([name, count]) => {
    return `${name.replaceAll('_', ' ')} ${count}`
  })
  return parts.length === 0 ? 'nothing was there to remove' : parts.join(', ')
}

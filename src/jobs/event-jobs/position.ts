/** How far a standing job has come. */
import type { Catalog } from '../../catalog/connection.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'

/** Empty if it has not begun. */
export async function readPosition(
  catalog: Catalog,
  kind: JobDocument['kind'],
): Promise<NonNullable<JobDocument['position']>> {
  const job = await catalog.jobs.findOne(
    { kind, active: { $gt: '' } },
    { projection: { position: 1 } },
  )
  return job?.position ?? {}
}

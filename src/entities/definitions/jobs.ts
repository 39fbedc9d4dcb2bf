import { JOB } from '../../catalog/records/job-document.ts'
import { filtersOf, read, recordCollection } from './params.ts'

/**
 * Tollgate extension: erasure and retention jobs with their progress. Only the node writes them.
 */
export const jobs = recordCollection({
  name: 'jobs',
  about: '',
  record: JOB,
  keyField: 'subject',
  textDates: ['created', 'changed', 'ended', 'due'],
  hidden: ['token', 'holder', 'expires', 'active', 'options', 'actor'],
  actions: { get: read(filtersOf(JOB), { customFields: false, roles: ['admin'] }) },
})

import { LINE } from '../../catalog/records/record-schemas.ts'
import { filtersOf, reads, recordCollection, remove } from './params.ts'

/**
 * Records of usage, credits and balance changes. Only credits that are not invoiced yet can be
 * deleted.
 */
export const lines = recordCollection({
  name: 'lines',
  about: 'Records of usage, credits and balance changes',
  record: LINE,
  keyField: 'stamp',
  actions: { ...reads(filtersOf(LINE)), delete: remove() },
})

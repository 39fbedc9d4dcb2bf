/** A file type of records: lines of JSON, identified by `id`. */
import { recordDocument, recordType } from '../file-types/records.ts'

export interface CallRecord {
  id: string
  /** Bytes of data; none are not to be charged. */
  used: number
  msisdn: string
  at: string
}

const CHANGES = {
  file_type: 'calls',
  parser: { type: 'json' },
  processor: {
    date_field: 'at',
    stamp_fields: 'id',
    default_usaget: 'data',
    default_volume_src: 'used',
  },
  // The rules of the installation, which workers know.
  customer_identification_fields: undefined,
  filters: [
    { conditions: [{ src_field: 'used', op: '$regex', pattern: '/^0$/' }], skip_calc: ['all'] },
  ],
}

export const CALL_RECORDS = recordDocument(CHANGES)
export const CALLS = recordType(CHANGES)

/** With a trailer that has the number of records. */
export const COUNTED_CALLS = recordType({
  ...CHANGES,
  parser: { type: 'json', line_types: { T: '/"count"/' }, record_count_field: 'count' },
})

/** With a trailer that has the sum of the bytes. */
export const SUMMED_CALLS = recordType({
  ...CHANGES,
  parser: {
    type: 'json',
    line_types: { T: '/"total"/' },
    control_sums: [{ field: 'total', sum_of: 'used' }],
  },
})

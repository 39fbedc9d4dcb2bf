/** A file type of records: lines of JSON, identified by `id`. */
import { recordDocument, recordType } from '../file-types/records.ts'

export interface CallRecord {
  id: string
  /** Bytes of data; none are not to be charged. */
  used: number
  msisdn: string
  at: string
  price?: string
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

/** With prices, before tax. */
export const PRICED_CALLS = recordType({ ...CHANGES, pricing: { data: { aprice_field: 'price' } } })

/** Charging data records in the file format of TS 32.297. */
export const CDRS = recordType({
  file_type: 'cdrs',
  parser: {
    type: 'ber',
    file_format: 'ts32297',
    structure: [{ name: 'msisdn', tag: '22', type: 'isdn' }],
  },
  processor: {
    ...{ date_field: 'recordOpeningTime', stamp_fields: 'chargingID' },
    ...{ services_field: 'listOfServiceData', rating_group_field: 'ratingGroup' },
    ...{ default_usaget: 'data', default_volume_src: ['datavolumeFBCUplink'] },
  },
  customer_identification_fields: undefined,
})

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

/** Answer fields of a file type without response fields: those of the plain JSON format. */

/** The cost, only if the request asks for it. */
const costIfRequested = {
  response_field_name: 'cost',
  row_field_name: 'cost',
  conditions: [{ field_name: 'uf.cost', op: '$in', value: ['true', '1', 'yes', 'on'] }],
}

/** Fields of a grant; with price fields for a quote. */
const grant = fieldsOf({
  grantedVolume: 'granted_volume',
  validityTime: 'validity_time',
  quotaHoldingTime: 'quota_holding_time',
  threshold: 'threshold',
  finalUnit: 'final_unit',
  finalUnitAction: 'final_unit_action',
  redirectAddress: 'redirect_address',
  redirectAddressType: 'redirect_address_type',
  restrictionFilters: 'restriction_filters',
  policy: 'policy',
  aprice: 'aprice',
  finalCharge: 'final_charge',
  taxData: 'tax_data',
  inGroup: 'in_group',
  overGroup: 'over_group',
  outGroup: 'out_group',
  rateKey: 'arate_key',
  rating: 'rating',
})

/** The list of services, or the grant of the only one, is placed between `head` and `tail`. */
export const defaultFields = {
  head: [
    ...fieldsOf({
      status: 'status',
      returnCode: 'return_code',
      desc: 'desc',
      requestType: 'request_type',
      requestNum: 'request_num',
      sessionId: 'session_id',
      sid: 'sid',
      transactionId: 'transaction_id',
    }),
    costIfRequested,
  ],
  grant,
  tail: fieldsOf({ balances: 'balances' }),
}

export const defaultServicesName = 'services'

export const defaultServiceFields = [
  ...fieldsOf({
    rating_group: 'rating_group',
    service_identifier: 'service_identifier',
    usaget: 'usaget',
    returnCode: 'return_code',
  }),
  costIfRequested,
  ...grant,
]

function fieldsOf(rows: Readonly<Record<string, string>>) {
  return Object.entries(rows).map(([name, row]) => ({
    response_field_name: name,
    row_field_name: row,
  }))
}

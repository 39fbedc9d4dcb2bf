/** The fields of answers of a file type that describes none: those of the plain JSON dialect. */

/** What was spent, for a request that asks for it as the plain dialect does. */
const costIfWanted = {
  response_field_name: 'cost',
  row_field_name: 'cost',
  conditions: [{ field_name: 'uf.cost', op: '$in', value: ['true', '1', 'yes', 'on'] }],
}

/** What a service is granted, as far as it is configured; of a quote with its price. */
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
  aprice: 'aprice',
  finalCharge: 'final_charge',
  taxData: 'tax_data',
  inGroup: 'in_group',
  overGroup: 'over_group',
  outGroup: 'out_group',
  rateKey: 'arate_key',
  rating: 'rating',
})

/** Between `head` and `tail` comes the list of services, or the grant of the only one. */
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
    costIfWanted,
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
  costIfWanted,
  ...grant,
]

function fieldsOf(rows: Readonly<Record<string, string>>) {
  return Object.entries(rows).map(([name, row]) => ({
    response_field_name: name,
    row_field_name: row,
  }))
}

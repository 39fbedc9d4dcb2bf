/** Invalid documents: each is refused with the path of the error and the reason. */
import { describe, expect, it } from 'vitest'
import {
  documentWith,
  type Fields,
  MAPPING,
  PROCESSOR,
  REALTIME,
  refusalOf,
  withMapping,
  withRealtime,
} from '../support/file-types/sample.ts'

const RULE = { src_key: 'imsi', target_key: 'imsi' }
const FILTER = { type: 'match', rate_key: 'key', line_key: 'apn' }
const identifiedBy = (rules: unknown) => documentWith({ customer_identification_fields: rules })
const matchedBy = (rules: unknown) => documentWith({ rate_calculators: rules })
const processed = (processor: unknown) => documentWith({ processor })
const parsed = (parser: unknown) => documentWith({ parser })

describe('a document', () => {
  it('needs only parser, processor and realtime', () => {
    expect(refusalOf(documentWith())).toBe('')
  })

  it('may have sections that charging here does not use', () => {
    const ignored = {
      _id: 'x',
      rev: 3,
      description: 'gateway',
      type: 'realtime',
      enabled: false,
      pricing: { data: [], call: {} },
      unify: { anything: { at: 'all' } },
      drop_lines: [],
      filters: [],
      parser: {
        type: 'json',
        separator: ',',
        custom_keys: ['a'],
        line_types: { H: '//' },
        csv_has_header: false,
        csv_has_footer: false,
        structure: [],
      },
      processor: { ...PROCESSOR, type: 'Usage', orphan_files_time: '6 hours' },
    }
    expect(refusalOf(documentWith(ignored))).toBe('')
  })

  it.each<[unknown, string]>([
    [null, 'file_types must be an object'],
    [[], 'file_types must be an object'],
    [{}, 'file_types.file_type is missing'],
    [
      documentWith({ file_type: 'a b' }),
      'file_types.file_type must have 1 to 64 letters, digits or _',
    ],
    [documentWith({ file_type: 'Flat' }), 'file_types.Flat.file_type is reserved: Flat'],
    [documentWith({ file_type: 5 }), 'file_types.file_type must be a text that is not empty'],
    [documentWith({ receiver: {} }), 'file_types.T.receiver is not known'],
    [
      documentWith({ type: 'batch' }),
      "file_types.T.type must be one of realtime, usage, is 'batch'",
    ],
    [documentWith({ enabled: 'yes' }), 'file_types.T.enabled must be true or false'],
    [documentWith({ pricing: 3 }), 'file_types.T.pricing must be an object'],
    [
      documentWith({ pricing: { data: { aprice_field: 'x' } } }),
      'file_types.T.pricing.data.aprice_field is not supported: prices come from the catalogue',
    ],
    [documentWith({ pricing: { data: 1 } }), 'file_types.T.pricing.data must be a list'],
    [documentWith({ parser: undefined }), 'file_types.T.parser is missing'],
    [documentWith({ processor: undefined }), 'file_types.T.processor is missing'],
    [documentWith({ realtime: undefined }), 'file_types.T.realtime is missing'],
  ])('%j is refused', (document, message) => {
    expect(refusalOf(document)).toBe(message)
  })
})

describe('the section', () => {
  const TABLE: readonly [Fields, string][] = [
    [parsed({}), 'parser.type must be one of json, xml, key_value, diameter, is undefined'],
    [
      parsed({ type: 'tap3' }),
      "parser.type must be one of json, xml, key_value, diameter, is 'tap3'",
    ],
    [parsed({ type: 'json', pair_separator: ';' }), 'parser.pair_separator is not known'],
    [parsed({ type: 'key_value', separator: ';' }), 'parser.separator is not known'],
    [parsed({ type: 'json', structure: {} }), 'parser.structure must be a list'],
    [parsed({ type: 'json', structure: [1] }), 'parser.structure.0 must be an object'],
    [
      parsed({ type: 'json', structure: [{ name: 'a', x: 1 }] }),
      'parser.structure.0.x is not known',
    ],
    [parsed({ type: 'json', structure: [{}] }), 'parser.structure.0.name is missing'],
    [
      parsed({ type: 'json', structure: [{ name: 'a[b=1]', checked: false }] }),
      'parser.structure.0.name must have no selector',
    ],
    [
      parsed({ type: 'json', structure: [{ name: 'a', checked: 0 }] }),
      'parser.structure.0.checked must be true or false',
    ],
    [parsed({ type: 'json', custom_keys: 'a' }), 'parser.custom_keys must be a list'],
    [
      parsed({ type: 'key_value', pair_separator: 'ab' }),
      'parser.pair_separator must have no letters, digits, quotes or percent signs',
    ],
    [
      parsed({ type: 'keyvalue', value_separator: '' }),
      'parser.value_separator must be a text of 1 to 8 characters',
    ],
    [
      parsed({ type: 'key-value', pair_separator: '=' }),
      'parser.value_separator must differ from pair_separator',
    ],
    [
      parsed({ type: 'key_value', quoting: 'some' }),
      "parser.quoting must be one of percent, quotes, none, is 'some'",
    ],
    [
      parsed({ type: 'key_value', repeated: 'all' }),
      "parser.repeated must be one of last, first, list, error, is 'all'",
    ],
    [
      processed({}),
      'processor.usaget_mapping is missing, and so are default_usaget and usaget_field',
    ],
    [
      processed({ ...PROCESSOR, calculated_fields: [] }),
      'processor.calculated_fields is not known',
    ],
    [
      processed({ ...PROCESSOR, type: 'Tap3' }),
      "processor.type must be one of Usage, Realtime, is 'Tap3'",
    ],
    [processed({ usaget_mapping: {} }), 'processor.usaget_mapping must be a list'],
    [processed({ usaget_mapping: [{}] }), 'processor.usaget_mapping.0.usaget is missing'],
    [processed({ default_unit: 'byte' }), 'processor.default_unit needs default_usaget'],
    [
      processed({ default_usaget: 'a b' }),
      'processor.default_usaget must be letters, digits, _ and - only',
    ],
    [
      processed({ default_usaget: 'x'.repeat(65) }),
      'processor.default_usaget must have at most 64 characters',
    ],
    [
      processed({ default_usaget: 'a', default_volume_type: 'x', default_volume_src: 'y' }),
      "processor.default_volume_type must be one of field, value, is 'x'",
    ],
    [
      processed({ ...PROCESSOR, stamp_fields: [1] }),
      'processor.stamp_fields.0 must be a text that is not empty',
    ],
    [
      processed({ ...PROCESSOR, date_field: 'd', date_format: 'q' }),
      "processor.date_format has 'q', which is not supported",
    ],
    [withMapping({ x: 1 }), 'processor.usaget_mapping.0.x is not known'],
    [
      withMapping({ usaget: '' }),
      'processor.usaget_mapping.0.usaget must be a text that is not empty',
    ],
    [withMapping({ volume_src: '' }), 'processor.usaget_mapping.0.volume_src is missing'],
    [
      withMapping({ volume_src: ['a', {}] }),
      'processor.usaget_mapping.0.volume_src.1.each is missing',
    ],
    [
      withMapping({ volume_type: 'value', volume_src: 'x' }),
      'processor.usaget_mapping.0.volume_src must be a number from 0 up',
    ],
    [
      withMapping({ volume_type: 'value', volume_src: [1, 2] }),
      'processor.usaget_mapping.0.volume_src must be a number from 0 up',
    ],
    [withMapping({ src_field: 'a' }), 'processor.usaget_mapping.0.pattern is missing'],
    [withMapping({ pattern: 'a' }), 'processor.usaget_mapping.0.src_field is missing'],
    [
      withMapping({ src_field: 'a', pattern: '/(/' }),
      'processor.usaget_mapping.0.pattern is not a regular expression: /(/',
    ],
    [
      withMapping({ conditions: [{ src_field: 'a b', pattern: 1 }] }),
      'processor.usaget_mapping.0.conditions.0.src_field must be the path of a field, such as ' +
        "a.b, a.0.b or a[key=value].b, is 'a b'",
    ],
    [
      withMapping({ called_number_field: 7 }),
      'processor.usaget_mapping.0.called_number_field must be a text that is not empty',
    ],
    [
      withMapping({ stamp_fields: 5 }),
      'processor.usaget_mapping.0.stamp_fields must be a text that is not empty',
    ],
    [identifiedBy([]), 'customer_identification_fields must be an object'],
    [identifiedBy({}), 'customer_identification_fields.data is missing'],
    [identifiedBy({ call: [RULE] }), 'customer_identification_fields.data is missing'],
    [
      identifiedBy({ data: [{ ...RULE, clear_regex: '/(/' }] }),
      'customer_identification_fields.data.0.clear_regex is not a regular expression: /(/',
    ],
    [
      identifiedBy({ data: [{ ...RULE, src_key: 'a b' }] }),
      "customer_identification_fields reads 'a b', which cannot be the path of a field",
    ],
    [
      identifiedBy({ data: [{ ...RULE, src_key: 'constructor' }] }),
      "customer_identification_fields reads 'constructor', which cannot be the path of a field",
    ],
    [matchedBy({}), "rate_calculators has no rules for usage type 'data'"],
    [
      matchedBy({ retail: { call: [[FILTER]] } }),
      "rate_calculators has no rules for usage type 'data'",
    ],
    [
      matchedBy({ retail: { data: { priorities: [{ filters: [{ ...FILTER, type: 'x' }] }] } } }),
      'rate_calculators.retail.data.priorities.0.filters.0.type must be one of match, ' +
        "equalFalse, longestPrefix, range, regex, is 'x'",
    ],
    [withRealtime({ x: 1 }), 'realtime.x is not known'],
    [
      withRealtime({ call: {} }),
      'realtime.call is neither a key nor a usage type of the processor',
    ],
    [withRealtime({ data: { x: 1 } }), 'realtime.data.x is not known'],
    [withRealtime({ data: { services_field: 'a' } }), 'realtime.data.services_field is not known'],
    [withRealtime({ general: { x: 1 } }), 'realtime.general.x is not known'],
    [withRealtime({ postpay_charge: 1 }), 'realtime.postpay_charge must be true or false'],
    [
      withRealtime({ request_type_field: [] }),
      'realtime.request_type_field must be a text that is not empty',
    ],
    [withRealtime({ request_types: [] }), 'realtime.request_types must be an object'],
    [
      withRealtime({ request_types: { I: 'begin' } }),
      'realtime.request_types.I must be start_request, update_request, release_request or ' +
        "event_request, or a code of them, is 'begin'",
    ],
    [
      withRealtime({ session_id_fields: [] }),
      'realtime.session_id_fields must have at least one field',
    ],
    [
      withRealtime({ session_id_fields: [''] }),
      'realtime.session_id_fields.0 must be a text that is not empty',
    ],
    [
      documentWith({ realtime: {} }),
      'realtime.used_usagev_field is missing: nothing else tells what was used',
    ],
    [
      withRealtime({ used_usagev_field: [] }),
      'realtime.used_usagev_field is missing: nothing else tells what was used',
    ],
    [
      withRealtime({ rebalance_on_final: true }),
      'realtime.rebalance_on_final is not supported: usage is settled with every report',
    ],
    [
      withRealtime({ data: { rebalance_on_final: true } }),
      'realtime.data.rebalance_on_final is not supported: usage is settled with every report',
    ],
    [
      withRealtime({ used_usagev_accumulative: 'x' }),
      'realtime.used_usagev_accumulative must be true or false',
    ],
    [withRealtime({ default_values: 5 }), 'realtime.default_values must be an object'],
    [withRealtime({ default_values: { x: 5 } }), 'realtime.default_values.x is not known'],
    [
      withRealtime({ data: { default_values: { default: 1.5 } } }),
      'realtime.data.default_values.default must be whole base units, from 0 to 2^53 - 1',
    ],
    [
      withRealtime({ default_values: { start_request: -1 } }),
      'realtime.default_values.start_request must be whole base units, from 0 to 2^53 - 1',
    ],
    [withRealtime({ allow_get: 'x' }), 'realtime.allow_get must be true or false'],
    [
      withRealtime({ subscriber_fields: { aid: 'x' } }),
      'realtime.subscriber_fields.aid is not known',
    ],
    ...['pretend_field', 'balances_field', 'refund_field'].map((key): [Fields, string] => [
      withRealtime({ [key]: {} }),
      `realtime.${key}.conditions is missing`,
    ]),
    ...['request_num_field', 'services_field', 'requested_field'].map((key): [Fields, string] => [
      withRealtime({ [key]: 3 }),
      `realtime.${key} must be a text that is not empty`,
    ]),
    [documentWith({ filters: {} }), 'filters must be a list'],
    [documentWith({ filters: [{}] }), 'filters.0.conditions is missing'],
    [documentWith({ filters: [{ conditions: [] }] }), 'filters.0.skip_calc is missing'],
    [
      documentWith({ filters: [{ conditions: [], skip_calc: [] }] }),
      'filters.0.skip_calc must name at least one calculator',
    ],
    [
      documentWith({ filters: [{ conditions: [], skip_calc: ['x'] }] }),
      "filters.0.skip_calc.0 must be one of all, customer, rate, pricing, tax, unify, is 'x'",
    ],
    [
      documentWith({ filters: [{ conditions: [], skip_calc: [], x: 1 }] }),
      'filters.0.x is not known',
    ],
    [documentWith({ response: { x: 1 } }), 'response.x is not known'],
  ]

  it.each(TABLE)('is refused: %j', (document, message) => {
    expect(refusalOf(document)).toBe(`file_types.T.${message}`)
  })

  it('processor accepts only known units', () => {
    const units = [
      withMapping({ unit: 'mb' }),
      processed({ default_usaget: 'a', default_unit: 'x' }),
    ]
    const [mapping, absent] = units.map(refusalOf)
    expect(mapping).toMatch(/^file_types\.T\.processor\.usaget_mapping\.0\.unit must be one of /)
    expect(absent).toMatch(/^file_types\.T\.processor\.default_unit must be one of .*, is 'x'$/)
  })

  it('of rules needs rules for all usage types if messages name the usage type', () => {
    const open = { processor: { usaget_field: 'usaget' } }
    const named = { customer_identification_fields: { data: [RULE] } }
    expect(refusalOf(documentWith({ ...open, ...named }))).toBe(
      'file_types.T.customer_identification_fields.* is missing',
    )
    const all = { customer_identification_fields: { '*': [RULE] } }
    expect(refusalOf(documentWith({ ...open, ...all }))).toBe('')
    expect(refusalOf(documentWith({ ...open, rate_calculators: { retail: { data: [] } } }))).toBe(
      "file_types.T.rate_calculators has no rules for usage type '*'",
    )
  })

  it('realtime may omit the used volume if every message is an event', () => {
    expect(refusalOf(documentWith({ realtime: { postpay_charge: true } }))).toBe('')
    const own = { data: { used_usagev_field: 'x' } }
    expect(refusalOf(documentWith({ realtime: own }))).toBe('')
    const two = { usaget_mapping: [MAPPING, { ...MAPPING, usaget: 'call' }] }
    expect(refusalOf(documentWith({ processor: two, realtime: own }))).toBe(
      'file_types.T.realtime.used_usagev_field is missing: nothing else tells what was used',
    )
    expect(refusalOf(documentWith({ processor: two, realtime: { ...own, ...REALTIME } }))).toBe('')
  })
})

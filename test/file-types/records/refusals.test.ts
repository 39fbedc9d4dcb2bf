/** Documents of record files: those of existing installations, and invalid ones. */
import { describe, expect, it } from 'vitest'
import { checkedFileType } from '../../../src/file-types/installed.ts'
import { BER_TYPES } from '../../../src/file-types/records/ber-values.ts'
import { CALLS, CSV, recordDocument } from '../../support/file-types/records.ts'
import { DEFAULTS, documentWith, type Fields, refusal } from '../../support/file-types/sample.ts'

const refusalOf = (document: unknown) =>
  refusal(() => checkedFileType(document, DEFAULTS, 'file_types.CDR'))
const parsed = (changes: Fields) => recordDocument({ parser: { ...CSV, ...changes } })
const ber = (parser: Fields) => recordDocument({ parser: { type: 'ber', ...parser } })
const processed = (changes: Fields) => recordDocument({ processor: { ...CALLS, ...changes } })

/** As the input form of existing installations writes it, without credentials. */
const EXISTING = {
  file_type: 'Roaming_In',
  parser: {
    type: 'fixed',
    separator: '',
    structure: [
      { name: 'imsi', checked: true, width: 15 },
      { name: 'begin', checked: true, width: '14' },
      { name: 'bytes', checked: true, width: 12 },
      { name: 'filler', checked: false, width: 3 },
    ],
    custom_keys: ['imsi', 'begin', 'bytes'],
    line_types: { H: '/^none$/', D: '//', T: '/^none$/' },
    csv_has_header: false,
    csv_has_footer: false,
  },
  processor: {
    type: 'Usage',
    date_field: 'begin',
    date_format: 'YmdHis',
    time_field: '',
    time_format: '',
    timezone_field: '',
    timezone: 'Europe/Berlin',
    default_usaget: 'data',
    default_unit: 'byte',
    default_volume_type: 'field',
    default_volume_src: ['bytes'],
    orphan_files_time: '6 hours',
  },
  customer_identification_fields: {
    data: [{ src_key: 'imsi', target_key: 'imsi', clear_regex: '//' }],
  },
  rate_calculators: {
    retail: {
      data: { priorities: [{ filters: [{ type: 'match', rate_key: 'key', line_key: 'usaget' }] }] },
    },
  },
  pricing: { data: [] },
  receiver: {
    type: 'ftp',
    connections: [{ name: 'x', host: 'ftp.example', user: 'u', remote_directory: '/out' }],
    limit: 3,
  },
  unify: {},
  filters: [],
}

describe('a document', () => {
  it('of an existing installation describes files by its receiver', () => {
    expect(checkedFileType(EXISTING, DEFAULTS, 'x')).toMatchObject({
      type: 'usage',
      name: 'Roaming_In',
      parser: { type: 'fixed' },
    })
  })

  it('describes messages without one', () => {
    expect(checkedFileType(documentWith(), DEFAULTS, 'x').type).toBe('realtime')
    expect(refusalOf(documentWith({ type: 'realtime', receiver: {} }))).toBe(
      'file_types.CDR.receiver is not known',
    )
  })

  it.each<[unknown, string]>([
    [recordDocument({ type: 'batch' }), "type must be one of realtime, usage, is 'batch'"],
    [recordDocument({ realtime: {} }), 'realtime is not known'],
    [recordDocument({ response: {} }), 'response is not known'],
    [recordDocument({ samples: [] }), 'samples is not known'],
    [recordDocument({ file_type: 'flat' }), 'file_type is reserved: flat'],
    [recordDocument({ file_type: 'json' }), "file_type 'json' is built in, and cannot be replaced"],
    [
      recordDocument({ receiver: { connections: [{}, { password: 'x' }] } }),
      'receiver.connections.1.password is a secret, and not used',
    ],
    [recordDocument({ receiver: { connections: 1 } }), 'receiver.connections must be a list'],
    [recordDocument({ parser: undefined }), 'parser is missing'],
    [parsed({ type: 'xml' }), "parser.type must be one of separator, fixed, json, ber, is 'xml'"],
    [
      parsed({ type: 'tap3' }),
      "parser.type 'tap3' is not supported; charging data records are read by ber",
    ],
    [
      parsed({ type: 'ggsn' }),
      "parser.type 'ggsn' is not supported; charging data records are read by ber",
    ],
    [parsed({ file_format: 'plain' }), 'parser.file_format is not for separator'],
    [ber({ quote: "'" }), 'parser.quote is not for ber'],
    [ber({ file_format: 'x' }), "parser.file_format must be one of plain, ts32297, is 'x'"],
    [ber({ structure: [{ name: 'a.b' }] }), 'parser.structure.0.name must be one name'],
    [
      ber({ structure: [{ name: 'a', tag: '1.' }] }),
      'parser.structure.0.tag must be the path of a tag, such as 34.12',
    ],
    [
      ber({ structure: [{ name: 'a', tag: '1', type: 'group' }] }),
      `parser.structure.0.type must be one of ${BER_TYPES.join(', ')}, is 'group'`,
    ],
    [
      processed({
        services_field: 'parts',
        usaget_mapping: [{ ...CALLS.usaget_mapping[0], stamp_fields: 'when' }],
      }),
      'processor.usaget_mapping.0.stamp_fields must be that of the processor: ' +
        'it identifies all services of a record',
    ],
    [parsed({ color: 1 }), 'parser.color is not known'],
    [parsed({ structure: undefined }), 'parser.structure is missing'],
    [parsed({ structure: [] }), 'parser.structure must have at least one column'],
    [
      parsed({ structure: [{ name: 'a' }, { name: 'a' }] }),
      "parser.structure.1.name 'a' occurs twice",
    ],
    [parsed({ structure: [{ name: 'a', width: 1 }] }), 'parser.structure.0.width is not known'],
    [parsed({ structure: [{ name: 'a[b]' }] }), 'parser.structure.0.name must have no selector'],
    [
      parsed({ structure: [{ name: 'a', checked: 'no' }] }),
      'parser.structure.0.checked must be true or false',
    ],
    [parsed({ type: 'fixed' }), 'parser.structure.0.width is missing'],
    [parsed({ separator: ';;' }), 'parser.separator must be one ASCII character'],
    [parsed({ separator: '\n' }), 'parser.separator must be one ASCII character'],
    [parsed({ quote: ',' }), "parser.quote must be another ASCII character, or 'none'"],
    [parsed({ type: 'json', quote: "'", structure: [] }), 'parser.quote is not for json'],
    [parsed({ csv_has_header: 1 }), 'parser.csv_has_header must be true or false'],
    [parsed({ line_types: { X: '/a/' } }), 'parser.line_types.X is not known'],
    [parsed({ line_types: { H: '/(/' } }), 'parser.line_types.H is not a regular expression: /(/'],
    [
      parsed({ trailer_structure: [] }),
      'parser.trailer_structure needs record_count_field or control_sums',
    ],
    [parsed({ control_sums: [] }), 'parser.control_sums must have at least one sum'],
    [parsed({ control_sums: [{ field: 'n' }] }), 'parser.control_sums.0.sum_of is missing'],
    [
      parsed({ control_sums: [{ field: 'n', sum_of: 'seconds' }] }),
      'parser.trailer_structure is missing',
    ],
    [parsed({ record_count_field: 'n' }), 'parser.trailer_structure is missing'],
    [parsed({ custom_keys: 1 }), 'parser.custom_keys must be a list'],
    [processed({ date_field: undefined }), 'processor.date_field is missing'],
    [processed({ date_beyond: 'now' }), 'processor.date_beyond is not known'],
    [processed({ default_parts: [] }), 'processor.default_parts is not known'],
    [
      processed({ usaget_mapping: [{ ...CALLS.usaget_mapping[0], parts: [] }] }),
      'processor.usaget_mapping.0.parts is for messages only',
    ],
    [
      processed({ default_usaget: 'call' }),
      'processor.default_volume_src is missing: nothing else tells what was used',
    ],
    [
      processed({ usaget_mapping: undefined }),
      'processor.usaget_mapping is missing, and so are default_usaget and usaget_field',
    ],
  ])('%j is refused', (document, message) => {
    expect(refusalOf(document)).toBe(`file_types.CDR.${message}`)
  })
})

/** A document with all sections, written as in existing installations. */
import { expect, it } from 'vitest'
import { compileFileType } from '../../src/file-types/compile.ts'
import { CONTEXT, DEFAULTS, NOW_MS, requestOf } from '../support/file-types/sample.ts'

const DOCUMENT = {
  file_type: 'PGW_1',
  type: 'realtime',
  enabled: true,
  parser: {
    type: 'json',
    separator: '',
    structure: [
      ...['code', 'call_id', 'subscriber', 'at', 'point', 'ask', 'done'].map((name) => ({
        name,
        checked: true,
      })),
      { name: 'vendor.notes', checked: false },
    ],
    custom_keys: ['code', 'call_id', 'subscriber', 'at', 'point', 'ask', 'done'],
    line_types: { H: '/^head$/', D: '//', T: '/^tail$/' },
    csv_has_header: false,
    csv_has_footer: false,
  },
  processor: {
    type: 'Realtime',
    date_field: 'at',
    date_format: '',
    time_field: '',
    time_format: '',
    timezone_field: '',
    timezone: '',
    usaget_mapping: [
      {
        src_field: 'point',
        pattern: '/^web\\./',
        conditions: [{ src_field: 'point', op: '$regex', pattern: '/^web\\./' }],
        usaget: 'browsing',
        unit: 'kb1024',
        volume_type: 'field',
        volume_src: ['ask'],
        stamp_fields: ['uf.call_id', 'uf.code', 'uf.at'],
      },
    ],
    orphan_files_time: '2 hours',
  },
  customer_identification_fields: {
    browsing: [
      {
        src_key: 'subscriber',
        target_key: 'msisdn',
        conditions: [{ field: 'usaget', regex: '/.*/' }],
        clear_regex: '//',
      },
    ],
  },
  rate_calculators: {
    retail: {
      browsing: {
        priorities: [
          {
            filters: [{ type: 'match', rate_key: 'params.point', line_key: 'point' }],
            cache_db_queries: false,
          },
          { filters: [{ type: 'longestPrefix', rate_key: 'params.home', line_key: 'subscriber' }] },
        ],
      },
    },
  },
  pricing: { browsing: [] },
  realtime: {
    postpay_charge: false,
    request_type_field: 'code',
    session_id_fields: ['call_id', 'subscriber'],
    used_usagev_field: ['done'],
    used_usagev_accumulative: false,
    rebalance_on_final: false,
    pretend_field: 'trial',
    default_values: {
      initial_request: 4096,
      update_request: 2048,
      final_request: 0,
      default: 1024,
    },
    browsing: { default_values: { initial_request: 8192 } },
  },
  response: {
    encode: 'json',
    fields: [
      { response_field_name: 'code', row_field_name: 'request_type' },
      { response_field_name: 'id', row_field_name: 'session_id' },
      { response_field_name: 'result', row_field_name: 'granted_return_code' },
      { response_field_name: 'volume', row_field_name: 'usagev' },
      { response_field_name: 'ok', row_field_name: { classMethod: 'getStatus' } },
    ],
  },
  unify: {},
  filters: [],
}

const MESSAGE = {
  code: '1',
  call_id: 'c-77',
  subscriber: '4930111',
  at: NOW_MS / 1000 - 5,
  point: 'web.example',
  vendor: { notes: 'private', model: 'x' },
}

it('the document and the messages of its network element are accepted', () => {
  expect(requestOf(DOCUMENT, MESSAGE)).toMatchObject({
    kind: 'start',
    origin: 'gateway/PGW_1',
    sessionId: 'c-77;4930111',
    stamp: `c-77;1;${NOW_MS / 1000 - 5}`,
    subscriberKey: 'none',
    eventTimeMs: NOW_MS - 5000,
    eventTimeGiven: true,
    services: [{ usaget: 'browsing', requested: 8192, used: 0 }],
    fields: { point: 'web.example', subscriber: '4930111' },
  })
  const update = { ...MESSAGE, code: 2, ask: '3', done: 1.5 }
  expect(requestOf(DOCUMENT, update).services).toMatchObject([{ requested: 3072, used: 1536 }])
  const last = { ...MESSAGE, code: '3', done: '2', ask: 3 }
  expect(requestOf(DOCUMENT, last).services).toMatchObject([{ requested: -1, used: 2048 }])
})

it('answers repeat the message without the hidden fields', () => {
  const found = compileFileType(DOCUMENT, DEFAULTS).map(MESSAGE, CONTEXT)
  expect(found).toMatchObject({
    echo: { requestType: '1', recordType: 'start_request', message: { vendor: { model: 'x' } } },
  })
  expect(found).not.toHaveProperty('echo.message.vendor.notes')
})

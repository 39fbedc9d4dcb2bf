/**
 * A format described by an operator: other names, nested fields, and two fields for the session.
 */
import type { Fields } from '../exchange.ts'
import type { DialectAdapter } from './adapter.ts'

const usage = (op: string, pattern: string, usaget: string, unit: string) => ({
  conditions: [{ src_field: 'kind', op, pattern }],
  ...{ usaget, unit, volume_type: 'field', volume_src: ['ask'] },
})

export const GATEWAY = {
  file_type: 'GATEWAY',
  type: 'realtime',
  parser: { type: 'json' },
  processor: {
    type: 'Realtime',
    date_field: 'head.at',
    date_format: 'd/m/Y H:i:s',
    timezone: 'UTC',
    usaget_mapping: [
      {
        ...usage('$regex', '/^(?:web|mail)$/', 'data', 'byte'),
        rating_group_field: 'group',
      },
      usage('$eq', 'voice', 'call', 'seconds'),
      usage('$eq', 'text', 'sms', 'counter'),
    ],
  },
  customer_identification_fields: {
    '*': [{ src_key: 'head.line', target_key: 'sid', clear_regex: '/^L/' }],
  },
  realtime: {
    request_type_field: 'head.phase',
    request_types: { OPEN: 'start_request', MORE: 'update_request', END: 'release_request' },
    session_id_fields: ['head.session', 'head.node'],
    request_num_field: 'head.number',
    services_field: 'usage',
    used_usagev_field: 'done',
    default_values: { default: 1_000_000 },
  },
  response: {
    encode: 'json',
    fields: [
      { response_field_name: 'head.session', row_field_name: 'uf.head.session' },
      { response_field_name: 'head.code', row_field_name: 'granted_return_code' },
      { response_field_name: 'head.text', row_field_name: 'desc' },
    ],
    services: {
      field: 'usage',
      fields: [
        { response_field_name: 'kind', row_field_name: 'uf.kind' },
        { response_field_name: 'grant.volume', row_field_name: 'granted_volume' },
        { response_field_name: 'grant.last', row_field_name: 'final_unit' },
        { response_field_name: 'code', row_field_name: 'return_code' },
      ],
    },
  },
}

const PHASES: Readonly<Record<string, string>> = {
  start_request: 'OPEN',
  update_request: 'MORE',
  release_request: 'END',
}

interface Service {
  rating_group?: number
  usaget: string
  usagev?: number
  used_usagev?: number
}

const KINDS: Readonly<Record<string, string>> = { call: 'voice', sms: 'text' }

function usageOf({ rating_group, usaget, usagev, used_usagev }: Service): Fields {
  const kind = KINDS[usaget] ?? (rating_group === 20 ? 'mail' : 'web')
  return { kind, group: rating_group, ask: usagev, done: used_usagev }
}

interface Answer {
  head: { session: string; code: number; text: string }
  usage?: { code: number; grant?: { volume?: number; last?: boolean } }[]
}

export const gateway: DialectAdapter = {
  name: 'a mapped file type',
  path: '/realtime?file_type=GATEWAY',
  contentType: 'application/json',
  lineSessionId: (sessionId) => `${sessionId};gw%3B1`,
  write({ record_type, session_id, request_num, sid, services = [] }) {
    const phase = PHASES[String(record_type)]
    const line = sid === undefined ? undefined : `L${sid}`
    const head = { session: session_id, node: 'gw;1', number: request_num, phase, line }
    return JSON.stringify({ head, usage: (services as Service[]).map(usageOf) })
  },
  read(text) {
    const { head, usage = [], ...error } = JSON.parse(text) as Answer
    if (head === undefined) return error
    return {
      returnCode: head.code,
      services: usage.map(({ code, grant }) => ({
        returnCode: code,
        grantedVolume: grant?.volume ?? 0,
        finalUnit: grant?.last ?? false,
      })),
    }
  },
}

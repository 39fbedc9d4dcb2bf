/**
 * A format described by an operator, in lines of text: data in kibibytes, time as on a clock, and
 * in each report the total usage of the session so far.
 */
import type { DialectAdapter } from './adapter.ts'

const kind = (pattern: string) => [{ src_field: 'kind', op: '$eq', pattern }]
const asked = { volume_type: 'field', volume_src: ['ask'], rating_group_field: 'group' }
const granted = { response_field_name: 'may', row_field_name: 'granted_volume' }
const isOf = (value: string) => [{ field_name: 'usaget', op: '$eq', value }]

export const TOTALS = {
  file_type: 'TOTALS',
  parser: { type: 'key_value', pair_separator: '\n', value_separator: ': ', quoting: 'none' },
  processor: {
    type: 'Realtime',
    date_field: 'at',
    usaget_mapping: [
      { conditions: kind('data'), usaget: 'data', unit: 'kb1024', ...asked },
      { conditions: kind('call'), usaget: 'call', unit: 'hhmmss', ...asked },
      { conditions: kind('sms'), usaget: 'sms', unit: 'counter', ...asked },
    ],
  },
  customer_identification_fields: { '*': [{ src_key: 'imsi', target_key: 'imsi' }] },
  realtime: {
    request_type_field: 'phase',
    session_id_fields: ['session'],
    request_num_field: 'number',
    services_field: 'usage',
    used_usagev_field: 'total',
    used_usagev_accumulative: true,
    default_values: { default: 1_000_000 },
  },
  response: {
    fields: [
      { response_field_name: 'code', row_field_name: 'granted_return_code' },
      { response_field_name: 'text', row_field_name: 'desc' },
    ],
    services: {
      field: 'usage',
      fields: [
        { response_field_name: 'kind', row_field_name: 'uf.kind' },
        { response_field_name: 'code', row_field_name: 'return_code' },
        { ...granted, unit: 'kb1024', conditions: isOf('data') },
        { ...granted, unit: 'hhmmss', conditions: isOf('call') },
        granted,
        { response_field_name: 'last', row_field_name: 'final_unit' },
      ],
    },
  },
}

interface Service {
  rating_group?: number
  usaget: string
  usagev?: number
  used_usagev?: number
}

const KIB = 1024

/** A division by a power of two is exact, and needs ten decimals at most. */
function unitText(usaget: string, units: number): string {
  if (usaget === 'data') return (units / KIB).toFixed(10)
  if (usaget === 'call') return new Date(units * 1000).toISOString().slice(11, 19)
  return String(units)
}

function unitsOf(kind: string | undefined, text: string): number {
  if (kind === 'data') return Number(text) * KIB
  if (kind !== 'call') return Number(text)
  const [hours, minutes, seconds] = [0, 2, 4].map((at) => Number(text.slice(at, at + 2)))
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
}

function servicesIn(fields: ReadonlyMap<string, string>) {
  const services = []
  for (let at = 0; fields.has(`usage.${at}.code`); at += 1) {
    const of = (name: string) => fields.get(`usage.${at}.${name}`)
    services.push({
      returnCode: Number(of('code')),
      grantedVolume: unitsOf(of('kind'), of('may') ?? '000000'),
      finalUnit: of('last') === 'true',
    })
  }
  return services
}

/** One network element, which stores the usage of each of its sessions. */
export function totals(): DialectAdapter {
  const used = new Map<string, number>()
  const add = (session: unknown, { rating_group, usaget, used_usagev = 0 }: Service) => {
    const key = `${session} ${rating_group} ${usaget}`
    const total = (used.get(key) ?? 0) + used_usagev
    used.set(key, total)
    return total
  }
  return {
    name: 'running totals',
    path: '/realtime/TOTALS',
    contentType: 'text/plain',
    countsTotals: true,
    write({ record_type, session_id, request_num, sid, services = [] }) {
      const lines = [`phase: ${record_type}`, `session: ${session_id}`, `number: ${request_num}`]
      if (sid !== undefined) lines.push(`imsi: 00102${String(sid).padStart(10, '0')}`)
      for (const [at, service] of (services as Service[]).entries()) {
        const { rating_group, usaget, usagev, used_usagev } = service
        lines.push(`usage.${at}.kind: ${usaget}`)
        if (rating_group !== undefined) lines.push(`usage.${at}.group: ${rating_group}`)
        if (usagev !== undefined) lines.push(`usage.${at}.ask: ${unitText(usaget, usagev)}`)
        if (used_usagev === undefined) continue
        lines.push(`usage.${at}.total: ${unitText(usaget, add(session_id, service))}`)
      }
      return lines.join('\n')
    },
    read(text) {
      const pairs = text.split('\n').map((line) => line.split(': ') as [string, string])
      const fields = new Map(pairs)
      return { returnCode: Number(fields.get('code')), services: servicesIn(fields) }
    },
  }
}

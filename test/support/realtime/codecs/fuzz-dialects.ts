/** Message formats for the fuzz tests, each with messages that it accepts. */
import { builtInFileTypes } from '../../../../src/file-types/built-in.ts'
import { compileFileType } from '../../../../src/file-types/compile.ts'
import type { Codec } from '../../../../src/realtime/codecs/codec.ts'
import { codecOf } from '../../../../src/realtime/codecs/codec-of.ts'
import { settings } from '../../file-types/answers.ts'
import { examplesOf, type WireExample, wireExamples } from '../wire-examples.ts'
import { DECODE_CONTEXT, jsonCodec } from './settings.ts'

export interface FuzzFormat {
  name: string
  codec: Codec<unknown>
  /** A new codec without state of earlier messages. */
  fresh: () => Codec<unknown>
  messages: readonly string[]
}

export const context = {
  ...DECODE_CONTEXT,
  keptFields: ['apn', 'a.b', 'nai'],
  identifyingFields: ['nai'],
  identifies: () => true,
}

const identification = [{ src_key: 'who.number', target_key: 'msisdn', clear_regex: '/^(\\+|00)/' }]
const rate = [[{ type: 'longestPrefix', rate_key: 'params.prefix', line_key: 'uf.to' }]]

/** A file type that uses every feature. */
export function wideDocument(parser: Record<string, unknown>, name = 'wide') {
  const structure = [
    { name: 'hidden', checked: false },
    { name: 'list.secret', checked: false },
  ]
  const matches = [
    { src_field: 'list[kind=x].kind', op: '$regex', pattern: '/^(x|y+)+$/' },
    { src_field: 'to', op: '$ne', pattern: '5' },
  ]
  const used = [['spent.in', 'spent.out'], [{ each: 'list', fields: [['spent'], ['n']] }]]
  const tested = [{ field_name: 'to', op: '$in', value: '112,110' }]
  return {
    file_type: name,
    parser: { structure, ...parser },
    processor: {
      date_field: 'at',
      timezone_field: 'zone',
      usaget_mapping: [
        { usaget: 'sms', unit: 'counter', volume_src: ['want'], conditions: matches },
        {
          src_field: 'to',
          pattern: '/^[a-z]+@/i',
          usaget: 'mail',
          volume_type: 'value',
          volume_src: 1,
        },
      ],
      usaget_field: 'type',
      default_usaget: 'data',
      default_unit: 'kb1000',
      default_volume_src: [['want', 'more']],
      called_number_field: ['to', 'list[kind=x].to'],
      called_number_format: 'uri',
      rating_group_field: 'group',
      stamp_fields: ['id', 'to'],
    },
    realtime: {
      request_type_field: 'op',
      request_types: { I: 'start_request', U: 'update_request' },
      session_id_fields: ['session', 'constructor'],
      request_num_field: 'number',
      services_field: 'list',
      used_usagev_field: used,
      default_values: { default: 7 },
      pretend_field: 'pretend',
      balances_field: 'balances',
      refund_field: 'refund',
      subscriber_fields: { sid: 'sid', msisdn: 'who.msisdn', imsi: '__proto__' },
    },
    customer_identification_fields: { '*': identification },
    rate_calculators: { retail: { '*': rate } },
    filters: [{ conditions: tested, skip_calc: ['all'] }],
    response,
  }
}

const response = {
  fields: [
    { response_field_name: 'code', row_field_name: 'return_code' },
    { response_field_name: 'said.all', row_field_name: 'uf.said' },
    { response_field_name: 'said.who', row_field_name: 'uf.who' },
    { response_field_name: 'desc', row_field_name: 'desc' },
    { response_field_name: 'op', row_field_name: 'request_type' },
    { response_field_name: 'session', row_field_name: 'session_id' },
  ],
  services: {
    field: 'list',
    fields: [
      { response_field_name: 'granted', row_field_name: 'granted_volume', unit: 'kb1000' },
      { response_field_name: 'group', row_field_name: 'uf.group' },
    ],
  },
}

const defaults = {
  answers: settings,
  timeZone: 'UTC',
  countryPrefix: '49',
  recordAgeMonthsMax: 3,
  rules: { rateCalculators: {}, customerIdentification: {} },
}

/** Creates the message format of a document again, without state of earlier messages. */
export function codecFactoryOf(document: unknown): () => Codec<unknown> {
  const fileType = compileFileType(document, defaults)
  return () => codecOf(fileType)
}

const wide = {
  op: 'I',
  session: 's;1',
  constructor: 'c',
  number: 3,
  at: '2026-11-21T10:00:00Z',
  id: 'x7',
  zone: 'Europe/Berlin',
  sid: 5,
  who: { number: '+4930123' },
  said: { a: [1, { b: null }] },
  hidden: 'h',
  pretend: false,
  balances: 'yes',
  list: [
    { kind: 'x', to: 'sip:4930@h', group: 1, want: 5, spent: 0, type: 'data', secret: 's' },
    { kind: 'z', to: '112', group: 2, want: 6, more: '7.5', type: 'call' },
    { to: 'a@b', group: '3' },
  ],
}
const wideUpdate = { ...wide, op: '2', list: [{ spent: { in: 5, out: '6' }, group: 9, n: 4 }] }

/** A message as pairs with dots in their keys. */
function pairsOf(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${prefix.slice(0, -1)}=${value ?? ''}`]
  return Object.entries(value).flatMap(([name, member]) => pairsOf(member, `${prefix}${name}.`))
}

function elementsOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '')
  return Object.entries(value)
    .flatMap(([name, member]) =>
      (Array.isArray(member) ? member : [member]).map(
        (one) => `<${name}>${elementsOf(one)}</${name}>`,
      ),
    )
    .join('')
}

function requestsOf(examples: Iterable<readonly [string, WireExample]>): string[] {
  return [...examples].flatMap(([, { request }]) => (request === undefined ? [] : [request]))
}

function pairFormat(name: string, syntax: Record<string, string>): FuzzFormat {
  const { pair_separator: pair = '&', quoting = 'percent' } = syntax
  const fresh = codecFactoryOf(wideDocument({ type: 'key_value', ...syntax }, 'pairs'))
  const write = (message: unknown) => {
    const pairs = pairsOf(message).map((text) => {
      if (quoting === 'percent') return text.replaceAll('+', '%2B')
      return quoting === 'quotes' ? text.replace(/=(.*)/, '="$1"') : text
    })
    return pairs.join(pair)
  }
  return { name, codec: fresh(), fresh, messages: [write(wide), write(wideUpdate)] }
}

/** Every decoder in every syntax that it has. */
export function fuzzFormats(): FuzzFormat[] {
  const json = [wide, wideUpdate].map((message) => JSON.stringify(message))
  const xml = [wide, wideUpdate].map((message) => `<m a="1">${elementsOf(message)}</m>`)
  const documented = wireExamples('FILE-TYPES.md')
  const examples = [...documented].filter(([name]) => name.startsWith('mapped'))
  const mapped = JSON.parse(documented.get('mapped')?.document ?? '')
  const format = (name: string, document: unknown, messages: readonly string[]): FuzzFormat => {
    const fresh = codecFactoryOf(document)
    return { name, codec: fresh(), fresh, messages }
  }
  const builtIn = (type: 'xml' | 'diameter' | 'keyvalue') =>
    format(`built-in ${type}`, builtInFileTypes().get(type), requestsOf(examplesOf(type)))
  const plain = requestsOf(examplesOf('json'))
  return [
    { name: 'plain JSON', codec: jsonCodec, fresh: () => jsonCodec, messages: plain },
    format('mapped JSON of docs', mapped, requestsOf(examples)),
    format('mapped JSON', wideDocument({ type: 'json' }), json),
    format('mapped XML', wideDocument({ type: 'xml' }), xml),
    format('mapped Diameter', wideDocument({ type: 'diameter' }), json),
    builtIn('xml'),
    builtIn('diameter'),
    builtIn('keyvalue'),
    pairFormat('pairs, percent, lists', { repeated: 'list' }),
    pairFormat('pairs, percent, first', { repeated: 'first' }),
    pairFormat('pairs, quotes', { quoting: 'quotes', pair_separator: ',', repeated: 'error' }),
    pairFormat('pairs, none, a line each', { quoting: 'none', pair_separator: '\n' }),
  ]
}

import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import type { AnswerSource, ParserSettings, ResponseNode } from '../../src/file-types/file-type.ts'
import { createJsonEncoder } from '../../src/realtime/codecs/json/mapped-encoder.ts'
import { answerOf, echoOf, granted, service, settings } from '../support/file-types/answers.ts'
import {
  compile,
  constant,
  field,
  type Given,
  json,
  lines,
} from '../support/file-types/responses.ts'

/** The answer as JSON. */
function written(section: unknown, answer: AnswerSource, given: Given = {}): string {
  return createJsonEncoder(compile(section, given).nodes).encode(answer, null)
}

/** The answer of a response section with fields only. */
const fieldsAs = (fields: unknown[], answer: AnswerSource) => written({ fields }, answer)

const outcome = granted([service({ usaget: 'data', granted: 1536, ratingGroup: 7 })])
describe('fields of a response', () => {
  it('are written in their order, with their names', () => {
    const fields = [field('Granted', 'usagev'), field('code', 'granted_return_code')]
    expect(fieldsAs(fields, answerOf(outcome))).toBe('{"Granted":1536,"code":1}')
  })

  it('are nested at the dots of their names, a group where its first field is', () => {
    const fields = [
      field('a.b', 'sid'),
      field('c', 'aid'),
      field('a.d.e', 'status'),
      field('__proto__.x', 'type'),
    ]
    const text = '{"a":{"b":2001,"d":{"e":1}},"c":1001,"__proto__":{"x":"GY"}}'
    expect(fieldsAs(fields, answerOf(outcome))).toBe(text)
  })

  it('without a value are omitted, and so are groups without fields', () => {
    const fields = [field('s.sid', 'sid'), field('a.b.aid', 'aid'), field('code', 'return_code')]
    expect(fieldsAs(fields, answerOf(plainOutcome('unknownSubscriber')))).toBe('{"code":-2}')
    expect(fieldsAs(fields.slice(0, 2), answerOf(plainOutcome('noRate')))).toBe('{}')
  })

  it('have the precondition of their conditions, if all fields of that name have it', () => {
    const at = (field_name: string, op: string, value: unknown) => ({
      conditions: [
        { field_name: 'status', op: '$eq', value: 1 },
        { field_name, op, value },
      ],
    })
    const ends = at('final_unit_action', '$eq', 'redirect')
    const fields = [
      constant('ends', 1, ends),
      constant('ends', 2, at('final_unit_action', '$in', ['terminate', 'restrict'])),
      constant('goes on', 0, at('final_unit_action', '$exists', false)),
      constant('other', 0, at('final_unit_action', 'ne', 'redirect')),
      constant('mixed', 1, ends),
      constant('mixed', 0, at('return_code', '$eq', 1)),
    ].map((one) => ({ ...one, response_field_name: one.response_field_name.replace(' ', '_') }))
    const { nodes } = compile({ fields })
    const needing = nodes.filter((node) => node.kind === 'value' && node.needs !== undefined)
    expect(needing.map(({ name }) => name)).toEqual(['ends'])
    const last = granted([service({ granted: 5, finalUnit: true })])
    const redirect = { action: 'redirect', addressType: 'url', address: 'http://a' } as const
    const ending = answerOf(last, {}, { finalUnit: redirect })
    expect(fieldsAs(fields, ending)).toBe('{"ends":1,"mixed":1}')
    const terminating = answerOf(last, {}, { finalUnit: { action: 'terminate' } })
    expect(fieldsAs(fields, terminating)).toBe('{"ends":2,"other":0,"mixed":0}')
    expect(fieldsAs(fields, answerOf(outcome))).toBe('{"goes_on":0,"other":0,"mixed":0}')
  })

  it('have their default value, if there is one', () => {
    const fields = [
      field('a', 'sid', { default_value: 0 }),
      field('b', 'aid', { default_value: '' }),
      field('c', 'transaction_id', { default_value: null }),
      field('d', 'granted_volume', { default_value: 9 }),
    ]
    expect(fieldsAs(fields, answerOf(plainOutcome('noRate')))).toBe('{"a":0,"b":"","d":0}')
  })

  it('may be constants', () => {
    const fields = [constant('v', '1.0'), constant('n', -2.5), constant('t', false)]
    expect(fieldsAs(fields, answerOf(outcome))).toBe('{"v":"1.0","n":-2.5,"t":false}')
  })

  it('may be method calls', () => {
    const fields = [
      field('status', { classMethod: 'getStatus' }),
      field('desc', { classMethod: 'getDesc' }),
      field('error', { classMethod: 'getErrorCode' }),
    ]
    const denied = '{"status":0,"desc":"No available balances","error":1402}'
    expect(fieldsAs(fields, answerOf(plainOutcome('noCredit')))).toBe(denied)
    expect(fieldsAs(fields, answerOf(outcome))).toBe('{"status":1,"desc":"Success"}')
  })

  it('may repeat fields of the message', () => {
    const message = JSON.parse(
      '{"a":{"b":["x",null,{"__proto__":1}]},"n":1e999,"nil":null,"t":"ü\\ud800\\n\\""}',
    )
    const fields = ['a', 'a.b.0', 'n', 'nil', 't', 'constructor'].map((path, index) =>
      field(`f${index}`, `uf.${path}`),
    )
    expect(fieldsAs(fields, answerOf(outcome, echoOf(message)))).toBe(
      '{"f0":{"b":["x",{"__proto__":1}]},"f1":"x","f4":"ü\\ud800\\n\\""}',
    )
  })

  it.each([
    ['kb1024', '1.5'],
    ['byte', '1536'],
    ['hhmmss', '"002536"'],
  ])('may be in the unit %s', (unit, value) => {
    expect(fieldsAs([field('v', 'usagev', { unit })], answerOf(outcome))).toBe(`{"v":${value}}`)
    expect(fieldsAs([field('v', 'usagev', { unit })], answerOf(plainOutcome('timedOut')))).toBe(
      '{}',
    )
  })
})

describe('conditions of a field', () => {
  const ok = [{ field_name: 'return_code', op: '$eq', value: 1 }]
  const fields = [
    constant('result', 2001, { conditions: ok }),
    constant('result', 4012, { conditions: [{ field_name: 'return_code', value: '-1' }] }),
    constant('result', 5012),
    field('grant.units', 'usagev', { conditions: ok }),
    constant('roams', true, { conditions: [{ field_name: 'uf.net', op: '$ne', value: 'home' }] }),
  ]

  it('omit the field, or leave its name to the next field of that name', () => {
    const home = echoOf({ net: 'home' })
    expect(fieldsAs(fields, answerOf(outcome, home))).toBe('{"result":2001,"grant":{"units":1536}}')
    expect(fieldsAs(fields, answerOf(plainOutcome('noCredit'), home))).toBe('{"result":4012}')
    expect(fieldsAs(fields, answerOf(plainOutcome('noRate')))).toBe('{"result":5012,"roams":true}')
  })

  it('compare money by its digits', () => {
    const dear = [{ field_name: 'cost', op: '$gt', value: 1.5 }]
    const isDear = (cost: number) =>
      fieldsAs([constant('dear', true, { conditions: dear })], answerOf({ ...outcome, cost }))
    expect([isDear(1_500_000), isDear(1_500_001)]).toEqual(['{}', '{"dear":true}'])
  })
})

describe('services of a response', () => {
  const section = {
    fields: [field('code', 'return_code')],
    services: {
      field: 'answer.list',
      fields: [field('id', 'uf.id'), field('g.units', 'usagev'), field('of', 'uf.msg')],
    },
  }
  const entries = [{ id: 'a' }, { id: 'b', msg: 'own' }]
  const message = { id: 'm', msg: 'all', list: entries }
  const list = granted([service({ granted: 1 }), service({ granted: 2 })])

  it('are a list with the fields of each entry', () => {
    expect(written(section, answerOf(list, echoOf(message, entries)), { hasServices: true })).toBe(
      '{"code":1,"answer":{"list":[{"id":"a","g":{"units":1},"of":"all"},' +
        '{"id":"b","g":{"units":2},"of":"own"}]}}',
    )
  })

  it('are omitted if there are none', () => {
    const failed = answerOf(plainOutcome('storeDown'), echoOf(message, entries))
    expect(written(section, failed, { hasServices: true })).toBe('{"code":-91}')
  })
})

describe('answer settings of a response', () => {
  const realtime = {
    quota_holding_time: 60,
    quota_threshold: 20,
    final_unit: { action: 'terminate' },
    request_type_field: 't',
    data: { quota_holding_time: 0, default_values: {} },
    call: { final_unit: { action: 'restrict', filters: ['permit in ip'] }, quota_threshold: '' },
    sms: { default_values: {} },
  }
  const { settings: settingsOf } = compile(undefined, { realtime })

  it('are those of the installation by default', () => {
    expect(compile(undefined).settings('data')).toEqual(settings)
  })

  it('are those of the usage type, then those of all', () => {
    const all = {
      quotaHoldingMs: 60_000,
      thresholdPercent: 20,
      finalUnit: { action: 'terminate' },
      currencyCode: 999,
      returnCodes: settings.returnCodes,
    }
    expect(settingsOf('sms')).toEqual(all)
    expect(settingsOf('data')).toEqual({ ...all, quotaHoldingMs: 0 })
    const finalUnit = { action: 'restrict', filters: ['permit in ip'] }
    expect(settingsOf('call')).toEqual({ ...all, finalUnit })
    expect(settingsOf('constructor')).toBe(settingsOf('sms'))
  })

  it('contain the return codes of the response', () => {
    const section = { return_codes: { ok: 2001 } }
    const { returnCodes } = compile(section, { realtime }).settings('data')
    expect([returnCodes.granted, returnCodes.noTax]).toEqual([2001, -5])
  })

  it.each([
    ['ipv4', '10.0.0.1'],
    ['ipv6', '2001:db8::1'],
    ['url', 'http://top.up/'],
    ['sip', 'sip:top@up'],
  ])('may redirect to %s', (address_type, address) => {
    const final_unit = { action: 'redirect', address_type, address }
    expect(compile(undefined, { realtime: { final_unit } }).settings('').finalUnit).toEqual({
      action: 'redirect',
      addressType: address_type,
      address,
    })
  })
})

describe('the encoding of a response', () => {
  const encoderOf = (section: unknown, parser: ParserSettings = json) =>
    compile(section, { parser }).encoder
  const syntax = { pairSeparator: '&', valueSeparator: '=', quoting: 'percent', repeated: 'last' }

  it('is the one of the messages, or the one of the section', () => {
    expect(encoderOf(undefined)).toEqual({ type: 'json' })
    expect(encoderOf({}, { type: 'xml' })).toEqual({ type: 'xml', root: 'response' })
    expect(encoderOf({ encode: 'xml', root: 'Answer' })).toEqual({ type: 'xml', root: 'Answer' })
    expect(encoderOf({ encode: 'json' }, lines)).toEqual({ type: 'json' })
    expect(encoderOf({}, { type: 'diameter' })).toEqual({ type: 'diameter' })
  })

  it.each(['key_value', 'keyvalue', 'key-value'])('of pairs may be called %s', (encode) => {
    expect(encoderOf({ encode })).toEqual({ type: 'key_value', ...syntax })
  })

  it('of pairs has the separators of the messages unless it names its own', () => {
    expect(encoderOf(undefined, lines)).toEqual(lines)
    expect(encoderOf({ value_separator: '=' }, lines)).toEqual({ ...lines, valueSeparator: '=' })
  })
})

it('balances are requested if the document names them', () => {
  const services = { field: 's', fields: [field('b', 'balances')] }
  const fields = [field('code', 'return_code')]
  expect(compile(undefined).wantsBalances).toBe(false)
  expect(compile({ fields }).wantsBalances).toBe(false)
  expect(compile({ fields: [...fields, field('b', 'balances')] }).wantsBalances).toBe(true)
  expect(compile({ fields, services }, { hasServices: true }).wantsBalances).toBe(true)
})

describe('nodes of a response', () => {
  const kinds = (nodes: readonly ResponseNode[]): unknown[] =>
    nodes.map((node) => (node.kind === 'value' ? node.name : [node.name, kinds(node.children)]))

  it('of a file type without a response are the fields of the plain JSON format', () => {
    const head = ['status', 'returnCode', 'desc', 'requestType', 'requestNum', 'sessionId', 'sid']
    const nodes = kinds(compile(undefined, { hasServices: true }).nodes)
    expect(nodes.slice(0, 7)).toEqual(head)
    expect(nodes.slice(7, 9)).toEqual(['transactionId', 'cost'])
    expect(nodes[9]).toMatchObject([
      'services',
      { 0: 'rating_group', 1: 'service_identifier', 2: 'usaget' },
    ])
    expect(nodes.at(-1)).toBe('balances')
  })
})

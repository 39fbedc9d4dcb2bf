import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type ChargeOutcome, plainOutcome } from '../../../src/domain/charge-outcome.ts'
import { type ServiceRequest, serviceRequest } from '../../../src/domain/charge-request.ts'
import type {
  AnswerSettings,
  FileType,
  MapContext,
  MappedRequest,
  Message,
  SkippedService,
} from '../../../src/file-types/file-type.ts'
import { compileResponse } from '../../../src/file-types/response.ts'
import { codecOf } from '../../../src/realtime/codecs/codec-of.ts'
import { createJsonCodec } from '../../../src/realtime/codecs/json/codec.ts'
import { createMappedCodec } from '../../../src/realtime/codecs/mapped.ts'
import { echoOf, granted, service, settings } from '../../support/file-types/answers.ts'
import { ANSWERS, DECODE_CONTEXT } from '../../support/realtime/codecs/settings.ts'
import { requestOf } from '../../support/realtime/requests.ts'
import { examplesOf } from '../../support/realtime/wire-examples.ts'

type Map = (message: Message, context: MapContext) => MappedRequest | { field: string; why: string }

/** A file type with the given mapping and answers by the section. */
function fileType(map: Map, section?: unknown, hasServices = false, defaults = settings): FileType {
  const parser = { type: 'json' } as const
  const options = { path: 'response', parser, hasServices, defaults, realtime: {} }
  const { encoder, nodes, settings: settingsOf } = compileResponse(section, options)
  return {
    type: 'realtime',
    name: 'GY',
    isEnabled: true,
    parser,
    encoder,
    allowsGet: false,
    rulesKey: '',
    rules: null,
    words: new Set<string>(),
    map,
    response: nodes,
    settings: settingsOf,
  }
}

const request = (services: ServiceRequest[]) =>
  requestOf('s1', { origin: 'test/GY', requestNumber: 3, services })

const bytesOf = (message: object) => Buffer.from(JSON.stringify(message))

interface Parts {
  charged?: ServiceRequest[]
  skipped?: SkippedService[]
  /** Whether the message has a list of entries, instead of being the only one itself. */
  isList?: boolean
}

/** The answer to a message with these entries, the first of which are charged. */
function answered(
  { charged = [], skipped = [], isList = true }: Parts,
  outcome = granted([]),
  returnCodes: object = {},
): string {
  const entries = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
  const map: Map = (message) => ({
    request: charged.length === 0 ? null : request(charged),
    skipped,
    echo: echoOf(message, isList ? entries : [message]),
  })
  const row = (name: string, from: string) => ({ response_field_name: name, row_field_name: from })
  const fields = [row('id', 'uf.id'), row('code', 'return_code'), row('v', 'usagev')]
  const section = {
    return_codes: returnCodes,
    fields: [row('code', 'return_code'), row('cost', 'cost')],
    services: {
      field: 's',
      fields: [...fields, row('t', 'usaget'), row('g', 'rating_group'), row('cost', 'cost')],
    },
  }
  const codec = codecOf(fileType(map, section, true))
  const decoded = codec.decode(bytesOf({}), DECODE_CONTEXT)
  if (!decoded.ok) throw new Error(decoded.error.why)
  expect(decoded.request === null).toBe(charged.length === 0)
  const text = codec.encode(decoded.envelope, outcome)
  expect(codec.encode(decoded.envelope, structuredClone(outcome))).toBe(text)
  return text
}

const skip = (index: number, units: number): SkippedService => ({
  index,
  ratingGroup: index,
  serviceIdentifier: '',
  usaget: 'free',
  granted: units,
  problem: null,
})

describe('services of an answer', () => {
  const data = serviceRequest({ usaget: 'data', ratingGroup: 10 })
  const call = serviceRequest({ usaget: 'call' })
  const ofData = service({ ratingGroup: 10, granted: 7 })
  const ofCall = service({ usaget: 'call', reason: 'noCredit' })
  const a = '{"id":"a","code":1,"v":7,"t":"data","g":10,"cost":0}'

  it('are those of the outcome', () => {
    expect(answered({ charged: [data, call] }, granted([ofData, ofCall]))).toBe(
      `{"code":1,"cost":0,"s":[${a},{"id":"b","code":-1,"v":0,"t":"call","cost":0}]}`,
    )
  })

  it('include the skipped ones at their positions, granted', () => {
    const between = '{"id":"b","code":1,"v":50,"t":"free","g":1,"cost":0}'
    expect(
      answered({ charged: [data, call], skipped: [skip(1, 50)] }, granted([ofData, ofCall])),
    ).toBe(
      `{"code":1,"cost":0,"s":[${a},${between},{"id":"c","code":-1,"v":0,"t":"call","cost":0}]}`,
    )
    const around = [skip(0, 5), skip(2, 0)]
    expect(answered({ charged: [call], skipped: around }, granted([ofCall]))).toBe(
      '{"code":1,"cost":0,"s":[{"id":"a","code":1,"v":5,"t":"free","g":0,"cost":0},' +
        '{"id":"b","code":-1,"v":0,"t":"call","cost":0},' +
        '{"id":"c","code":1,"v":0,"t":"free","g":2,"cost":0}]}',
    )
  })

  it('may all be skipped', () => {
    expect(answered({ skipped: [skip(0, 5), skip(1, 6)] }, plainOutcome('granted'))).toBe(
      '{"code":1,"cost":0,"s":[{"id":"a","code":1,"v":5,"t":"free","g":0,"cost":0},' +
        '{"id":"b","code":1,"v":6,"t":"free","g":1,"cost":0}]}',
    )
  })

  it('that are skipped are granted, whatever happens to the session', () => {
    const passed = '{"code":1,"cost":0,"s":[{"id":"a","code":1,"v":5,"t":"free","g":0,"cost":0}]}'
    for (const reason of ['granted', 'unknownSession', 'sessionClosed', 'outOfOrder'] as const) {
      expect(answered({ skipped: [skip(0, 5)] }, plainOutcome(reason, 'why'))).toBe(passed)
    }
    expect(answered({ skipped: [skip(0, 5)] }, plainOutcome('storeDown'))).toBe('{"code":-91}')
  })

  it('are each denied if the whole request is denied', () => {
    expect(answered({ charged: [call] }, plainOutcome('barred'))).toBe(
      '{"code":-11,"s":[{"id":"a","code":-11,"v":0,"t":"call"}]}',
    )
    expect(
      answered({ charged: [data, call], skipped: [skip(1, 5)] }, plainOutcome('unknownSubscriber')),
    ).toBe(
      '{"code":-2,"s":[{"id":"a","code":-2,"v":0,"t":"data","g":10},' +
        '{"id":"b","code":1,"v":5,"t":"free","g":1,"cost":0},' +
        '{"id":"c","code":-2,"v":0,"t":"call"}]}',
    )
  })

  it('that are skipped may have their own code, as may a skipped message', () => {
    const codes = { ok: 2001, not_charged: 4011 }
    const own = (parts: Parts, outcome: ChargeOutcome) => answered(parts, outcome, codes)
    const skipped = [skip(0, 5)]
    const passed = '{"id":"a","code":4011,"v":5,"t":"free","g":0,"cost":0}'
    expect(own({ skipped }, plainOutcome('granted'))).toBe(`{"code":2001,"cost":0,"s":[${passed}]}`)
    const alone = own({ skipped, isList: false }, plainOutcome('granted'))
    expect(alone).toContain('{"code":4011,"cost":0,')
    expect(own({ skipped, isList: false }, plainOutcome('sessionClosed'))).toBe(alone)
    expect(own({ charged: [data], isList: false }, granted([ofData]))).toContain('{"code":2001,')
  })

  it('are absent from a failure', () => {
    const failed = { ...granted([ofData]), reason: 'timedOut' } as const
    expect(answered({ charged: [data], skipped: [skip(1, 5)] }, failed)).toBe('{"code":-92}')
  })
})

describe('a message that cannot be decoded', () => {
  const refuse: Map = () => ({ field: 'a.b', why: 'is "odd"' })
  const codec = codecOf(fileType(refuse, { return_codes: { malformed: 5004 } }))

  it.each([
    ['{}', 'a.b is \\"odd\\"'],
    ['{', 'body is not JSON'],
    ['', 'body is empty'],
  ])('%j is answered with the reason', (text, why) => {
    const decoded = codec.decode(Buffer.from(text), DECODE_CONTEXT)
    if (decoded.ok) throw new Error('accepted')
    expect(codec.encodeError(decoded.error)).toBe(
      `{"status":0,"returnCode":5004,"desc":"Malformed request: ${why}"}`,
    )
  })

  it('may be refused before it is parsed', () => {
    expect(codec.encodeError({ field: 'body', why: 'is too long' })).toBe(
      '{"status":0,"returnCode":5004,"desc":"Malformed request: body is too long"}',
    )
  })
})

describe('the form of a message', () => {
  const parser = {
    parse: (body: Buffer) => {
      const form = { shape: body.toString() }
      if (body.length > 1) return { ok: true, message: {}, form } as const
      return { ok: false, error: { field: 'body', why: 'is short' }, form } as const
    },
  }
  const encoder = {
    encode: (_answer: unknown, form: unknown) => JSON.stringify(form),
    encodeError: (_error: unknown, code: number, form: unknown) => JSON.stringify([code, form]),
  }
  const codec = createMappedCodec(
    fileType((message) =>
      message === null
        ? { field: '', why: '' }
        : { request: null, skipped: [], echo: echoOf(message) },
    ),
    parser,
    encoder,
  )

  it('is passed to its answer', () => {
    const decoded = codec.decode(Buffer.from('list'), DECODE_CONTEXT)
    expect(decoded.ok && codec.encode(decoded.envelope, granted([]))).toBe('{"shape":"list"}')
  })

  it('is passed to the answer to a malformed one', () => {
    const decoded = codec.decode(Buffer.from('x'), DECODE_CONTEXT)
    expect(!decoded.ok && codec.encodeError(decoded.error)).toBe('[-20,{"shape":"x"}]')
    expect(codec.encodeError({ field: 'body', why: 'is too long' })).toBe('[-20,null]')
  })
})

describe('mapping', () => {
  it('receives the DECODE_CONTEXT, and the digest of the bytes', () => {
    const seen: unknown[] = []
    const map: Map = (message, given) => {
      seen.push(message, { ...given, bodyDigest: given.bodyDigest() })
      return { field: 'x', why: 'y' }
    }
    const body = bytesOf({ a: 1 })
    codecOf(fileType(map)).decode(body, DECODE_CONTEXT)
    const { origin, nowMs, servicesMax, eventAgeMsMax, eventFutureMsMax } = DECODE_CONTEXT
    const bodyDigest = createHash('sha256').update(body).digest('hex')
    expect(seen).toEqual([
      { a: 1 },
      { origin, nowMs, servicesMax, eventAgeMsMax, eventFutureMsMax, bodyDigest },
    ])
  })
})

describe('without a response in its document', () => {
  const redirect: AnswerSettings = {
    ...ANSWERS,
    quotaHoldingMs: 600_000,
    thresholdPercent: 20,
    finalUnit: {
      action: 'redirect',
      addressType: 'url',
      address: 'https://shop.example.net/top-up',
    },
  }
  const plain = createJsonCodec(ANSWERS)

  /** Maps as the plain JSON format decodes. */
  const plainMap: Map = (message) => {
    const decoded = plain.decode(bytesOf(message), DECODE_CONTEXT)
    if (!decoded.ok) return decoded.error
    const { recordType: requestType, sessionId, requestNumber } = decoded.envelope
    const list = message['services'] as Message[] | undefined
    const echo = { ...echoOf(message, list), sessionId, requestNumber, requestType }
    return { request: decoded.request, skipped: [], echo }
  }
  // It has no field that requests the cost.
  const examples = examplesOf('json').filter(([name]) => name !== 'cost')

  it.each(examples)('a file type answers like the plain JSON format: %s', (name, example) => {
    const { outcome, request: text = '', response } = example
    const defaults = name === 'redirect' ? redirect : ANSWERS
    const codec = codecOf(fileType(plainMap, undefined, text.includes('"services"'), defaults))
    const decoded = codec.decode(Buffer.from(text), DECODE_CONTEXT)
    const answer = decoded.ok
      ? codec.encode(decoded.envelope, outcome!)
      : codec.encodeError(decoded.error)
    expect(answer).toBe(response)
  })
})

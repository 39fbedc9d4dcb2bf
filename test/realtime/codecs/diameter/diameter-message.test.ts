import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limitProblems } from '../../../../src/file-types/message-limits.ts'
import type { DiameterForm } from '../../../../src/realtime/codecs/diameter/diameter-form.ts'
import { diameterMessageParser } from '../../../../src/realtime/codecs/diameter/diameter-message.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'
import {
  byCodes,
  byNames,
  entries,
  pairs,
  update,
} from '../../../support/realtime/codecs/diameter/ccr.ts'

function parse(body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return diameterMessageParser.parse(Buffer.from(text))
}

function messageOf(body: unknown) {
  const parsed = parse(body)
  return parsed.ok ? parsed.message : parsed.error
}

function formOf(body: unknown) {
  return parse(body).form as DiameterForm
}

describe('a request as JSON', () => {
  it.each([
    ['by names', byNames],
    ['by codes', byCodes],
    ['as pairs', pairs],
    ['as entries by code', entries],
    ['as entries by name', entries.map(named)],
    [
      'in the envelope of the package diameter',
      { header: {}, body: pairs, command: 'Credit-Control' },
    ],
    ['in an envelope with avps', { command: 'CCR', avps: byCodes }],
    [
      'mixed',
      {
        ...withoutServices(byNames),
        '456': pairs.at(-2)?.[1],
        'Multiple-Services-Credit-Control': [pairs.at(-1)?.[1]],
      },
    ],
  ])('%s is the same message', (_, body) => {
    expect(messageOf(body)).toEqual(update)
  })

  it('keeps unknown AVPs under the name or code received', () => {
    const body = [
      [
        'My-Own',
        [
          ['X', 1],
          ['Rating-Group', 7],
        ],
      ],
      ['99999:1', 'a'],
      [4294967295, 'b'],
    ]
    expect(messageOf(body)).toEqual({
      'My-Own': { X: 1, 'Rating-Group': 7 },
      '99999:1': 'a',
      '4294967295': 'b',
    })
    expect(messageOf({ 'session-id': 'x', CC_Request_Type: 1 })).toEqual({
      'session-id': 'x',
      CC_Request_Type: 1,
    })
  })

  it('converts enumerated values to numbers, and keeps values without a number', () => {
    const body = { 'CC-Request-Type': 'INITIAL_REQUEST', '436': '1', 'Final-Unit-Action': 'OTHER' }
    expect(messageOf(body)).toEqual({
      'CC-Request-Type': 1,
      'Requested-Action': 1,
      'Final-Unit-Action': 'OTHER',
    })
    expect(messageOf({ 'Session-Id': '1' })).toEqual({ 'Session-Id': '1' })
  })

  it('merges keys of the same AVP into one value or a list', () => {
    expect(messageOf('{"263":["a"],"Session-Id":"b","0:263":["c","d"]}')).toEqual({
      'Session-Id': ['a', 'b', 'c', 'd'],
    })
    expect(messageOf({ 'Rating-Group': [1] })).toEqual({ 'Rating-Group': 1 })
    expect(messageOf({ 'Rating-Group': [] })).toEqual({})
    expect(messageOf({ 'Rating-Group': null })).toEqual({})
  })

  it('distinguishes an empty group from an absent one', () => {
    expect(messageOf([['Requested-Service-Unit', []]])).toEqual({ 'Requested-Service-Unit': {} })
    expect(messageOf({ 'Requested-Service-Unit': {} })).toEqual({ 'Requested-Service-Unit': {} })
    expect(messageOf({ 'Requested-Service-Unit': [] })).toEqual({})
  })

  it('reads 64-bit numbers in two halves', () => {
    const long = (high: number, low: number) =>
      messageOf({ 'CC-Total-Octets': { low, high, unsigned: true } })
    expect(long(0, 1000)).toEqual({ 'CC-Total-Octets': 1000 })
    expect(long(1, -1)).toEqual({ 'CC-Total-Octets': 8_589_934_591 })
    expect(long(-1, -1)).toEqual({ 'CC-Total-Octets': '18446744073709551615' })
    expect(messageOf({ 'Value-Digits': { low: -5, high: -1 } })).toEqual({ 'Value-Digits': -5 })
  })

  it('makes records without a prototype', () => {
    const parsed = messageOf('{"__proto__":{"a":1},"constructor":2,"X":{"__proto__":{"b":1}}}')
    expect(Object.getPrototypeOf(parsed)).toBeNull()
    const message = parsed as Record<string, Record<string, unknown>>
    expect(Object.keys(message)).toEqual(['__proto__', 'constructor', 'X'])
    expect(Object.keys(message['X'] ?? {})).toEqual(['__proto__'])
    expect(({} as Record<string, unknown>)['a']).toBeUndefined()
  })
})

describe('the form of a request', () => {
  it.each([
    ['object', false, byNames],
    ['object', true, byCodes],
    ['pairs', false, pairs],
    ['entries', true, entries],
  ])('is %s, by codes: %s', (layout, isByCode, body) => {
    expect(formOf(body)).toMatchObject({ layout, isByCode, hasNamedValues: layout === 'pairs' })
  })

  it('has the AVPs that answers repeat', () => {
    const echo = [
      ['Session-Id', 'pgw1;1;7'],
      ['CC-Request-Type', 2],
      ['CC-Request-Number', 3],
    ]
    expect(formOf(pairs).echo).toEqual(echo)
    expect(formOf({ 'Session-Id': ['a', 'b'], 'CC-Request-Type': {} }).echo).toEqual([])
    expect(formOf({ 'Session-Id': 'x'.repeat(257) }).echo).toEqual([])
  })
})

describe('a request is refused', () => {
  const deep = (levels: number) => `${'{"X":'.repeat(levels)}1${'}'.repeat(levels)}`
  const long = (count: number) => ({ X: Array.from({ length: count }, () => 1) })

  it.each([
    ['is empty', ''],
    ['is not JSON', '{'],
    ['is neither a JSON object nor a list', '1'],
    ['is neither a JSON object nor a list', 'null'],
    ['has an element that is not an AVP', '[1]'],
    ['has an element that is not an AVP', '[["Session-Id"]]'],
    ['has an element that is not an AVP', '[["Session-Id","a"],{"name":"X"}]'],
    [limitProblems.depth, deep(33)],
    [limitProblems.members, JSON.stringify(long(4096))],
    [limitProblems.nameChars, `{"${'x'.repeat(257)}":1}`],
  ])('if the body %s', (why, body) => {
    expect(messageOf(body)).toEqual({ field: 'body', why })
  })

  it('but not within the limits', () => {
    for (const body of [deep(32), JSON.stringify(long(4095)), `{"${'x'.repeat(256)}":1}`]) {
      expect(parse(body).ok).toBe(true)
    }
  })

  it('if its text is not UTF-8', () => {
    expect(diameterMessageParser.parse(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({
      error: { field: 'body', why: 'is not UTF-8' },
    })
  })

  it('if it is another command, or an answer', () => {
    const command = { field: 'command', why: 'must be Credit-Control' }
    expect(messageOf({ command: 'Re-Auth', avps: {} })).toEqual(command)
    expect(messageOf({ header: { commandCode: 258 }, body: [] })).toEqual(command)
    expect(messageOf({ header: { flags: { request: false } }, body: [] })).toMatchObject({
      field: 'header.flags.request',
    })
  })
})

describe('any bytes', () => {
  it('have a result, never an exception', () => {
    const source = [byNames, byCodes, pairs, entries].map((body) => JSON.stringify(body))
    const mutated = fc
      .tuple(
        fc.constantFrom(...source),
        fc.array(fc.tuple(fc.nat(2000), fc.constantFrom(...'[]{}",:0123456789nulltrueX\\'))),
      )
      .map(([text, changes]) => {
        const signs = [...text]
        for (const [at, sign] of changes) signs[at % signs.length] = sign
        return Buffer.from(signs.join(''))
      })
    fc.assert(
      fc.property(
        fc.oneof(
          mutated,
          fc.json().map((text) => Buffer.from(text)),
          fc.uint8Array().map(Buffer.from),
        ),
        (body) => {
          const parsed = diameterMessageParser.parse(body)
          expect(parsed.ok || parsed.error.field !== '').toBe(true)
        },
      ),
      propertyRuns(2000),
    )
  })

  it('also if they are JSON with AVPs', () => {
    const leaf = fc.oneof(fc.constantFrom(null, true, 1, -1, 1e308, '', '1', 'INITIAL_REQUEST'))
    const key = fc.constantFrom('code', 'name', 'avp', 'value', 'data', 'avps', 'vendor', 'valueOf')
    const name = fc.constantFrom('Session-Id', '263', 'CC-Total-Octets', 'high', 'low', '__proto__')
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(key, name), tie('tree'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(tree, (body) => {
        const parsed = parse(JSON.stringify(body))
        expect(parsed.ok || parsed.error.why !== '').toBe(true)
      }),
      propertyRuns(3000),
    )
  })

  it('are read in time proportional to their length', () => {
    const repeated = JSON.stringify(Array.from({ length: 1000 }, () => ['Class', ['a']]))
    expect(messageOf(repeated)).toEqual({ Class: Array.from({ length: 1000 }, () => 'a') })
  })
})

function named({ code, vendor, value }: { code: number; vendor: number; value: unknown }): unknown {
  const names: Record<number, string> = {
    263: 'Session-Id',
    416: 'CC-Request-Type',
    415: 'CC-Request-Number',
    461: 'Service-Context-Id',
  }
  const name = vendor === 0 ? names[code] : undefined
  return name === undefined ? { code, vendor, value } : { name, data: value }
}

function withoutServices(body: Record<string, unknown>): Record<string, unknown> {
  const { 'Multiple-Services-Credit-Control': _, ...rest } = body
  return rest
}

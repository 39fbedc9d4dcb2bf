import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeyValueSyntax } from '../../../../src/file-types/file-type.ts'
import type { MessageParser } from '../../../../src/realtime/codecs/encoder.ts'
import { ExpectedKeys } from '../../../../src/realtime/codecs/key-value/expected-keys.ts'
import { createKeyValueParser } from '../../../../src/realtime/codecs/key-value/parser.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'

const form: KeyValueSyntax = {
  pairSeparator: '&',
  valueSeparator: '=',
  quoting: 'percent',
  repeated: 'last',
}

function read(parser: MessageParser, body: string): unknown {
  const parsed = parser.parse(Buffer.from(body))
  if (!parsed.ok) return `${parsed.error.field} ${parsed.error.why}`
  return JSON.stringify(parsed.message)
}

/** The result of a new parser without expected keys. */
const fresh = (body: string, syntax = form) => read(createKeyValueParser(syntax), body)

/** The expected keys after learning a text. */
function knownOf(text: string, syntax = form): ExpectedKeys {
  const known = new ExpectedKeys(syntax)
  known.learn(text)
  return known
}

const readKnown = (known: ExpectedKeys, text: string) =>
  JSON.stringify(known.read(text, Buffer.from(text)))

describe('expected keys', () => {
  it('are read with other values', () => {
    const known = knownOf('a=1&s.0.x=2&s.1.x=3&s.0.y=4&r.n=5&l[]=6')
    expect(
      readKnown(known, 'a=&s.0.x=b+c&s.1.x=%C3%A9&s.0.y==&r.n=12345678901234567890&l[]=z'),
    ).toBe(
      '{"a":null,"s":[{"x":"b c","y":"="},{"x":"é"}],"r":{"n":"12345678901234567890"},"l":["z"]}',
    )
    expect(readKnown(known, 'a=1&&s.0.x=2&s.1.x=3&s.0.y=4&r.n=5&l[]=6&')).toContain('"a":"1"')
  })

  it('are neither other keys nor fewer or more', () => {
    const known = knownOf('a=1&bc=2')
    for (const text of ['a=1', 'a=1&b=2', 'a=1&bc', 'a=1&bc=2&d=3', 'a=%zz&bc=2', 'bc=2&a=1']) {
      expect(readKnown(known, text)).toBe('null')
    }
    known.learn('a=1')
    expect(readKnown(known, 'a=5')).toBe('{"a":"5"}')
    expect(readKnown(known, 'a=5&bc=6')).toBe('{"a":"5","bc":"6"}')
  })

  it('need separators of one character, and a value in each pair', () => {
    const syntax = { ...form, pairSeparator: '&&' }
    expect(readKnown(knownOf('a=1&&b=2', syntax), 'a=1&&b=2')).toBe('null')
    expect(readKnown(knownOf('a=1&b'), 'a=1&b')).toBe('null')
  })

  it('are at most eight after the same keys, the last ones', () => {
    const known = knownOf('first=1')
    for (let index = 0; index < 8; index += 1) known.learn(`k${index}=1`)
    expect(readKnown(known, 'first=1')).toBe('null')
    expect(readKnown(known, 'k7=2')).toBe('{"k7":"2"}')
  })

  it('are rarely learned if keys hardly ever repeat', () => {
    const known = new ExpectedKeys(form)
    for (let index = 1; index <= 256; index += 1) known.learn('a=1&a=2')
    const keys = Array.from({ length: 16 }, (_, index) => `k${index}=1`)
    for (const text of keys) known.learn(text)
    expect(keys.filter((text) => readKnown(known, text) !== 'null')).toHaveLength(1)
  })

  it('are replaced if there is no more room for them', () => {
    const known = knownOf('first=1')
    const names = Array.from({ length: 90 }, (_, at) => `k${at}${'x'.repeat(200)}`)
    const pairs = (index: number) => `first=1&${names.map((name) => `${name}${index}=1`).join('&')}`
    for (let index = 0; index < 64; index += 1) known.learn(pairs(index))
    expect(readKnown(known, 'first=1')).toBe('null')
    expect(readKnown(known, pairs(63))).not.toBe('null')
  })
})

describe('a parser with expected keys', () => {
  it('names the errors as before', () => {
    const parser = createKeyValueParser(form)
    expect(read(parser, 'a=1&s.0.x=2')).toBe('{"a":"1","s":[{"x":"2"}]}')
    expect(read(parser, 'a=1&s.0.x=%zz')).toBe('s.0.x has a % without two hexadecimal digits')
    expect(read(parser, 'a=%FF&s.0.x=%zz')).toBe('a has percent-encoded bytes that are not UTF-8')
    expect(read(parser, 'a=1&s.0.x=é\n')).toBe('{"a":"1","s":[{"x":"é"}]}')
  })

  it('creates records without a prototype', () => {
    const parser = createKeyValueParser(form)
    for (const body of ['__proto__.x=1&a.0.y=2', '__proto__.x=3&a.0.y=4']) {
      const parsed = parser.parse(Buffer.from(body))
      const message = parsed.ok ? parsed.message : {}
      const inner = Object.values(message).flat()
      expect([message, ...inner].map(Object.getPrototypeOf)).toEqual([null, null, null])
    }
  })

  it('keeps no references to the bytes', () => {
    const parser = createKeyValueParser(form)
    read(parser, 'a=1&b=2')
    const body = Buffer.from('a=3&b=45678901234567890')
    const parsed = parser.parse(body)
    body.fill(0)
    expect(parsed.ok && { ...parsed.message }).toEqual({ a: '3', b: '45678901234567890' })
    expect(read(parser, 'a=5&b=6')).toBe('{"a":"5","b":"6"}')
  })

  const repeats = ['last', 'first', 'list', 'error'] as const
  const syntaxes: readonly KeyValueSyntax[] = [
    ...repeats.map((repeated) => ({ ...form, repeated })),
    { ...form, pairSeparator: '\n', quoting: 'none' as const },
    { ...form, pairSeparator: ',', quoting: 'quotes' as const },
    { ...form, pairSeparator: ';', valueSeparator: '+' },
    { ...form, pairSeparator: '&', valueSeparator: '\n' },
  ]

  it.each(syntaxes)('reads any input like one without, with %j', (syntax) => {
    const { pairSeparator, valueSeparator } = syntax
    const key = fc.constantFrom('a', 'ab', 'a.b', 's.0', 's.0.x', 's.1.x', 'a[]', 'a%2Eb', '7', '')
    const value = fc.constantFrom(
      '',
      '1',
      'x\r',
      '%41',
      '%4',
      '+',
      '%FF',
      '"q"',
      'é',
      '=',
      '\n',
      'y',
    )
    const split = fc.constantFrom(valueSeparator, valueSeparator, valueSeparator, '')
    const pair = fc.tuple(key, split, value).map((parts) => parts.join(''))
    const body = fc.array(pair, { maxLength: 6 }).map((pairs) => pairs.join(pairSeparator))
    const parser = createKeyValueParser(syntax)
    fc.assert(
      fc.property(body, fc.constantFrom('', '\n', '\r\n', pairSeparator), (text, end) => {
        const whole = text + end
        const expected = fresh(whole, syntax)
        expect([read(parser, whole), read(parser, whole)]).toEqual([expected, expected])
      }),
      propertyRuns(1000),
    )
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeyValueSyntax } from '../../../../src/file-types/file-type.ts'
import { createKeyValueParser } from '../../../../src/realtime/codecs/key-value/parser.ts'
import { withExchangedBytes } from '../../../support/realtime/codecs/fuzz-inputs.ts'

const form: KeyValueSyntax = {
  pairSeparator: '&',
  valueSeparator: '=',
  quoting: 'percent',
  repeated: 'last',
}
const lines: KeyValueSyntax = { ...form, pairSeparator: '\n', quoting: 'none' }
const quotes: KeyValueSyntax = { ...form, pairSeparator: ',', quoting: 'quotes' }

/** The message as in JSON, or the problem as `field why`. */
function read(body: string | Buffer, syntax: Partial<KeyValueSyntax> = {}): unknown {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const parsed = createKeyValueParser({ ...form, ...syntax }).parse(bytes)
  if (!parsed.ok) return `${parsed.error.field} ${parsed.error.why}`
  return JSON.parse(JSON.stringify(parsed.message))
}

describe('pairs', () => {
  it.each([
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&&b=2&', { a: '1', b: '2' }],
    ['&a=1', { a: '1' }],
    ['a=1\n', { a: '1' }],
    ['a=1\r\n', { a: '1' }],
    ['a=1\n\n', { a: '1\n' }],
    ['a', { a: null }],
    ['a=', { a: null }],
    ['a&b=2', { a: null, b: '2' }],
    ['a==', { a: '=' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1&b', { a: '1', b: null }],
    [' a = 1 ', { ' a ': ' 1 ' }],
    ['ä=ö', { ä: 'ö' }],
  ])('are read from %j', (body, message) => expect(read(body)).toEqual(message))

  it.each([
    ['', 'body is empty'],
    ['\n', 'body is empty'],
    ['&&', 'body is empty'],
    ['=1', 'body has a pair without a key'],
    ['a=1&=', 'body has a pair without a key'],
    ['\ufeffa=1', 'body begins with a byte order mark'],
    [Buffer.from([0x61, 0x3d, 0xff]), 'body is not UTF-8'],
    [Buffer.from([0xed, 0xa0, 0x80]), 'body is not UTF-8'],
  ])('refuse %j', (body, problem) => expect(read(body)).toBe(problem))

  it('have separators of several characters', () => {
    const syntax = { pairSeparator: '||', valueSeparator: ':=' }
    expect(read('a:=1||b:=2|c||d', syntax)).toEqual({ a: '1', b: '2|c', d: null })
    expect(read('a:||=1', syntax)).toEqual({ 'a:': null, '=1': null })
    expect(read('a|||b', syntax)).toEqual({ a: null, '|b': null })
  })

  it('may be one per line, with any line ending', () => {
    expect(read('a=1\r\nb=2\n\r\n\nc=3\n', lines)).toEqual({ a: '1', b: '2', c: '3' })
    expect(read('a=\r\nb\r\n', lines)).toEqual({ a: null, b: null })
    expect(read('a=1%20+2', lines)).toEqual({ a: '1%20+2' })
  })
})

describe('percent-encoding', () => {
  it.each<[Partial<KeyValueSyntax>]>([
    [{ pairSeparator: ';', valueSeparator: ':' }],
    [{ pairSeparator: ';' }],
    [{ valueSeparator: ':' }],
    [{ pairSeparator: '\n' }],
  ])('of %j keeps a plus: only in forms it is a blank', (syntax) => {
    const { pairSeparator: pair, valueSeparator: is } = { ...form, ...syntax }
    const text = `a${is}+4917%2B1%20x${pair}b+${is}+`
    for (const body of [text, text, `${text}${pair}c${is}é`]) {
      expect(read(body, syntax)).toMatchObject({ a: '+4917+1 x', 'b+': '+' })
    }
    const parser = createKeyValueParser({ ...form, ...syntax })
    const known = [1, 2, 3].map(() => parser.parse(Buffer.from(text)))
    expect(known).toEqual(known.map(() => known[0]))
  })

  it.each([
    ['a=1+2', '1 2'],
    ['a=%2B%26%3d', '+&='],
    ['a=%41%7a', 'Az'],
    ['a=x%C3%A9y', 'xéy'],
    ['a=%E2%82%AC+%F0%9F%98%80', '€ 😀'],
    ['a=%F4%8F%BF%BF%EF%BF%BF', '\u{10ffff}\uffff'],
    ['a=%00', '\0'],
    ['a=ü%C3%BC', 'üü'],
  ])('is read in %s', (body, a) => expect(read(body)).toEqual({ a }))

  it.each([
    ['a=%', 'a has a % without two hexadecimal digits'],
    ['a=%4', 'a has a % without two hexadecimal digits'],
    ['a=%4&b=1', 'a has a % without two hexadecimal digits'],
    ['a=%G0', 'a has a % without two hexadecimal digits'],
    ['a=%-1', 'a has a % without two hexadecimal digits'],
    ['%zz=1', 'body has a % without two hexadecimal digits'],
    ['a=%80', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%C3', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%C3x', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%C3é', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%C0%AF', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%C1%BF', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%E0%9F%BF', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%F0%8F%BF%BF', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%ED%A0%80', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%F4%90%80%80', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%F5%80%80%80', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%FF', 'a has percent-encoded bytes that are not UTF-8'],
    ['a=%E2%82', 'a has percent-encoded bytes that are not UTF-8'],
  ])('is refused in %s', (body, problem) => expect(read(body)).toBe(problem))

  it('equals that of URLSearchParams, and of decodeURIComponent', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(text, text, (key, value) => {
        fc.pre(!/[.[\]]/.test(key))
        const expected = { [key]: value }
        const body = new URLSearchParams(expected).toString()
        expect(read(body)).toEqual(expected)
        expect(read(`a=${encodeURIComponent(value)}`)).toEqual({ a: value })
      }),
    )
  })
})

describe('quotes', () => {
  it.each([
    ['a="1,2",b=3', { a: '1,2', b: '3' }],
    ['a="1=2"', { a: '1=2' }],
    ['"a,b"="c"', { 'a,b': 'c' }],
    ['"a"', { a: null }],
    ['"a",b', { a: null, b: null }],
    ['a=""', { a: null }],
    ['a="x""y"', { a: 'x"y' }],
    ['a=""""', { a: '"' }],
    ['a=5"', { a: '5"' }],
    ['a"b=1,c="d"', { 'a"b': '1', c: 'd' }],
    ['a="1",,b="2",', { a: '1', b: '2' }],
    ['a="%41+"', { a: '%41+' }],
  ])('are read around %s', (body, message) => expect(read(body, quotes)).toEqual(message))

  it.each([
    ['a="1', 'a has no closing quote'],
    ['a="1""', 'a has no closing quote'],
    ['"a=1', 'body has no closing quote'],
    ['a="1"2', 'a has text after a closing quote'],
    ['"a"b=1', 'a has text after a closing quote'],
    ['""=1', 'body has a pair without a key'],
  ])('are refused in %s', (body, problem) => expect(read(body, quotes)).toBe(problem))

  it('may contain line endings', () => {
    const syntax: KeyValueSyntax = { ...lines, quoting: 'quotes' }
    expect(read('a="1\r\n2"\r\nb="3"\n', syntax)).toEqual({ a: '1\r\n2', b: '3' })
  })
})

describe('keys given several times', () => {
  const body = 'a=1&a=&a=3&b=4'

  it.each([
    ['last', { a: '3', b: '4' }],
    ['first', { a: '1', b: '4' }],
    ['list', { a: ['1', null, '3'], b: '4' }],
    ['error', 'a is given several times'],
  ] as const)('are read as configured: %s', (repeated, expected) =>
    expect(read(body, { repeated })).toEqual(expected),
  )

  it.each(['last', 'first', 'list', 'error'] as const)('with [] are a list with %s', (repeated) => {
    expect(read('a[]=1', { repeated })).toEqual({ a: ['1'] })
    expect(read('a%5B%5D=1&a[]=2&b.c[]=3', { repeated })).toEqual({
      a: ['1', '2'],
      b: { c: ['3'] },
    })
  })
})

describe('keys with dots', () => {
  it.each([
    ['a.b=1&a.c.d=2', { a: { b: '1', c: { d: '2' } } }],
    ['s.0.x=1&s.1.x=2&s.0.y=3', { s: [{ x: '1', y: '3' }, { x: '2' }] }],
    ['s.2=c&s.0=a&s.1=b', { s: ['a', 'b', 'c'] }],
    ['s.0.t.1.x=b&s.0.t.0.x=a', { s: [{ t: [{ x: 'a' }, { x: 'b' }] }] }],
    ['s.0.0=1', { s: [['1']] }],
    ['0=1&443=2', { 0: '1', 443: '2' }],
    ['0.a=1', { 0: { a: '1' } }],
    ['a.00=1', { a: { '00': '1' } }],
    ['a.b=1&a.b=2', { a: { b: '2' } }],
    ['a%2Eb=1', { a: { b: '1' } }],
    ['a.0=', { a: [null] }],
  ])('are nested: %s', (body, message) => expect(read(body)).toEqual(message))

  it.each([
    ['a=1&a.b=2', 'a is used in two ways: as text, as list or as record'],
    ['a=&a.b=2', 'a is used in two ways: as text, as list or as record'],
    ['a.b=2&a=1', 'a is used in two ways: as text, as list or as record'],
    ['a.0=2&a=1', 'a is used in two ways: as text, as list or as record'],
    ['a.b.c=2&a.b.0=1', 'a.b is used in two ways: as text, as list or as record'],
    ['a.0=2&a.b=1', 'a is used in two ways: as text, as list or as record'],
    ['a[]=1&a=2', 'a is used in two ways: as text, as list or as record'],
    ['a=1&a[]=2', 'a[] is used in two ways: as text, as list or as record'],
    ['a[]=1&a.0=2', 'a is used in two ways: as text, as list or as record'],
    ['a.0=1&a[]=2', 'a[] is used in two ways: as text, as list or as record'],
    ['a.1=1', 'a.0 is missing: indexes go from 0 without a gap'],
    ['a.0=1&a.2=1', 'a.1 is missing: indexes go from 0 without a gap'],
    ['b.0.a.3=1', 'b.0.a.0 is missing: indexes go from 0 without a gap'],
    ['a.256=1', 'a.256 has an index above 255'],
    ['a.99999999999999999999=1', 'a.99999999999999999999 has an index above 255'],
    ['.=1', '. has an empty name beside a dot'],
    ['.a=1', '.a has an empty name beside a dot'],
    ['a.=1', 'a. has an empty name beside a dot'],
    ['a..b=1', 'a..b has an empty name beside a dot'],
  ])('are refused: %s', (body, problem) => expect(read(body)).toBe(problem))

  it('with lists distinguish a repeated key and an indexed one', () => {
    const why = 'a is used in two ways: as text, as list or as record'
    expect(read('a=1&a=2&a.0=3', { repeated: 'list' })).toBe(why)
    expect(read('a.0=1&a=2', { repeated: 'list' })).toBe(why)
    expect(read('a[]=1&a=2', { repeated: 'list' })).toEqual({ a: ['1', '2'] })
  })
})

describe('limits of pairs', () => {
  const pairs = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=1`)

  it('are those of all messages', () => {
    expect(Object.keys(read(pairs(4096).join('&')) as object)).toHaveLength(4096)
    expect(read(pairs(4097).join('&'))).toBe('body has more than 4096 fields')
    expect(read('a=1&'.repeat(4097))).toBe('body has more than 4096 fields')
    expect(read(`${'k'.repeat(256)}=1`)).toEqual({ ['k'.repeat(256)]: '1' })
    expect(read(`${'k'.repeat(257)}=1`)).toBe('body has a name of more than 256 characters')
    expect(read(`${'a.'.repeat(31)}a=1`)).toMatchObject({ a: { a: { a: {} } } })
    expect(read(`${'a.'.repeat(32)}a=1`)).toBe('body is nested deeper than 32')
    const list = Array.from({ length: 256 }, (_, index) => `a.${index}=${index}`).reverse()
    expect((read(list.join('&')) as { a: string[] }).a.at(-1)).toBe('255')
  })
})

describe('names of JavaScript', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']

  it.each(names)('are plain data: %s', (name) => {
    const bodies = [`${name}=1`, `${name}.x=1`, `x.${name}=1`, `${name}[]=1`, `x.0.${name}.y=1`]
    for (const body of bodies) {
      const parsed = createKeyValueParser(form).parse(Buffer.from(body))
      expect(parsed.ok && JSON.stringify(parsed.message)).toContain(`"${name}"`)
      expect(parsed.ok && Object.getPrototypeOf(parsed.message)).toBeNull()
    }
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
    expect(({} as Record<string, unknown>)['y']).toBeUndefined()
    expect(read(`${name}.x=1&${name}=2`)).toContain('is used in two ways')
  })

  it('are not inherited by records', () => {
    const parsed = createKeyValueParser(form).parse(Buffer.from('a.b=1&s.0.x=1'))
    const message = parsed.ok ? parsed.message : {}
    for (const name of names) expect(message[name]).toBeUndefined()
    const { a, s } = message as { a: object; s: object[] }
    expect([a, s[0]].map(Object.getPrototypeOf)).toEqual([null, null])
  })
})

describe('any bytes', () => {
  const syntaxes: readonly KeyValueSyntax[] = [
    form,
    lines,
    quotes,
    { ...form, repeated: 'list' as const },
    { ...quotes, pairSeparator: '\n', valueSeparator: ': ' },
    { ...form, pairSeparator: '&&', valueSeparator: '==', quoting: 'none', repeated: 'error' },
  ]

  function expectAnswer(bytes: Buffer): void {
    for (const syntax of syntaxes) {
      const before = Buffer.from(bytes)
      const parsed = createKeyValueParser(syntax).parse(bytes)
      if (parsed.ok) expect(JSON.stringify(parsed.message)).toBeTypeOf('string')
      else expect(parsed.error.why).toMatch(/^(?:is|has|begins) /)
      expect(bytes.equals(before)).toBe(true)
    }
  }

  it('are a message or a named problem', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (b) => expectAnswer(Buffer.from(b))))
    const tokens = [...'ab01&=.%+",[]\n\r:é', '%C3', '%A9', '[]', '.0.', '==', '&&', '__proto__']
    const text = fc.array(fc.constantFrom(...tokens), { maxLength: 60 })
    fc.assert(fc.property(text, (parts) => expectAnswer(Buffer.from(parts.join('')))))
  })

  it('also if they are a request with exchanged bytes', () => {
    const golden = 'record_type=start_request&session_id=a%3B7&services.0.usagev=5&balances=true'
    fc.assert(fc.property(withExchangedBytes(golden), expectAnswer))
  })

  // Repeating a search from each pair would take quadratic time.
  it('also if they are the largest bodies, with repeated parts', () => {
    const repeated = ['a&', '&', '=', 'a', '%', '+', '%41', '"', '""', '"a",', '.', 'a.', '\r\n']
    const texts = [...repeated, 'a=%', 'a.0.', '=,', '",', '&=', ',"', '%C3', 'a[]&', '\n', 'é']
    for (const text of texts) {
      for (const start of ['', 'a=', '"', 'a="']) {
        const body = Buffer.from(start + text.repeat(65_536 / text.length))
        for (const syntax of syntaxes) createKeyValueParser(syntax).parse(body)
      }
    }
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AnswerValue,
  isForm,
  type KeyValueSyntax,
} from '../../../../src/file-types/file-type.ts'
import { answerTypeOf } from '../../../../src/file-types/media-types.ts'
import { createKeyValueEncoder } from '../../../../src/realtime/codecs/key-value/encoder.ts'
import { createKeyValueParser } from '../../../../src/realtime/codecs/key-value/parser.ts'
import { encodePercent, percentCodes } from '../../../../src/realtime/codecs/key-value/percent.ts'
import { allKinds, answerWith, valueNode } from '../../../support/realtime/codecs/answers.ts'

const form: KeyValueSyntax = {
  pairSeparator: '&',
  valueSeparator: '=',
  quoting: 'percent',
  repeated: 'last',
}
const quotes: KeyValueSyntax = { ...form, pairSeparator: ',', quoting: 'quotes' }
const lines: KeyValueSyntax = { ...form, pairSeparator: '\n', quoting: 'none' }

function encode(nodes: Parameters<typeof createKeyValueEncoder>[0], syntax = form, services = 0) {
  return createKeyValueEncoder(nodes, syntax).encode(answerWith(services), null)
}

describe('answers as key-value text', () => {
  it('have dots in the keys of what is nested', () => {
    expect(encode(allKinds, form, 2).split('&')).toEqual([
      'status=1',
      'desc=Success',
      'finalUnit=false',
      'aprice=0.10',
      'granted.volume=10',
      'services.0.grantedVolume=5',
      'services.0.id=e0',
      'services.0.more.x=y',
      'services.1.grantedVolume=6',
      'services.1.id=e1',
      'services.1.more.x=y',
      'filters.0=a',
      'filters.1=b',
      'balances.0.group=g',
      'balances.0.balance=1',
      'balances.1.group=h',
    ])
    expect(encode(allKinds)).not.toContain('services')
    expect(encode([])).toBe('')
    expect(encode([valueNode('absent', undefined), valueNode('a', 1)])).toBe('a=1')
  })

  it('have their media type', () => {
    const typeOf = (syntax: KeyValueSyntax) => answerTypeOf({ type: 'key_value', ...syntax })
    expect(typeOf(form)).toBe('application/x-www-form-urlencoded')
    expect(typeOf({ ...form, pairSeparator: ';' })).toBe('text/plain; charset=utf-8')
    expect(typeOf(quotes)).toBe('text/plain; charset=utf-8')
  })

  it('describe what is malformed in a request', () => {
    const problem = { field: 'a', why: 'is 1 & 2' }
    expect(createKeyValueEncoder([], form).encodeError(problem, -20, null)).toBe(
      'status=0&returnCode=-20&desc=Malformed+request%3A+a+is+1+%26+2',
    )
    expect(createKeyValueEncoder([], lines).encodeError(problem, -3, null)).toBe(
      'status=0\nreturnCode=-3\ndesc=Malformed request: a is 1 & 2',
    )
  })

  it.each([
    [form, 'a b', 'a+b'],
    [form, 'a+b&c=d%', 'a%2Bb%26c%3Dd%25'],
    [form, 'azAZ09*-._~', 'azAZ09*-._%7E'],
    [form, 'é€😀', '%C3%A9%E2%82%AC%F0%9F%98%80'],
    [form, '\0\r\n', '%00%0D%0A'],
    [form, 'x\ud800', 'x%EF%BF%BD'],
    [{ ...form, pairSeparator: '-', valueSeparator: '+' }, 'a-b c+_', 'a%2Db%20c%2B_'],
    [quotes, 'plain text', 'plain text'],
    [quotes, 'a,b', '"a,b"'],
    [quotes, 'a=b', '"a=b"'],
    [quotes, 'a"b', '"a""b"'],
    [quotes, 'a\r\nb', '"a\r\nb"'],
    [lines, 'a\r\nb=c\n', 'a  b=c '],
    [{ ...lines, pairSeparator: ', ' }, 'a,b, c', 'a_b__c'],
    [{ ...lines, pairSeparator: ', ' }, 'a,b,', 'a,b,'],
    [{ ...lines, pairSeparator: '::' }, 'a:b', 'a:b'],
    [{ ...lines, pairSeparator: '::' }, 'ab:', 'ab '],
    [{ ...lines, pairSeparator: '::' }, 'a::b:', 'a  b '],
  ] as const)('with %j: %j is encoded as %j', (syntax, value, text) => {
    const nodes = [valueNode('k', value), valueNode('l', 1)]
    const { pairSeparator, valueSeparator: is } = syntax
    expect(encode(nodes, syntax)).toBe(`k${is}${text}${pairSeparator}l${is}1`)
  })

  it('escape names like values', () => {
    expect(encode([valueNode('a&b', { 'c=d': 'é' })])).toBe('a%26b.c%3Dd=%C3%A9')
  })
})

describe('encoded pairs', () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_-]{0,7}$/)
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  const { tree } = fc.letrec<{ tree: AnswerValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      fc.dictionary(name, tie('tree'), { minKeys: 1, maxKeys: 3 }),
    ),
  }))
  const message = fc.dictionary(name, tree, { minKeys: 1, maxKeys: 5 })

  it.each([
    form,
    quotes,
    { ...form, pairSeparator: ';', valueSeparator: ':' },
    { ...form, pairSeparator: '+', valueSeparator: '~' },
    { ...quotes, pairSeparator: '\n', valueSeparator: ': ' },
    { ...quotes, pairSeparator: '::', valueSeparator: ':=' },
  ])('are parsed to the same values, with %j', (syntax) => {
    fc.assert(
      fc.property(message, (values) => {
        const nodes = Object.entries(values).map(([key, value]) => valueNode(key, value))
        const parsed = createKeyValueParser(syntax).parse(Buffer.from(encode(nodes, syntax)))
        expect(parsed.ok ? JSON.parse(JSON.stringify(parsed.message)) : parsed.error).toEqual(
          JSON.parse(JSON.stringify(values)),
        )
      }),
    )
  })

  it('escape blanks in the way they are read', () => {
    const text = 'a +b'
    for (const pairSeparator of ['&', ';']) {
      const syntax: KeyValueSyntax = { ...form, pairSeparator }
      const codes = percentCodes(`${pairSeparator}=`, isForm(syntax))
      const body = Buffer.from(`t=${encodePercent(text, codes)}`)
      expect(createKeyValueParser(syntax).parse(body)).toMatchObject({ message: { t: text } })
    }
  })

  it('without quoting stay separate, whatever the values contain', () => {
    const separator = fc.stringMatching(/^[ ,;:|\n]{1,3}$/)
    const values = fc.array(fc.stringMatching(/^[a ,;:|=\r\n]{1,8}$/), { minLength: 1 })
    fc.assert(
      fc.property(separator, values, (pairSeparator, list) => {
        const syntax: KeyValueSyntax = { ...lines, pairSeparator }
        const nodes = list.map((value, index) => valueNode(`k${index}`, value))
        const parsed = createKeyValueParser(syntax).parse(Buffer.from(encode(nodes, syntax)))
        const names = list.map((_value, index) => `k${index}`)
        expect(parsed.ok && Object.keys(parsed.message)).toEqual(names)
      }),
    )
  })
})

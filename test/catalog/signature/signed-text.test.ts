import { describe, expect, it } from 'vitest'
import { addForm, FormTree } from '../../../src/catalog/signature/form-tree.ts'
import { parseOrdered } from '../../../src/catalog/signature/ordered-json.ts'
import {
  type OrderedParameters,
  signatureOf,
  signatureParameter,
  signedText,
} from '../../../src/catalog/signature/signed-text.ts'

const KEY = '00112233445566778899aabbccddeeff'

function formOf(text: string): OrderedParameters {
  const form = new FormTree({ keysMax: 100, depthMax: 32, refusedStep: () => null })
  addForm(text, form)
  return form.root
}

describe('published signature vectors', () => {
  it.each([
    [
      [
        ['query', '{"aid":17}'],
        ['page', '0'],
        ['size', '10'],
        ['_t_', '1700000000'],
      ],
      String.raw`{"query":"{\"aid\":17}","page":"0","size":"10","_t_":"1700000000"}`,
      '4ed50d5fb825fac5919aaa40b6d24144a86394a46f857253f365200938465339' +
        '4166c3dd673ad84774acc13cd2e3c51bf6bee749d515d7ef398e88bd7418cafb',
    ],
    [
      [
        ['update', '{"firstname":"Zoë","url":"http://x/y"}'],
        ['_t_', '1700000000'],
      ],
      String.raw`{"update":"{\"firstname\":\"Zo\u00eb\",\"url\":\"http:\/\/x\/y\"}"` +
        ',"_t_":"1700000000"}',
      'cdeedaafa9db2896c670c57b08a42d882a1cd2a11ac52cad7dd98934cba7f743' +
        '9186f6d49db0aff682f2db2e1f131b6b608367dad0ce2973ea8756f40ce28bd0',
    ],
  ] as [[string, string][], string, string][])('%j', (pairs, text, signature) => {
    expect(signedText(new Map(pairs))).toBe(text)
    expect(signatureOf(text, KEY)).toBe(signature)
    const form = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    expect(signedText(formOf([...form, `_sig_=${signature}`].join('&')))).toBe(text)
  })
})

describe('the text that is signed', () => {
  it.each([
    ['', '[]'],
    ['_sig_=x', '[]'],
    ['b=2&a=1&b=3', '{"b":"3","a":"1"}'],
    ['a=1&_sig_=x&signature=y&c=2', '{"a":"1","signature":"y","c":"2"}'],
    ['signature=y&_t_=5&a=', '{"_t_":"5","a":""}'],
    ['a[b][c]=1&a[d]=2&e=3&a[b][f]=4', '{"a":{"b":{"c":"1","f":"4"},"d":"2"},"e":"3"}'],
    ['a[]=x&a[]=y&a[2]=z', '{"a":["x","y","z"]}'],
    ['a[1]=x&a[0]=y', '{"a":{"1":"x","0":"y"}}'],
    ['a[z]=1&a[10]=2&a[9]=3', '{"a":{"z":"1","10":"2","9":"3"}}'],
    ['a[0]=x&a[01]=y', '{"a":{"0":"x","01":"y"}}'],
    ['0=a&1=b', '["a","b"]'],
    ['a=%2F%5C%22%3C%26%27', String.raw`{"a":"\/\\\"<&'"}`],
    ['a=%08%09%0A%0B%0C%0D%1F%00%7F', String.raw`{"a":"\b\t\n\u000b\f\r\u001f\u0000${'\x7f'}"}`],
    ['a=%F0%9F%98%80%E2%80%A8%E2%82%AC', String.raw`{"a":"\ud83d\ude00\u2028\u20ac"}`],
    ['gr%C3%B6%C3%9Fe%2F=1', String.raw`{"gr\u00f6\u00dfe\/":"1"}`],
    ['a=1+2%2B', '{"a":"1 2+"}'],
  ])('of %s', (form, text) => {
    expect(signedText(formOf(form))).toBe(text)
  })

  it.each([
    [`{ "b" : 1, "2": [ ], "1": {}, "a" : {"z": null, "0": true} }`],
    ['{"a":[1,[2,{"b":"x, ]}\\" \\\\"}],false]}'],
  ])('of JSON keeps its members in their order: %s', (json) => {
    const compact = json.includes('"b" :')
      ? '{"b":1,"2":[],"1":[],"a":{"z":null,"0":true}}'
      : '{"a":[1,[2,{"b":"x, ]}\\" \\\\"}],false]}'
    expect(signedText(parseOrdered(json, 8) as OrderedParameters)).toBe(compact)
  })

  it('of JSON has a duplicate member once, at its first position', () => {
    const sent = parseOrdered('{"a":1,"b":{"x":1},"a":[2]}', 8) as OrderedParameters
    expect(signedText(sent)).toBe('{"a":[2],"b":{"x":1}}')
    const list = parseOrdered('{"a":{"0":"x","1":"y"}}', 8) as OrderedParameters
    expect(signedText(list)).toBe('{"a":["x","y"]}')
  })

  // As PHP's `json_encode(json_decode($number))` with serialize_precision -1 formats them.
  it.each([
    ['0', '0'],
    ['-0', '-0'],
    ['10', '10'],
    ['-17.50', '-17.5'],
    ['1.0', '1'],
    ['0.1', '0.1'],
    ['0.0001', '0.0001'],
    ['0.00001', '1.0e-5'],
    ['0.0000125', '1.25e-5'],
    ['1e3', '1000'],
    ['1.5e16', '15000000000000000'],
    ['1e17', '1.0e+17'],
    ['1.25e+25', '1.25e+25'],
    ['123456.789', '123456.789'],
    ['9007199254740993', '9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['12345678901234567890', '1.2345678901234567e+19'],
  ])('formats the number %s as %s', (number, text) => {
    expect(signedText(parseOrdered(`{"n":${number}}`, 8) as OrderedParameters)).toBe(
      `{"n":${text}}`,
    )
  })
})

describe('ordered JSON', () => {
  it.each(['{"a":1', '[1,]', '', '{"a":01}', 'nul'])('%s is refused', (json) => {
    expect(() => parseOrdered(json, 8)).toThrow(SyntaxError)
  })

  it('has a maximum nesting depth', () => {
    expect(parseOrdered('[[{"a":1}]]', 3)).toEqual([[new Map([['a', 1]])]])
    expect(() => parseOrdered('[[[[]]]]', 3)).toThrow('deeper than 3')
    expect(() => parseOrdered('['.repeat(100_000) + ']'.repeat(100_000), 32)).toThrow()
  })
})

it.each([
  ['a=1&_t_=1', null],
  ['signature=', 'signature'],
  ['signature=1&_sig_=2', '_sig_'],
])('the signature of %s is in %s', (form, name) => {
  expect(signatureParameter(formOf(form))).toBe(name)
})

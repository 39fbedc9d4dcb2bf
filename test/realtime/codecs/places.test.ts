import { describe, expect, it } from 'vitest'
import type { ParserSettings } from '../../../src/file-types/file-type.ts'
import { parserOf } from '../../../src/realtime/codecs/codec-of.ts'
import { offsetOf } from '../../../src/realtime/codecs/places.ts'

const JSON_TEXT: ParserSettings = { type: 'json' }
const XML: ParserSettings = { type: 'xml' }
const KEY_VALUE: ParserSettings = {
  type: 'key_value',
  pairSeparator: '&',
  valueSeparator: '=',
  quoting: 'percent',
  repeated: 'error',
}
const QUOTED: ParserSettings = { ...KEY_VALUE, pairSeparator: ';', quoting: 'quotes' }

/** The message has `»` before the byte that is to be marked. */
function expectMark(settings: ParserSettings, marked: string, field?: string): void {
  const body = Buffer.from(marked.replace('»', ''))
  const expected = marked.includes('»') ? Buffer.byteLength(marked.split('»')[0] ?? '') : null
  const parsed = parserOf(settings).parse(body)
  expect(parsed.ok).toBe(field !== undefined)
  const error = parsed.ok ? { field: field ?? '' } : parsed.error
  expect(offsetOf(body, settings, error)).toBe(expected)
}

describe('the first wrong byte of a message', () => {
  it.each([
    ['»'],
    ['  »'],
    ['»[]'],
    ['{"a":»}'],
    ['{"a":1»'],
    ['{"a":1,»}'],
    ['{"é":»x}'],
    ['{"a":tr»oe}'],
    ['{"a":"b»'],
    ['{"a":"b»\n"}'],
    ['{"a":"\\»q"}'],
    ['{"a":1}»}'],
    ['{"a":01}'.replace('1}', '»1}')],
    ['{»a:1}'],
    ['{"a"»;1}'],
    [`{"a":${'['.repeat(31)}»[`],
    [`{»"${'n'.repeat(257)}":1}`],
  ])('of JSON: %s', (marked) => expectMark(JSON_TEXT, marked))

  it.each([
    ['{"a":1,"b":»"x"}', 'b'],
    ['{"a":[{"b":1},{"b":»2}]}', 'a.1.b'],
    ['{"a.b":{"c":»1}}', 'a.b.c'],
    ['{"a":1,"a":»2}', 'a'],
    ['{"body":»1}', 'body'],
    ['»{"a":1}', 'body'],
    ['{"a":{"c":1}}', 'a.b'],
  ])('of a field in JSON: %s', (marked, field) => expectMark(JSON_TEXT, marked, field))

  it('that is not UTF-8, after characters that are', () => {
    const body = Buffer.concat([
      Buffer.from('{"é\ufffd":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ])
    expect(offsetOf(body, JSON_TEXT, { field: 'body' })).toBe(10)
  })

  it.each([['a=1&»=2'], ['a=1&b=»%z'], ['a=1&»%zz=1'], ['a=1&b=2&a=»3'], ['a=1&a.b=»3']])(
    'of pairs: %s',
    (marked) => expectMark(KEY_VALUE, marked),
  )

  it.each([['a=1;b=»"x'], ['a="x;y";b=»"x"z'], ['a=1;»=2;b="x"']])(
    'of quoted pairs: %s',
    (marked) => expectMark(QUOTED, marked),
  )

  it.each([
    ['a=1&b=»2', 'b'],
    ['a.0.b=1&a.1.b=»2', 'a.1.b'],
    ['a=1', 'b'],
  ])('of a field in pairs: %s', (marked, field) => expectMark(KEY_VALUE, marked, field))

  it.each([
    ['<a><b>1</»c></a>'],
    ['<a><boy>é</bo»x></a>'],
    ['<a><boy>é</bo»></a>'],
    ['<a><x:b>1</»b></a>'],
    ['<a><b><c/></»a></b>'],
    ['<a><b>1</»c \n></a>'],
  ])('of XML with a wrong closing tag: %s', (marked) => expectMark(XML, marked))

  it.each([['<a><b>1</b»'], ['<a>&»x;</a>'], ['»x<a/>'], ['<a>]]»></a>']])(
    'of XML: %s',
    (marked) => {
      const body = Buffer.from(marked.replace('»', ''))
      const at = marked.indexOf('»')
      const offset = offsetOf(body, XML, { field: 'body' }) ?? -1
      // The parser says where it stopped, which is within the name that is wrong.
      expect(offset).toBeGreaterThanOrEqual(at)
      expect(offset).toBeLessThanOrEqual(at + 2)
    },
  )

  it.each([
    ['<a><b>»1</b></a>', 'b'],
    ['<a><s><b>1</b></s><s><b>»2</b></s></a>', 's.1.b'],
    ['<a><s><b>»1</b></s><s><b>2</b></s></a>', 's.0.b'],
    ['<a><b>1</b></a>', 'c'],
  ])('of a field in XML: %s', (marked, field) => expectMark(XML, marked, field))
})

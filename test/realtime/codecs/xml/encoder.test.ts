import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnswerValue, ResponseNode } from '../../../../src/file-types/file-type.ts'
import { createXmlEncoder } from '../../../../src/realtime/codecs/xml/encoder.ts'
import { xmlParser } from '../../../../src/realtime/codecs/xml/parser.ts'
import { allKinds, answerWith, valueNode } from '../../../support/realtime/codecs/answers.ts'

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

/** The document without its declaration. */
function encode(nodes: readonly ResponseNode[], services = 0, root = 'response'): string {
  const text = createXmlEncoder(nodes, root).encode(answerWith(services), null)
  expect(text.startsWith(DECLARATION)).toBe(true)
  return text.slice(DECLARATION.length)
}

describe('answers as XML', () => {
  it('have an element for each field, and for each member of a list', () => {
    const service = (granted: number, id: string) =>
      `<services><grantedVolume>${granted}</grantedVolume><id>${id}</id>` +
      '<more><x>y</x></more></services>'
    expect(encode(allKinds, 2)).toBe(
      [
        '<response><status>1</status><desc>Success</desc><finalUnit>false</finalUnit>',
        '<aprice>0.10</aprice><granted><volume>10</volume></granted>',
        service(5, 'e0'),
        service(6, 'e1'),
        '<filters>a</filters><filters>b</filters>',
        '<balances><group>g</group><balance>1</balance></balances>',
        '<balances><group>h</group></balances></response>',
      ].join(''),
    )
    expect(encode([])).toBe('<response/>')
    expect(encode([valueNode('a', '')])).toBe('<response><a/></response>')
    const lists = [valueNode('a', [[1, 2], [3]])]
    expect(encode(lists)).toBe(
      '<response><a><item>1</item><item>2</item></a><a><item>3</item></a></response>',
    )
  })

  it('have the root element of the file type', () => {
    expect(encode([], 0, 'ccAnswer')).toBe('<ccAnswer/>')
  })

  it('describe what is malformed in a request', () => {
    const problem = { field: 'a', why: 'is < 1' }
    expect(createXmlEncoder([], 'r').encodeError(problem, -20, null)).toBe(
      `${DECLARATION}<r><status>0</status><returnCode>-20</returnCode>` +
        '<desc>Malformed request: a is &lt; 1</desc></r>',
    )
  })

  it.each([
    ['a & b', 'a &amp; b'],
    ['<a>', '&lt;a&gt;'],
    [']]>', ']]&gt;'],
    ['"\'', '"\''],
    ['x\r\ny\tz', 'x&#13;\ny\tz'],
    ['a\0b\u001fc\u007f\u0085d', 'abcd'],
    ['a\ufffeb\uffffc', 'abc'],
    ['a\ud800b', 'ab'],
    ['a😀é', 'a😀é'],
  ])('write %j as %j', (value, text) => {
    expect(encode([valueNode('k', value)])).toBe(`<response><k>${text}</k></response>`)
  })

  it.each([
    ['a b', 'a_b'],
    ['1', '_1'],
    ['-', '_-'],
    ['', '_'],
    ['a:b', 'a_b'],
    ['<x>', '_x_'],
    ['a.b-c_1', 'a.b-c_1'],
  ])('write the name %j as %j', (name, element) => {
    expect(encode([valueNode(name, 1)])).toBe(`<response><${element}>1</${element}></response>`)
    const inRecord = encode([valueNode('k', { [name]: 1 })])
    expect(inRecord).toBe(`<response><k><${element}>1</${element}></k></response>`)
  })

  it('are parsed to the same values', () => {
    const name = fc.stringMatching(/^[a-z_][a-z0-9_.-]{0,7}$/)
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map(visible)
    type Tree = { member: AnswerValue; record: Record<string, AnswerValue> }
    const { record } = fc.letrec<Tree>((tie) => ({
      member: fc.oneof({ depthSize: 'small', withCrossShrink: true }, text, tie('record')),
      record: fc.dictionary(
        name,
        fc.oneof(tie('member'), fc.array(tie('member'), { minLength: 2, maxLength: 3 })),
        { minKeys: 1, maxKeys: 4 },
      ),
    }))
    fc.assert(
      fc.property(record, (values) => {
        const nodes = Object.entries(values).map(([key, value]) => valueNode(key, value))
        const answer = createXmlEncoder(nodes, 'response').encode(answerWith(0), null)
        const parsed = xmlParser.parse(Buffer.from(answer))
        expect(parsed.ok ? JSON.parse(JSON.stringify(parsed.message)) : parsed.error).toEqual(
          JSON.parse(JSON.stringify(values)),
        )
      }),
    )
  })
})

/** A text without characters that XML cannot contain, and without white space at its ends. */
function visible(text: string): string {
  const left = text.replace(/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/gu, '')
  return `<${left}&`
}

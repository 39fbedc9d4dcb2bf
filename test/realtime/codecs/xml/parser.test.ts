import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { xmlParser } from '../../../../src/realtime/codecs/xml/parser.ts'
import { withExchangedBytes } from '../../../support/realtime/codecs/fuzz-inputs.ts'

/** The message as in JSON, or the problem as `field why`. */
function read(body: string | Buffer): unknown {
  const parsed = xmlParser.parse(typeof body === 'string' ? Buffer.from(body) : body)
  if (!parsed.ok) return `${parsed.error.field} ${parsed.error.why}`
  return JSON.parse(JSON.stringify(parsed.message))
}

describe('an XML document', () => {
  it.each([
    ['<r><a>1</a><b>2</b></r>', { a: '1', b: '2' }],
    ['<?xml version="1.0" encoding="UTF-8"?>\n<r>\n  <a>1</a>\n</r>\n', { a: '1' }],
    ["<?xml version='1.1' encoding='utf-8' standalone='no'?><r/>", {}],
    ['<?xml version="1.0" encoding="us-ascii"?><r><a>é</a></r>', { a: 'é' }],
    ['\ufeff<r><a>1</a></r>', { a: '1' }],
    ['<r/>', {}],
    ['<r>5</r>', { _text: '5' }],
    ['<r a="1" b=""/>', { a: '1', b: null }],
    ['<r><a/><b></b><c> \r\n\t</c></r>', { a: null, b: null, c: null }],
    ['<r><a> x y\n</a></r>', { a: 'x y' }],
    ['<r><a>\u00a0x</a></r>', { a: '\u00a0x' }],
    ['<r><a>x\r\ny</a></r>', { a: 'x\ny' }],
    ['<r><a><b><c>1</c></b></a></r>', { a: { b: { c: '1' } } }],
    ['<r><s><x>1</x></s><s><x>2</x></s><s/></r>', { s: [{ x: '1' }, { x: '2' }, null] }],
    ['<r><s/><s>2</s></r>', { s: [null, '2'] }],
    ['<r><s id="1">5</s></r>', { s: { id: '1', _text: '5' } }],
    ['<r><s id="1"><id>2</id></s></r>', { s: { id: ['1', '2'] } }],
    ['<r><a>x<b/>y</a></r>', { a: { b: null, _text: 'xy' } }],
    ['<r><a><![CDATA[<&]]>]] &amp; &#65;&#x1F600;</a></r>', { a: '<&]] & A😀' }],
    ['<r><a b="&lt;&quot;&apos;&gt;&#10;"/></r>', { a: { b: '<"\'>' } }],
    ['<r><!-- <a>1</a> --><?php x?><a>1</a></r><!-- end -->', { a: '1' }],
    ['<p:r xmlns:p="urn:x" xmlns="urn:y"><p:a q:b="1" c="2">3</p:a></p:r>', a('2', '3')],
    ['<r><a xsi:nil="true"/></r>', { a: null }],
    ['<r><_text>1</_text>2</r>', { _text: ['1', '2'] }],
  ])('is read: %j', (body, message) => expect(read(body)).toEqual(message))

  function a(c: string, text: string) {
    return { a: { c, _text: text } }
  }

  it.each([
    ['', 'body is empty'],
    [Buffer.from([0x3c, 0x61, 0xff]), 'body is not UTF-8'],
    [' ', 'body is not XML: document must contain a root element'],
    ['<!DOCTYPE r><r/>', 'body has a DOCTYPE'],
    ['<!DOCTYPE r [<!ENTITY x "y">]><r>&x;</r>', 'body has a DOCTYPE'],
    ['<!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>', 'body has a DOCTYPE'],
    ['<?xml version="1.0" encoding="latin1"?><r/>', 'body declares another encoding than UTF-8'],
    ['<r>&x;</r>', 'body is not XML: undefined entity'],
    ['<r>&nbsp;</r>', 'body is not XML: undefined entity'],
    ['<r>&__proto__;</r>', 'body is not XML: undefined entity'],
    ['<r>&constructor;</r>', 'body is not XML: undefined entity'],
    ['<r>&#0;</r>', 'body is not XML: malformed character entity'],
    ['<r>&#xD800;</r>', 'body is not XML: malformed character entity'],
    ['<r>&#x110000;</r>', 'body is not XML: malformed character entity'],
    ['<r>\u0001</r>', 'body is not XML: disallowed character'],
    ['<r>\ufffe</r>', 'body is not XML: disallowed character'],
    ['<r>]]></r>', 'body is not XML: the string "]]>" is disallowed in char data'],
    ['<r a="1" a="2"/>', 'body is not XML: duplicate attribute'],
    ['<r a=1/>', 'body is not XML: unquoted attribute value'],
    ['<r><a></r>', 'body is not XML: unexpected close tag'],
    ['<r>', 'body is not XML: unclosed tag'],
    ['<r/><r/>', 'body is not XML: documents may contain only one root'],
    ['<r/>x', 'body is not XML: text data outside of root node'],
    ['{"a":1}', 'body is not XML: text data outside of root node'],
  ])('is refused: %j', (body, problem) => expect(read(body)).toBe(problem))
})

describe('limits of XML', () => {
  const nested = (depth: number) => `${'<a>'.repeat(depth)}1${'</a>'.repeat(depth)}`

  it('are those of all messages', () => {
    expect(JSON.stringify(read(nested(33)))).toContain('"1"')
    expect(read(nested(34))).toBe('body is nested deeper than 32')
    expect(read(`<r>${'<a/>'.repeat(4095)}</r>`)).toMatchObject({ a: { length: 4095 } })
    expect(read(`<r>${'<a/>'.repeat(4096)}</r>`)).toBe('body has more than 4096 fields')
    const attributes = Array.from({ length: 4096 }, (_, index) => `a${index}=""`)
    expect(read(`<r ${attributes.slice(1).join(' ')}/>`)).toHaveProperty('a4095', null)
    expect(read(`<r ${attributes.join(' ')}/>`)).toBe('body has more than 4096 fields')
    expect(read(`<r><${'n'.repeat(256)}/></r>`)).toHaveProperty('n'.repeat(256), null)
    for (const body of [`<r><${'n'.repeat(257)}/></r>`, `<r ${'n'.repeat(257)}="1"/>`]) {
      expect(read(body)).toBe('body has a name of more than 256 characters')
    }
  })
})

describe('names of JavaScript', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']

  it.each(names)('are plain data: %s', (name) => {
    const bodies = [
      `<r><${name}>1</${name}></r>`,
      `<r ${name}="1"/>`,
      `<r><a ${name}="1"/></r>`,
      `<r><${name}><y>1</y></${name}></r>`,
      `<r>${`<${name} y="1"/>`.repeat(2)}</r>`,
      `<${name}><${name}/></${name}>`,
    ]
    for (const body of bodies) {
      const parsed = xmlParser.parse(Buffer.from(body))
      expect(parsed.ok && JSON.stringify(parsed.message)).toContain(`"${name}"`)
      expect(parsed.ok && Object.getPrototypeOf(parsed.message)).toBeNull()
    }
    expect(({} as Record<string, unknown>)['y']).toBeUndefined()
  })

  it('are not inherited by records', () => {
    const parsed = xmlParser.parse(Buffer.from('<r><a b="1"/></r>'))
    const message = parsed.ok ? parsed.message : {}
    for (const name of names) expect(message[name]).toBeUndefined()
    expect(Object.getPrototypeOf(message['a'])).toBeNull()
  })
})

describe('any bytes', () => {
  function expectAnswer(bytes: Buffer): void {
    const parsed = xmlParser.parse(bytes)
    if (parsed.ok) expect(JSON.stringify(parsed.message)).toBeTypeOf('string')
    else expect(parsed.error.why).toMatch(/^(?:is|has|declares) .{1,80}$/)
  }

  it('are a message or a named problem', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (b) => expectAnswer(Buffer.from(b))))
    const tokens = ['<', '>', '/', '</', 'a', 'b:', '=', '"', "'", ' ', '&', ';', '&#', 'x41', 'é']
    const marks = [
      '<a>',
      '</a>',
      '<a/>',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '<?',
      '?>',
      '<!DOCTYPE',
    ]
    const text = fc.array(fc.constantFrom(...tokens, ...marks), { maxLength: 40 })
    fc.assert(fc.property(text, (parts) => expectAnswer(Buffer.from(parts.join('')))))
    fc.assert(fc.property(text, (p) => expectAnswer(Buffer.from(`<r>${p.join('')}</r>`))))
  })

  it('also if they are a request with exchanged bytes', () => {
    const golden = '<?xml version="1.0"?><r i="1"><a>x &amp; y</a><s><b/></s><s><b>2</b></s></r>'
    fc.assert(fc.property(withExchangedBytes(golden), expectAnswer))
  })

  it('also if they are the largest bodies', () => {
    const texts = [
      '<',
      '<a>',
      '<a/>',
      '</a>',
      '<a ',
      '&',
      '&amp;',
      '&#65;',
      'x',
      ' ',
      ']',
      '-',
      '\r',
    ]
    const starts = ['', '<r>', '<r ', '<r a="', '<r><![CDATA[', '<r><!--', '<r>&', '<!DOCTYPE r [']
    for (const text of [
      ...texts,
      ' a=""',
      '<![CDATA[x]]>',
      '<!---->',
      '<?a?>',
      'a="1" ',
      'x<a/>',
    ]) {
      for (const start of starts) {
        expectAnswer(Buffer.from(start + text.repeat(65_536 / text.length)))
      }
    }
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJsonMessage } from '../../src/file-types/json-message.ts'

const parse = (text: string | Buffer) => parseJsonMessage(Buffer.from(text))

/** The reason of the refusal of the body. */
function refusalOf(text: string | Buffer): string {
  const parsed = parse(text)
  return typeof parsed === 'string' ? parsed : 'accepted'
}

/** The record, with nested brackets of this depth. */
const nested = (times: number, open: string, close: string) =>
  `{"a":${open.repeat(times)}1${close.repeat(times)}}`

describe('a JSON message', () => {
  it.each([
    ['', 'is empty'],
    ['{', 'is not JSON'],
    ['\uFEFF{}', 'is not JSON'],
    ['[{}]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'is not UTF-8'],
  ])('%j is refused', (body, why) => expect(refusalOf(body)).toBe(why))

  it('may be nested 32 deep', () => {
    const why = 'is nested deeper than 32'
    expect(refusalOf(nested(31, '[', ']'))).toBe('accepted')
    expect(refusalOf(nested(32, '[', ']'))).toBe(why)
    expect(refusalOf(nested(31, '{"a":', '}'))).toBe('accepted')
    expect(refusalOf(nested(32, '{"a":', '}'))).toBe(why)
    expect(refusalOf(nested(15, '[{"a":', '}]'))).toBe('accepted')
    expect(refusalOf(nested(16, '[{"a":', '}]'))).toBe(why)
    expect(refusalOf(nested(100_000, '[', ']'))).toBe(why)
  })

  it('may have braces in its texts', () => {
    expect(refusalOf(JSON.stringify({ a: '{['.repeat(100) }))).toBe('accepted')
  })

  it('may have 4096 members', () => {
    const zeros = (count: number) => `{"a":[${Array(count).fill('0').join()}]}`
    expect(refusalOf(zeros(4095))).toBe('accepted')
    expect(refusalOf(zeros(4096))).toBe('has more than 4096 fields')
    const fields = Array.from({ length: 4097 }, (_, index) => [`f${index}`, 1])
    expect(refusalOf(JSON.stringify(Object.fromEntries(fields)))).toBe('has more than 4096 fields')
    expect(refusalOf(JSON.stringify(Object.fromEntries(fields.slice(1))))).toBe('accepted')
  })

  it.each([
    ['', '"'],
    [' '.repeat(300), '"'],
    ['', '\\"'],
  ])('may have names of 256 characters (%j, %j)', (before, character) => {
    const name = (length: number) => {
      const part = character === '"' ? 'n' : character
      return `{"a":[{${before}"${part.repeat(length)}":1}],"b":"${'t '.repeat(40)}"}`
    }
    expect(refusalOf(name(256))).toBe('accepted')
    expect(refusalOf(name(257))).toBe('has a name of more than 256 characters')
  })

  it('is refused for each name that is too long, at any position', () => {
    const texts = fc.array(fc.string({ maxLength: 300, unit: 'grapheme-ascii' }), { maxLength: 8 })
    fc.assert(
      fc.property(texts, texts, (names, values) => {
        const message: Record<string, unknown> = Object.create(null)
        for (const [index, name] of names.entries()) message[name] = values[index] ?? 0
        const isLong = names.some((name) => name.length > 256)
        const why = isLong ? 'has a name of more than 256 characters' : 'accepted'
        expect(refusalOf(JSON.stringify(message))).toBe(why)
      }),
    )
  })

  it('is read as by JSON.parse, with __proto__ as an ordinary name', () => {
    const parsed = parse('{"__proto__":{"polluted":1},"a":1,"a":2,"constructor":null}')
    if (typeof parsed === 'string') throw new Error(parsed)
    expect(Object.keys(parsed)).toEqual(['__proto__', 'a', 'constructor'])
    expect(parsed['a']).toBe(2)
    expect('polluted' in parsed).toBe(false)
    expect('polluted' in {}).toBe(false)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(['string', 'object']).toContain(typeof parseJsonMessage(Buffer.from(bytes)))
      }),
    )
  })
})

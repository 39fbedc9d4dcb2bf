import { describe, expect, it } from 'vitest'
import { codeAt, lengthOf } from '../../src/domain/text-codes.ts'

/** The representations that V8 has for texts. */
function texts(): string[] {
  const joined = `abcdefghijklmnop${process.pid}`
  const key = Buffer.from('a name of a field').toString('latin1')
  expect(Object.hasOwn({ [key]: 1 }, key)).toBe(true)
  return [
    '',
    'literal',
    joined,
    `${joined}${joined}`.slice(3, 20),
    key,
    Buffer.from('Zürich, 東京, 😀').toString('utf8'),
    String(2 ** 53),
  ]
}

describe('texts of any representation', () => {
  it('have the length that they have by themselves', () => {
    for (const text of texts()) expect(lengthOf(text)).toBe(text.length)
  })

  it('have the same units', () => {
    for (const text of texts()) {
      const units = Array.from({ length: text.length }, (_, index) => codeAt(text, index))
      expect(String.fromCharCode(...units)).toBe(text)
    }
  })
})

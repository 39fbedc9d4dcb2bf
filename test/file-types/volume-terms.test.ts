import { describe, expect, it } from 'vitest'
import { DecodeErrors } from '../../src/file-types/decode-errors.ts'
import { termAt } from '../../src/file-types/volume-terms.ts'

function read(document: unknown, message: Record<string, unknown>, isPartial = false) {
  const errors = new DecodeErrors()
  const term = termAt(document, 'volume', 'counter', isPartial)
  const units = term.read({ entry: message, message }, errors)
  return errors.problem ?? units
}

describe('a volume', () => {
  it('is the sum of fields, none of which may be absent', () => {
    expect(read('a', { a: '5' })).toBe(5)
    expect(read(['a', 'b.c'], { a: 5, b: { c: 2 } })).toBe(7)
    expect(read(['a', 'b'], { a: 5 })).toBe(-1)
    expect(read([], {})).toBe(0)
  })

  it('is the sum of the fields present if some may be absent', () => {
    expect(read(['a', 'b'], { b: 5 }, true)).toBe(5)
    expect(read(['a', 'b'], {}, true)).toBe(-1)
  })

  it('is that of the first group with a field present', () => {
    const groups = [['total'], ['in', 'out']]
    expect(read(groups, { total: 1, in: 5, out: 6 })).toBe(1)
    expect(read(groups, { in: 5, out: 6 })).toBe(11)
    expect(read(groups, { out: 6 })).toBe(6)
    expect(read(groups, { total: 0, in: 5 })).toBe(0)
    expect(read(groups, {})).toBe(-1)
  })

  it('is the sum over the members of a list, each with its own group', () => {
    const each = { each: 'used', fields: [['total'], ['in', 'out']] }
    const used = [{ total: 8 }, { in: 30, out: 12 }, { time: 1 }, null, 'x']
    expect(read(each, { used })).toBe(50)
    expect(read(each, { used: { in: 3 } })).toBe(3)
    expect(read([each, 'more'], { used, more: 1 })).toBe(51)
    expect(read(each, { used: [] })).toBe(-1)
    expect(read(each, { total: 9, in: 1 })).toBe(-1)
  })

  it('names the field that cannot be read or is too large', () => {
    const each = { each: 'a.used', fields: ['total'] }
    expect(read(each, { a: { used: [{ total: 1 }, { total: 'x' }] } })).toMatchObject({
      field: 'a.used.total',
    })
    const largest = Number.MAX_SAFE_INTEGER
    expect(read(['a', 'b'], { a: largest, b: 1 })).toMatchObject({ field: 'b' })
    expect(read(each, { a: { used: [{ total: largest }, { total: 1 }] } })).toMatchObject({
      field: 'a.used.total',
      why: expect.stringMatching(/^is more than 2\^53 - 1/),
    })
  })

  it.each([
    [{ fields: ['a'] }, 'volume.each'],
    [{ each: 'a' }, 'volume.fields'],
    [{ each: 'a', fields: 'b' }, 'volume.fields'],
    [{ each: 'a', fields: ['b'], more: 1 }, 'volume.more'],
    [[['a'], 'b'], 'volume.1'],
    [[['a'], [['b']]], 'volume.1'],
    [['a', 7], 'volume.1'],
  ])('%j is refused at %s', (document, path) => {
    expect(() => read(document, {})).toThrow(expect.objectContaining({ path }))
  })
})

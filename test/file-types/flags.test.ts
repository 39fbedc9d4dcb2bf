import { describe, expect, it } from 'vitest'
import { DecodeErrors } from '../../src/file-types/decode-errors.ts'
import { flagAt } from '../../src/file-types/flags.ts'

function read(value: unknown, message: Record<string, unknown>) {
  const errors = new DecodeErrors()
  const isSet = flagAt({ value, path: 'flag' })?.read(message, errors)
  return errors.problem ?? isSet
}

describe('a flag', () => {
  it('has the value of a field', () => {
    expect(read('dry.run', { dry: { run: 'yes' } })).toBe(true)
    expect(read('dry.run', {})).toBe(false)
    expect(read('dry', { dry: 'maybe' })).toEqual({ field: 'dry', why: 'must be true or false' })
    expect(flagAt({ value: undefined, path: 'flag' })).toBeNull()
  })

  it('has the result of conditions', () => {
    const conditions = [
      { src_field: 'action', op: '$in', pattern: [2, 3] },
      { field_name: 'kind', value: 'event' },
    ]
    expect(read({ conditions }, { action: '3', kind: 'event' })).toBe(true)
    expect(read({ conditions }, { action: 1, kind: 'event' })).toBe(false)
    expect(read({ conditions }, {})).toBe(false)
    expect(flagAt({ value: { conditions }, path: 'flag' })?.name).toBe('action')
  })

  it.each([
    [7, 'flag'],
    [{}, 'flag.conditions'],
    [{ conditions: [] }, 'flag.conditions.0'],
    [{ conditions: [{ op: '$eq' }] }, 'flag.conditions.0.src_field'],
    [{ conditions: [{ src_field: 'a', value: 1 }], not: 1 }, 'flag.not'],
  ])('%j is refused at %s', (value, path) => {
    expect(() => flagAt({ value, path: 'flag' })).toThrow(expect.objectContaining({ path }))
  })
})

import { describe, expect, it } from 'vitest'
import { type ComparedCase, csvOf, parseCases } from '../src/parts/simulator/cases.ts'

describe('a file of cases', () => {
  it('has a case in each line, named by the line if it has no name', () => {
    expect(parseCases('{"name":"a"}\r\n\n{"events":[]}\n')).toEqual({
      cases: [{ name: 'a' }, { name: '3', events: [] }],
      errors: [],
    })
  })

  it('names each line that is no case', () => {
    const { cases, errors } = parseCases('{}\n{"a":\n[]\n5')
    expect(cases).toHaveLength(1)
    expect(errors).toEqual([
      { line: 2, why: expect.stringContaining('JSON') },
      { line: 3, why: '' },
      { line: 4, why: '' },
    ])
  })
})

describe('the result as CSV', () => {
  const side = {
    aprice: '0.61',
    final_charge: '0.7137',
    granted: 61,
    returnCode: 1,
    desc: 'Success',
  }
  const priced = {
    name: '=HYPERLINK("x"), quoted',
    before: side,
    after: { ...side, aprice: '0.123456789012345678' },
    difference: { aprice: '-0.1', final_charge: 0 },
    changed: true,
  } as unknown as ComparedCase

  it('has figures as they are, and no formulas', () => {
    const [head, row, end] = csvOf([priced]).split('\r\n')
    expect(head?.split(',').slice(0, 3)).toEqual(['case', 'sid', 'urt'])
    const figures = '0.61,0.7137,0.123456789012345678,0.7137,-0.1,0,61,61'
    const name = `"'=HYPERLINK(""x""), quoted"`
    expect(row).toBe(`${name},,,,,,,,${figures},Success,Success,true,`)
    expect(end).toBe('')
  })

  it('guards texts that begin like numbers', () => {
    const named = (name: string) =>
      csvOf([{ ...priced, name }])
        .split('\r\n')[1]
        ?.split(',')[0]
    expect(named('-1+cmd')).toBe("'-1+cmd")
    expect(named('-1.5')).toBe('-1.5')
    expect(named('@x')).toBe("'@x")
  })
})

it('CSV has cells that no program splits or executes', () => {
  const one = (name: string) =>
    csvOf([{ name } as never])
      .split('\r\n')[1]
      ?.replace(/,+$/, '')
  expect(one('a;=1+1')).toBe('"a;=1+1"')
  expect(one('a\t=1+1')).toBe('"a\t=1+1"')
  expect(one('＝1')).toBe("'＝1")
  expect(one('\n=1')).toBe(`"'\n=1"`)
})

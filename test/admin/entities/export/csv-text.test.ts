import { describe, expect, it } from 'vitest'
import { csvOf } from '../../../../src/admin/console/web/parts/simulator/cases.ts'
import { csvText } from '../../../../src/admin/entities/export/csv-text.ts'

describe('a cell of CSV', () => {
  it.each([',', ';', '\t', '|'])('is quoted if a program could split it, with %j', (delimiter) => {
    const cells = ['a,=1+1', 'a;=1+1', 'a\t=1+1', `a${delimiter}=1+1`, 'plain', 'a "b"', ' x']
    expect(csvText([cells], delimiter)).toBe(
      `${cells.map((cell) => (cell === 'plain' ? cell : `"${cell.replaceAll('"', '""')}"`)).join(delimiter)}\n`,
    )
  })

  it.each(['=1+1', '+x', '-x', '@x', '\t=1', '\r=1', '＝1', "'=1"])('%j is no formula', (cell) => {
    expect(csvText([[cell]], ',').replaceAll('"', '')).toBe(`'${cell}\n`)
  })

  it('of the console is as safe', () => {
    const one = (name: string) => csvOf([{ name } as never]).split('\r\n')[1]?.replace(/,+$/, '')
    expect(one('a;=1+1')).toBe('"a;=1+1"')
    expect(one('a\t=1+1')).toBe('"a\t=1+1"')
    expect(one('＝1')).toBe("'＝1")
    expect(one('\n=1')).toBe(`"'\n=1"`)
  })
})

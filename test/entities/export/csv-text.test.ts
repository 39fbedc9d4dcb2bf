import { describe, expect, it } from 'vitest'
import { csvText } from '../../../src/entities/export/csv-text.ts'

describe('a cell of CSV', () => {
  it.each([',', ';', '\t', '|'])('is quoted if a program could split it, with %j', (delimiter) => {
    const cells = ['a,=1+1', 'a;=1+1', 'a\t=1+1', `a${delimiter}=1+1`, 'plain', 'a "b"', ' x']
    const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
    const expected = cells.map((cell) => (cell === 'plain' ? cell : quoted(cell)))
    expect(csvText([cells], delimiter)).toBe(`${expected.join(delimiter)}\n`)
  })

  it.each(['=1+1', '+x', '-x', '@x', '\t=1', '\r=1', '＝1', "'=1"])('%j is no formula', (cell) => {
    expect(csvText([[cell]], ',').replaceAll('"', '')).toBe(`'${cell}\n`)
  })
})

/** The reader of record files: syntax, control lines, and places to resume at. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RECORD_BYTES_MAX } from '../../../src/file-types/records/framing.ts'
import type { FileRecord } from '../../../src/file-types/records/record-files.ts'
import { readChunks } from '../../support/file-types/records.ts'
import type { Fields } from '../../support/file-types/sample.ts'

const CSV = { type: 'separator', structure: [{ name: 'a' }, { name: 'b' }] }
const FIXED = {
  type: 'fixed',
  structure: [
    { name: 'a', width: 3 },
    { name: 'b', width: 2 },
  ],
}
const COUNTED = {
  ...CSV,
  line_types: { H: '/^H;/', T: '/^T;/' },
  trailer_structure: [{ name: 'type' }, { name: 'count' }],
  record_count_field: 'count',
}
const SUMMED = {
  ...CSV,
  line_types: { T: '/^T,/' },
  trailer_structure: [{ name: 'type' }, { name: 'seconds' }, { name: 'charge' }],
  control_sums: [
    { field: 'seconds', sum_of: 'a' },
    { field: 'charge', sum_of: 'b' },
  ],
}
/** Each record as `line: columns`, or with its problem. */
const shown = (records: readonly FileRecord[]) =>
  records.map(({ line, message, problem, isControl }) => {
    if (problem !== null) return `${line}: ${problem.field} ${problem.why}`
    return isControl
      ? `${line}: control`
      : `${line}: ${JSON.stringify(Object.values(message ?? {}))}`
  })
const read = (parser: Fields, ...chunks: (string | Buffer)[]) => shown(readChunks(parser, chunks))

describe('separated values', () => {
  it.each<[string, string[]]>([
    ['1,2\n3,4\n', ['1: ["1","2"]', '2: ["3","4"]']],
    ['1,2\r\n3,4', ['1: ["1","2"]', '2: ["3","4"]']],
    ['\n\n1,2\n\n3,4\n\n', ['3: ["1","2"]', '5: ["3","4"]']],
    ['\ufeff1,2', ['1: ["1","2"]']],
    ['\ufeff"1",2', ['1: ["1","2"]']],
    ['', []],
    ['\n', []],
    [' 1 ,\n', ['1: [" 1 ",""]']],
    ['"1,""x""","2\n3"\n4,5', ['1: ["1,\\"x\\"","2\\n3"]', '3: ["4","5"]']],
    ['"1""\n",2', ['1: ["1\\"\\n","2"]']],
    ['"",""', ['1: ["",""]']],
    ['"1",', ['1: ["1",""]']],
    ['1\n2,3', ['1: b is missing: the record has 1 columns', '2: ["2","3"]']],
    ['1,2,3', ['1: record has 3 columns, not 2']],
    ['1,2"3', ['1: b has a quote, and does not begin with it']],
    ['"1"2,3\n4,5', ['1: a goes on behind its closing quote', '2: ["4","5"]']],
    [
      '1,"2\n3,4\n5,6',
      [
        `1: record has a quote that is not closed within ${RECORD_BYTES_MAX} bytes`,
        '2: ["3","4"]',
        '3: ["5","6"]',
      ],
    ],
  ])('%j is read', (text, records) => expect(read(CSV, text)).toEqual(records))

  it('may have another separator, another quote or none, and hidden columns', () => {
    expect(read({ ...CSV, separator: '\t' }, '1,1\t2')).toEqual(['1: ["1,1","2"]'])
    expect(read({ ...CSV, separator: '|', quote: "'" }, "'1|1'|\"2")).toEqual(['1: ["1|1","\\"2"]'])
    expect(read({ ...CSV, quote: 'none' }, '"1,2"\n')).toEqual(['1: ["\\"1","2\\""]'])
    const structure = [{ name: 'a', checked: false }, { name: 'b' }]
    expect(read({ ...CSV, structure }, '1,2')).toEqual(['1: ["2"]'])
  })

  it('may have a column of any name', () => {
    const structure = [{ name: '__proto__' }, { name: 'constructor' }]
    expect(read({ ...CSV, structure }, '1,2')).toEqual(['1: ["1","2"]'])
  })
})

describe('a record', () => {
  const long = '9'.repeat(RECORD_BYTES_MAX)

  it('has at most 65,536 bytes, and the records behind a longer one are read', () => {
    const text = `1,${long.slice(2)}\n1,${long}${long}\n3,4\n`
    const [first, second, third] = readChunks(CSV, [text])
    expect(first?.problem).toBeNull()
    expect(second).toMatchObject({
      line: 2,
      text: `1,${'9'.repeat(254)}`,
      message: null,
      problem: { field: 'record', why: 'is longer than 65536 bytes' },
    })
    expect(third).toMatchObject({ line: 3, message: { a: '3', b: '4' }, next: { records: 3 } })
    const chunks = [text.slice(0, 40_000), text.slice(40_000, 140_000), text.slice(140_000)]
    expect(readChunks(CSV, chunks)).toEqual([first, second, third])
  })

  it('is found if it is too long, and has no line end', () => {
    const why = 'is longer than 65536 bytes'
    expect(readChunks(CSV, [`${long}9`])).toMatchObject([{ line: 1, problem: { why } }])
  })

  it('ends with its line if its quote is not closed within this limit', () => {
    const lines = Array.from({ length: 9000 }, (_, index) => `${index},xxxxxx`)
    const records = readChunks(CSV, [`"1,2\n${lines.join('\n')}\n"3",4`])
    expect(records).toHaveLength(9002)
    expect(records[0]?.problem?.why).toMatch(/^has a quote that is not closed/)
    expect(records.slice(1).every(({ problem }) => problem === null)).toBe(true)
  })

  it('is refused if it is not UTF-8, and the next one is read', () => {
    const bytes = Buffer.from([0x31, 0x2c, 0xff, 0x0a, 0x32, 0x2c, 0x33])
    expect(read(CSV, bytes)).toEqual(['1: record is not UTF-8', '2: ["2","3"]'])
  })
})

describe('records of a fixed width', () => {
  it.each<[string, string[]]>([
    ['1  22\n 3  \n', ['1: ["1","22"]', '2: record has 4 characters, not 5']],
    ['äß€ 1\r\n', ['1: ["äß€","1"]']],
    ['😀  x ', ['1: ["😀","x"]']],
    ['123456', ['1: record has 6 characters, not 5']],
    ['"1"22', ['1: ["\\"1\\"","22"]']],
  ])('%j is read', (text, records) => expect(read(FIXED, text)).toEqual(records))
})

describe('lines of JSON', () => {
  it.each<[string, string[]]>([
    ['{"a":1}\n{"a":{"b":"x"}}', ['1: [1]', '2: [{"b":"x"}]']],
    ['{"a":\n[1]\n', ['1: record is not JSON', '2: record is not a JSON object']],
    [`{"a":${'['.repeat(40)}${']'.repeat(40)}}`, ['1: record is nested deeper than 32']],
  ])('%j is read', (text, records) => expect(read({ type: 'json' }, text)).toEqual(records))
})

describe('control lines', () => {
  it('are the first and the last line by position', () => {
    const parser = { ...CSV, csv_has_header: true, csv_has_footer: true }
    expect(read(parser, 'x\n1,2\n3,4\nend\n\n')).toEqual([
      '1: control',
      '2: ["1","2"]',
      '3: ["3","4"]',
      '4: control',
    ])
    expect(read(parser, 'x')).toEqual(['1: control'])
    expect(read({ ...CSV, csv_has_header: true }, 'a,b\n1,2')).toEqual([
      '1: control',
      '2: ["1","2"]',
    ])
  })

  it('are found by their text', () => {
    const parser = { ...CSV, line_types: { H: '/^#/', D: '/^\\d/', T: '/^none$/' } }
    expect(read(parser, '# x\n1,2\n# y\nz,2\n')).toEqual([
      '1: control',
      '2: ["1","2"]',
      '3: control',
      '4: record is of no line type',
    ])
  })

  it('may state the number of records, wrong ones included', () => {
    expect(read(COUNTED, 'H;\n1,2\n3\nT;,2\n')).toContain('4: control')
    expect(read(COUNTED, '1,2\nT;,2\n')).toEqual([
      '1: ["1","2"]',
      '2: count is 2, and the file has 1 records',
    ])
    expect(read(COUNTED, '1,2\nT;,x')[1]).toBe('2: count must be a whole number from 0 to 2^53 - 1')
    expect(read(COUNTED, '1,2\nT;,')[1]).toBe('2: count is required')
    expect(read(COUNTED, '1,2\nT;')[1]).toBe('2: count is missing: the record has 1 columns')
    expect(read(COUNTED, '1,2\nT;,1\n3,4')[2]).toBe('3: record is behind the trailer')
  })

  it('are required if they state it: a file without its trailer may be cut off', () => {
    expect(read(COUNTED, '1,2\n')).toEqual([
      '1: ["1","2"]',
      '2: trailer is missing: the file may be cut off',
    ])
  })
})

describe('control sums of a trailer', () => {
  it('are those of columns of all records that can be read, exactly', () => {
    const records = '61,0.1\n120,0.2\nx,\n7\n'
    expect(read(SUMMED, `${records}T,181,0.30\n`)).toContain('5: control')
    expect(
      read(SUMMED, '9007199254740993,-0.000000000001\n1,\nT,9007199254740994,-0.000000000001'),
    ).toContain('3: control')
    expect(read(SUMMED, `${records}T,180,0.3`)[4]).toBe(
      '5: seconds is 180, and the records have 181 of a',
    )
    expect(read(SUMMED, `${records}T,181,-1.5`)[4]).toBe(
      '5: charge is -1.5, and the records have 0.3 of b',
    )
  })

  it('must be numbers, in a trailer that is there', () => {
    expect(read(SUMMED, 'T,,0')).toEqual(['1: seconds must be a decimal number'])
    expect(read(SUMMED, 'T,0')).toEqual(['1: charge is missing: the record has 2 columns'])
    expect(read(SUMMED, '1,2\n')[1]).toBe('2: trailer is missing: the file may be cut off')
  })

  it('are checked beside the number of records', () => {
    const both = {
      type: 'json',
      line_types: { T: '/"n"/' },
      record_count_field: 'n',
      control_sums: [{ field: 'total', sum_of: 'used.bytes' }],
    }
    const records = '{"used":{"bytes":5}}\n{"used":{"bytes":"1.5"}}\n'
    expect(read(both, `${records}{"n":2,"total":6.5}`)[2]).toBe('3: control')
    expect(read(both, `${records}{"n":3,"total":6.5}`)[2]).toBe(
      '3: n is 3, and the file has 2 records',
    )
    expect(read(both, `${records}{"n":2,"total":6}`)[2]).toBe(
      '3: total is 6, and the records have 6.5 of used.bytes',
    )
  })
})

describe('the reader', () => {
  const parsers: Fields[] = [
    CSV,
    FIXED,
    { type: 'json' },
    { ...CSV, csv_has_header: true, csv_has_footer: true },
    COUNTED,
    SUMMED,
    { ...COUNTED, line_types: { H: '/^"/' }, csv_has_footer: true, csv_has_header: true },
  ]
  const pieces = [
    '1,2',
    '"',
    '""',
    ',',
    '\n',
    '\r\n',
    'é',
    '\ufeff',
    'T;,2',
    'T,3,2',
    '{"a":1}',
    '123 5',
    '\n\n',
  ]
  const texts = fc
    .array(fc.constantFrom(...pieces), { maxLength: 40 })
    .map((parts) => parts.join(''))
  const cases = fc.tuple(
    fc.constantFrom(...parsers),
    texts,
    fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1 }),
  )

  function chunksOf(bytes: Buffer, sizes: readonly number[]): Buffer[] {
    const chunks: Buffer[] = []
    let at = 0
    while (at < bytes.length) {
      const size = sizes[chunks.length % sizes.length] ?? 1
      chunks.push(bytes.subarray(at, at + size))
      at += size
    }
    return chunks
  }

  it('finds the same records in any chunks', () => {
    fc.assert(
      fc.property(cases, ([parser, text, sizes]) => {
        const bytes = Buffer.from(text)
        expect(readChunks(parser, chunksOf(bytes, sizes))).toEqual(readChunks(parser, [bytes]))
      }),
    )
  })

  it('finds the rest from the end of any record', () => {
    fc.assert(
      fc.property(cases, ([parser, text, sizes]) => {
        const bytes = Buffer.from(text)
        const all = readChunks(parser, [bytes])
        for (const [index, { next }] of all.entries()) {
          const rest = chunksOf(bytes.subarray(next.offset), sizes)
          expect(readChunks(parser, rest, next)).toEqual(all.slice(index + 1))
        }
      }),
    )
  })

  it('never throws, and keeps every byte in a record or an empty line', () => {
    const files = fc.oneof(fc.uint8Array({ maxLength: 200 }), texts)
    fc.assert(
      fc.property(files, fc.constantFrom(...parsers), (content, parser) => {
        const file = Buffer.from(content as Uint8Array)
        const gaps: string[] = []
        let from = 0
        for (const { text, next } of readChunks(parser, [file])) {
          const part = file.toString('utf8', from, next.offset)
          const at = part.lastIndexOf(text)
          expect(at).toBeGreaterThanOrEqual(0)
          gaps.push(part.slice(0, at), part.slice(at + text.length))
          from = next.offset
        }
        gaps.push(file.toString('utf8', from))
        expect(gaps.join('')).toMatch(/^\ufeff?[\r\n]*$/)
      }),
    )
  })
})

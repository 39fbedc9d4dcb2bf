/** Any bytes, and damaged files of charging data records, are records or named errors. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cdrFile,
  container,
  group,
  openGroup,
  pgwRecord,
  value,
} from '../../support/file-types/ber.ts'
import { readChunks } from '../../support/file-types/records.ts'

const BER = { type: 'ber' }
const CDRS = { type: 'ber', file_format: 'ts32297' }
const IMSI = '621121436587f9'
const simple = (number: number) => group(79, value(0, '55'), value(20, Buffer.of(number)))

describe('any bytes', () => {
  const valid = Buffer.concat([simple(1), Buffer.alloc(7), pgwRecord(IMSI, container(1, 2, 3))])
  const files = [
    valid,
    Buffer.concat([openGroup(79, value(0, '55'), openGroup(34, container(1, 2, 3))), simple(2)]),
    cdrFile([simple(1), pgwRecord(IMSI, container(1, 2, 3)), simple(3)]),
  ]
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .record({ file: fc.constantFrom(...files), end: fc.nat(400) })
      .map(({ file, end }) => file.subarray(0, end)),
    fc
      .record({
        file: fc.constantFrom(...files),
        at: fc.nat(200),
        put: fc.uint8Array({ minLength: 1, maxLength: 4 }),
      })
      .map(({ file, at, put }) => {
        const changed = Buffer.from(file)
        changed.set(put.subarray(0, Math.max(0, changed.length - at)), Math.min(at, changed.length))
        return changed
      }),
  )
  const parsers = fc.constantFrom(BER, CDRS)

  it('are records or named errors, the same in any chunks', () => {
    fc.assert(
      fc.property(
        bytes,
        parsers,
        fc.array(fc.nat(400), { maxLength: 6 }),
        (given, parser, cuts) => {
          const file = Buffer.from(given)
          const records = readChunks(parser, [file])
          for (const { message, problem, isControl } of records) {
            expect([message === null, problem === null]).not.toEqual([!isControl, !isControl])
            if (problem !== null) expect(problem.why).toMatch(/./)
          }
          expect(records.at(-1)?.next.offset ?? 0).toBeLessThanOrEqual(file.length)
          const ends = [...cuts, file.length].sort((one, other) => one - other)
          const chunks = ends.map((end, index) => file.subarray(ends[index - 1] ?? 0, end))
          expect(readChunks(parser, chunks)).toEqual(records)
          for (const { next } of records.slice(0, -1)) {
            const rest = readChunks(parser, [file.subarray(next.offset)], next)
            expect(rest).toEqual(records.slice(records.findIndex((each) => each.next === next) + 1))
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('take steps in proportion to their number', () => {
    const open = Buffer.from('a080'.repeat(500_000), 'hex')
    const records = readChunks(BER, [open.subarray(0, 65_536), open.subarray(65_536)])
    expect(records).toHaveLength(1)
    const wide = Buffer.from(`bf4f830ffff0${'3000'.repeat(32_000)}`, 'hex')
    expect(readChunks(CDRS, [cdrFile([wide])]).at(1)?.problem?.why).toMatch(/values|BER/)
  })
})

/** examples/pgw-cdr.*: the file type of charging data records, and a file. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { compileRecordFileType } from '../../../src/file-types/records/compile.ts'
import { openRecordReader } from '../../../src/file-types/records/reader.ts'
import { container, pgwRecord } from '../../support/file-types/ber.ts'
import { RECORD_CONTEXT } from '../../support/file-types/records.ts'
import { DEFAULTS } from '../../support/file-types/sample.ts'

const example = (name: string) =>
  readFileSync(new URL(`../../../examples/pgw-cdr.${name}`, import.meta.url))

it('the example of charging data records is a record of two rating groups', () => {
  const fileType = compileRecordFileType(parse(String(example('yaml'))), DEFAULTS, 'file_types')
  const file = example('ber')
  const containers = [container(10, 1_000_000, 24_000_000), container(20, 512, 2_048)]
  expect(file).toEqual(pgwRecord('621121436587f9', ...containers))
  const [record] = [...openRecordReader(fileType).push(file)]
  expect(fileType.map(record?.message ?? {}, RECORD_CONTEXT)).toMatchObject({
    request: {
      eventTimeMs: Date.UTC(2026, 4, 1, 10),
      fields: { servedMSISDN: '+49171000001' },
      services: [
        { usaget: 'data', ratingGroup: 10, used: 25_000_000 },
        { usaget: 'data', ratingGroup: 20, used: 2_560 },
      ],
    },
  })
})

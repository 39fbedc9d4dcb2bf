/** docs/FILE-TYPES.md: its documents are accepted, and map its messages as described. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { compileRecordFileType } from '../../src/file-types/records/compile.ts'
import { openRecordReader } from '../../src/file-types/records/reader.ts'
import { RECORD_CONTEXT } from '../support/file-types/records.ts'
import {
  DEFAULTS,
  documentWith,
  type Fields,
  refusalOf,
  result,
} from '../support/file-types/sample.ts'

const text = readFileSync(new URL('../../docs/FILE-TYPES.md', import.meta.url), 'utf8')

function blocks(kind: string): readonly Fields[] {
  const found = text.matchAll(new RegExp(`^\`\`\`json ${kind}\n([\\s\\S]*?)\n\`\`\`$`, 'gm'))
  return [...found].map(([, content = '']) => JSON.parse(content))
}

it.each(blocks('file_type'))('the document %j is accepted', (document) => {
  expect(refusalOf(document)).toBe('')
})

it.each(blocks('case'))('the case %j holds', ({ document, message, request, problem }) => {
  const found = result(documentWith(document as Fields), message as Fields)
  if (problem === undefined) expect(found).toMatchObject({ request })
  else expect('why' in found ? `${found.field} ${found.why}` : found).toBe(problem)
})

it.each(blocks('records'))('the file %j is read as described', ({ file_hex: hex, ...given }) => {
  const { document, file, records } = given
  const fileType = compileRecordFileType(document, DEFAULTS, 'file_types')
  const reader = openRecordReader(fileType)
  const bytes =
    hex === undefined
      ? Buffer.from((file as string[]).join('\n'))
      : Buffer.from((hex as string[]).join('').replaceAll(' ', ''), 'hex')
  const found = [...reader.push(bytes), ...reader.end()].map(({ message, problem }) => {
    if (message === null) return problem === null ? 'control' : `${problem.field} ${problem.why}`
    const mapped = fileType.map(message, RECORD_CONTEXT)
    return 'why' in mapped ? `${mapped.field} ${mapped.why}` : (mapped.request ?? 'excluded')
  })
  expect(found).toMatchObject(records as unknown[])
})

it('there are examples of all kinds', () => {
  expect(blocks('records').length).toBe(4)
  expect(blocks('file_type').length).toBeGreaterThan(0)
  expect(blocks('case').length).toBeGreaterThan(6)
})

/** docs/FILE-TYPES.md: its documents are accepted, and map its messages as described. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documentWith, type Fields, refusalOf, result } from '../support/file-types/sample.ts'

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

it('there are examples of both kinds', () => {
  expect(blocks('file_type').length).toBeGreaterThan(0)
  expect(blocks('case').length).toBeGreaterThan(6)
})

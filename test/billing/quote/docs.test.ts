import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { quoteCase, quoteLine } from '../../../src/billing/quote/quote-case.ts'

const BLOCK = /^```json (case|answer|mismatches)=(\S+)\n([\s\S]*?)\n```$/gm

/** The examples of a document by name, each with its parts. */
function examplesIn(file: string): Map<string, Record<string, unknown>> {
  const examples = new Map<string, Record<string, unknown>>()
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
  for (const [, part = '', name = '', content = ''] of text.matchAll(BLOCK)) {
    examples.set(name, { ...examples.get(name), [part]: JSON.parse(content) })
  }
  return examples
}

it('examples/prices.json is the case of the tutorial', () => {
  const path = new URL('../../../examples/prices.json', import.meta.url)
  const { case: value } = examplesIn('docs/TUTORIAL.md').get('included') ?? {}
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(value)
})

describe.each([
  ['docs/QUOTES.md', ['first', 'fractions', 'bands', 'mismatch', 'broken']],
  [
    'docs/CATALOGUE.md',
    ['tiers', 'package', 'graduated-flat', 'bands', 'bands-interval', 'limited', 'limits'],
  ],
  ['docs/TUTORIAL.md', ['included']],
])('%s', (file, names) => {
  const examples = examplesIn(file)

  it('has the examples that the tests expect', () => {
    expect([...examples.keys()]).toEqual(names)
  })

  it.each([...examples])(
    '%s: the result is correct',
    (_name, { case: value, answer, mismatches }) => {
      const result = JSON.parse(quoteLine(quoteCase(value)))
      if (answer !== undefined) expect(result).toEqual(answer)
      if (mismatches !== undefined) expect(result).toMatchObject({ ok: false, mismatches })
      if (answer === undefined && mismatches === undefined) expect(result.ok).toBe(true)
    },
  )
})

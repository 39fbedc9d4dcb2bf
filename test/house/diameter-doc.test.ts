/** docs/DIAMETER.md names a test for each row of supported behaviour; these tests must exist. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const docs = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'docs')
const text = readFileSync(join(docs, 'DIAMETER.md'), 'utf8')
const REFERENCE = /\[[\w-]+\]\((\.\.\/test\/[^)]+)\) "([^"]+)"/g

/** Rows of tables of behaviours: the last column of these tables is called `test`. */
function rowsOf(lines: readonly string[]): string[] {
  const rows: string[] = []
  let isTested = false
  for (const line of lines) {
    if (!line.startsWith('|')) isTested = false
    else if (/\| test \|$/.test(line)) isTested = true
    else if (isTested && !line.startsWith('|---')) rows.push(line)
  }
  return rows
}

it('each row of supported behaviour in docs/DIAMETER.md has a test', () => {
  const rows = rowsOf(text.split('\n'))
  expect(rows.length).toBeGreaterThan(70)
  expect(rows.filter((row) => row.match(REFERENCE) === null)).toEqual([])
})

it('each test named in docs/DIAMETER.md exists', () => {
  const missing = [...text.matchAll(REFERENCE)].flatMap(([, path = '', title = '']) => {
    const file = join(docs, path)
    if (!existsSync(file)) return [path]
    return readFileSync(file, 'utf8').includes(title) ? [] : [`${path} "${title}"`]
  })
  expect([...new Set(missing)]).toEqual([])
})

/** Each row of the table of outages in docs/OPERATING.md names an existing test. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HOUSE } from './tree.ts'

const TITLE = '## When a part fails'

interface Row {
  what: string
  file: string
  test: string
}

function rows(): Row[] {
  const text = readFileSync(join(HOUSE, 'docs/OPERATING.md'), 'utf8')
  const [, section = ''] = text.split(TITLE)
  const [table = ''] = section.split('\n## ')
  const lines = table.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) => {
    const cells = line.split(' | ').map((cell) => cell.replace(/^\||\|$/g, '').trim())
    const [, file = '', test = ''] = /^`([\w/-]+)` (.+)$/.exec(cells.at(-1) ?? '') ?? []
    return { what: `${cells[0]} ${cells[1]}`, file, test }
  })
}

describe('the table of outages', () => {
  it('contains every component', () => {
    const parts = new Set(rows().map(({ what }) => what.split(' ')[0]))
    for (const part of ['Redis', 'MongoDB', 'worker', 'recorder', 'realtime', 'clock']) {
      expect(parts).toContain(part)
    }
  })

  it.each(rows())('$what: has its test in $file', ({ file, test }) => {
    const name = file.startsWith('packages/') ? `${file}.test.ts` : `test/${file}.test.ts`
    const path = join(HOUSE, name)
    expect(existsSync(path), name).toBe(true)
    expect(readFileSync(path, 'utf8')).toContain(test)
  })
})

/**
 * Tables of docs/OPERATING.md: each outage names an existing test; the log of the billing cycle is
 * complete.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HOUSE } from './tree.ts'

const TITLE = '## When a part fails'
const LOGS = '## The billing cycle in the log'
/** Modules whose log that table lists. */
const CYCLE_FOLDERS = ['src/billing/run', 'src/billing/onetime', 'src/jobs/cycle']

interface Row {
  what: string
  file: string
  test: string
}

function tableOf(title: string): string[] {
  const text = readFileSync(join(HOUSE, 'docs/OPERATING.md'), 'utf8')
  const [, section = ''] = text.split(`${title}\n`)
  const [table = ''] = section.split('\n## ')
  return table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
}

function rows(): Row[] {
  return tableOf(TITLE).map((line) => {
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

describe('the table of what the billing cycle logs', () => {
  const call = /\blog\.(info|warn|error)\([^'\n]*'([^']+)'\)/g
  const levels = { info: 'info', warn: 'warning', error: 'error' } as const

  it('has each message with its level, and no other', () => {
    const logged = CYCLE_FOLDERS.flatMap((folder) =>
      readdirSync(join(HOUSE, folder))
        .filter((name) => name.endsWith('.ts'))
        .flatMap((name) => {
          const text = readFileSync(join(HOUSE, folder, name), 'utf8')
          return [...text.matchAll(call)].map(([, level, message]) => {
            return `${message} (${levels[level as keyof typeof levels]})`
          })
        }),
    )
    const listed = tableOf(LOGS).map((line) => {
      const [, message, level] = /^\| `([^`]+)`.*\((\w+)\) \|/.exec(line) ?? []
      return `${message} (${level})`
    })
    expect(logged.length).toBeGreaterThan(5)
    expect(listed.toSorted()).toEqual([...new Set(logged)].toSorted())
  })
})

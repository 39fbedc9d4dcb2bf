/** Recorded processor time of each test file and part, `test/budget.json`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PATH = join(ROOT, 'test/budget.json')

export interface Budget {
  /** Processor time of the calibration on the machine that recorded the budget, ms. */
  calibrationMs: number
  /** Processor time of all files of a project with their modules, seconds. */
  parts: Record<string, number>
  /** By path: processor time of its tests, and how long they took, seconds. */
  files: Record<string, readonly [processor: number, elapsed: number]>
}

export function readBudget(): Budget {
  return JSON.parse(readFileSync(PATH, 'utf8')) as Budget
}

/** One line a file, sorted, so that a change shows as one line. */
export function writeBudget({ calibrationMs, parts, files }: Budget): void {
  const rows = (table: Readonly<Record<string, unknown>>) =>
    Object.keys(table)
      .sort()
      .map(
        (name) => `    ${JSON.stringify(name)}: ${JSON.stringify(table[name]).replace(',', ', ')}`,
      )
      .join(',\n')
  const text = `{
  "calibrationMs": ${calibrationMs},
  "parts": {
${rows(parts)}
  },
  "files": {
${rows(files)}
  }
}
`
  writeFileSync(PATH, text)
}

/** The name of a test file in the budget. */
export function pathOf(moduleId: string): string {
  return relative(ROOT, moduleId)
}

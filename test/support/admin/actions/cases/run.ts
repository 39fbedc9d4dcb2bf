/** Runs case files: each on a server and stores of its own, each case as a test. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CaseFile, readCases } from './case-file.ts'
import { SET_UPS } from './set-ups.ts'
import { runCase } from './steps.ts'

export function runCases(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  expect(names.length).toBeGreaterThan(0)
  for (const name of names.sort()) {
    describe(name.replace('.yaml', ''), () => runFile(readCases(join(folder, name))))
  }
}

function runFile({ setUp: name, groups }: CaseFile): void {
  const create = SET_UPS[name]
  if (create === undefined) throw new Error(`there is no set-up ${name}`)
  const { server, prepare, reset, variablesOf = () => ({}), verbs = {} } = create()
  if (prepare !== undefined) beforeAll(prepare)
  if (reset !== undefined) beforeEach(reset)
  for (const group of groups) {
    describe(group.name, () => {
      for (const each of group.cases) {
        it(each.name, async () => {
          const variables = new Map<string, unknown>(Object.entries(variablesOf()))
          await runCase(each, group, { server, variables }, verbs)
        })
      }
    })
  }
}

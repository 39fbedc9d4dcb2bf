/** Which records `tollgate rejected list` shows. */
import { beforeAll, expect, it } from 'vitest'
import type { IntakeRejectedDocument } from '../../src/catalog/records/usage/intake-documents.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

function record(_id: string, more: Partial<IntakeRejectedDocument>): IntakeRejectedDocument {
  const at = new Date(Date.UTC(2026, 0, 1))
  const file = { file: 'f', file_name: 'a.csv', file_type: 'CALLS', line: 1, text: 'a,b' }
  const problem = { field: 'imsi', reason: 'is required', state: 'waiting' as const }
  return { _id, ...file, ...problem, created: at, updated: at, ...more }
}

beforeAll(async () => {
  await tollgate
    .catalog()
    .intakerejected.insertMany([
      record('f:1', {}),
      record('f:2', { line: 2, reason: 'has 3 digits' }),
      record('f:3', { line: 3, state: 'dropped' }),
      record('g:1', { file: 'g', file_type: 'DATA' }),
    ])
})

it.each([
  [[], ['f:1', 'f:2', 'g:1']],
  [
    ['--file', 'f'],
    ['f:1', 'f:2'],
  ],
  [['--file-type', 'DATA'], ['g:1']],
  [
    ['--reason', 'is required'],
    ['f:1', 'g:1'],
  ],
  [['--state', 'dropped'], ['f:3']],
  [['--id', 'f:3'], ['f:3']],
  [['--id', 'f:3', '--state', 'waiting'], []],
])('%j shows %j', async (args, ids) => {
  const { code, stdout } = await tollgate.run('rejected', 'list', '--json', ...args)
  expect(code).toBe(0)
  expect(JSON.parse(stdout).map(({ id }: { id: string }) => id)).toEqual(ids)
})

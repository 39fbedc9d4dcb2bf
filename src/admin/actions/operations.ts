/** `operations`: long operations, the newest first. */
import { Type } from '@sinclair/typebox'
import { listOf } from '../../catalog/entities/json-schema.ts'
import type { ImportProgressDocument } from '../../catalog/records/import-document.ts'
import { type ActionCall, action } from './action.ts'
import {
  cycleOperation,
  importOperation,
  jobOperation,
  type LongOperation,
  OPERATION,
  operationView,
  rebalanceOperation,
} from './operation-view.ts'
import { param } from './parameters.ts'

const STATES = ['waiting', 'running', 'paused', 'done'] as const
const SIZE = 100
const SIZE_MAX = 1_000

export const operations = action({
  name: 'operations',
  level: 'read',
  about: 'Long operations: jobs, billing cycles, imports, and lines that wait for rating',
  isReadByGet: true,
  parameters: Type.Object({
    action: param.optional(param.text('Only operations of this kind.')),
    state: param.optional(param.choice(STATES, 'Only operations in this state.')),
    size: param.optional(
      param.integer(`Number of operations; ${SIZE} by default.`, { minimum: 1, maximum: SIZE_MAX }),
    ),
  }),
  answer: {
    details: listOf(OPERATION, 'The newest first.'),
  },
  example: { parameters: { state: 'running' }, answer: { details: [] } },
  async run({ action: kind = '', state, size = SIZE }, call) {
    const found = (await readOperations(call)).filter(
      (one) => (kind === '' || one.action === kind) && (state === undefined || one.state === state),
    )
    found.sort((a, b) => b.start.getTime() - a.start.getTime())
    return { details: found.slice(0, size).map((one) => operationView(one, call)) }
  },
})

/** The newest of each source. */
async function readOperations({ catalog }: ActionCall): Promise<LongOperation[]> {
  const [jobs, runs, imports, queued] = await Promise.all([
    catalog.reads.jobs.find({}).sort({ _id: -1 }).limit(SIZE_MAX).toArray(),
    catalog.reads.cycleruns.find({}).sort({ _id: -1 }).limit(SIZE_MAX).toArray(),
    catalog.reads.imports
      .find({ kind: 'progress' })
      .sort({ started: -1 })
      .limit(SIZE_MAX)
      .toArray(),
    catalog.reads.rebalance.find({}).sort({ _id: -1 }).limit(SIZE_MAX).toArray(),
  ])
  return [
    ...jobs.map(jobOperation),
    ...runs.map(cycleOperation),
    ...(imports as ImportProgressDocument[]).map(importOperation),
    ...queued.map(rebalanceOperation),
  ]
}

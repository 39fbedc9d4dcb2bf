import { MongoCommandError, notImplemented } from '../errors.ts'
import { type Examined, type Query, runQuery } from '../query/run-query.ts'
import type { SortField } from '../query/sort.ts'
import type { Collection } from '../store/catalog.ts'
import { type Plan, planQuery } from '../store/plan.ts'
import type { Doc } from '../values/document.ts'
import { Args } from './args.ts'
import type { Command, Commands } from './command.ts'
import { drain, findQuery, workOf } from './read.ts'

const VERBOSITIES = ['queryPlanner', 'executionStats', 'allPlansExecution']

/**
 * How a `find` is executed, in the form of MongoDB: `queryPlanner.winningPlan` as a tree of stages
 * (`COLLSCAN`, `IXSCAN`, `FETCH`, `OR`, `SORT`, `SKIP`, `LIMIT`, `EOF`), and, unless the verbosity
 * is `queryPlanner`, the counts of an execution. There are no rejected plans: the plan is chosen
 * without trying others.
 */
const explain: Command = async (context, args) => {
  const { catalog, records } = context
  args.allow(['verbosity'])
  const verbosity = args.string('verbosity') ?? 'allPlansExecution'
  if (!VERBOSITIES.includes(verbosity)) {
    throw new MongoCommandError(
      'BadValue',
      `Enumeration value '${verbosity}' for field 'explain.verbosity' is not a valid value.`,
    )
  }
  const command = args.doc('explain')
  const [name = ''] = Object.keys(command)
  if (name !== 'find') throw notImplemented(`explain of ${name}`)
  const inner = Args.within(args, command)
  const query = findQuery(inner)
  const ns = inner.namespace()
  const collection = catalog.find(ns)
  const examined: Examined = { keys: 0, docs: 0 }
  // Also refuses an invalid filter.
  const rows = runQuery(records, collection, query, examined)
  const winningPlan = collection === undefined ? { stage: 'EOF' } : stagesOf(collection, query)
  const queryPlanner = {
    namespace: ns,
    indexFilterSet: false,
    parsedQuery: query.filter,
    winningPlan,
    rejectedPlans: [],
  }
  if (verbosity === 'queryPlanner') return { explainVersion: '1', queryPlanner, command }
  let nReturned = 0
  await drain(rows, workOf(context, args), () => {
    nReturned += 1
  })
  const executionStats = {
    executionSuccess: true,
    nReturned,
    totalKeysExamined: examined.keys,
    totalDocsExamined: examined.docs,
  }
  return { explainVersion: '1', queryPlanner, executionStats, command }
}

/** A stage of a plan, as it is answered. */
type Stage = { readonly stage: string; readonly [field: string]: unknown }

function stagesOf(collection: Collection, query: Query): Stage {
  const { filter, sort = [], skip = 0, limit = Number.POSITIVE_INFINITY } = query
  const plan = planQuery(collection, filter, sort)
  let stage = readStage(plan, filter)
  const isSorted = sort.length === 0 || (plan.kind === 'index' && plan.sorted)
  if (!isSorted) stage = { stage: 'SORT', sortPattern: patternOf(sort), inputStage: stage }
  if (skip > 0) stage = { stage: 'SKIP', skipAmount: skip, inputStage: stage }
  if (limit < Number.POSITIVE_INFINITY) {
    stage = { stage: 'LIMIT', limitAmount: limit, inputStage: stage }
  }
  return stage
}

function patternOf(sort: readonly SortField[]): Record<string, number> {
  return Object.fromEntries(sort.map(({ path, descending }) => [path, descending ? -1 : 1]))
}

/** The filter is evaluated on each document that is found. */
function readStage(plan: Plan, filter: Doc): Stage {
  if (plan.kind === 'scan') return { stage: 'COLLSCAN', filter, direction: 'forward' }
  return { stage: 'FETCH', filter, inputStage: indexStage(plan) }
}

function indexStage(plan: Plan): Stage {
  if (plan.kind === 'scan') throw new RangeError('a collection is scanned without an index')
  if (plan.kind === 'union') return { stage: 'OR', inputStages: plan.plans.map(indexStage) }
  const { index, reverse } = plan
  return {
    stage: 'IXSCAN',
    keyPattern: index.key,
    indexName: index.name,
    isMultiKey: index.multikey,
    isUnique: index.unique,
    isSparse: index.sparse,
    isPartial: index.partial !== undefined,
    direction: reverse ? 'backward' : 'forward',
  }
}

export const explainCommands: Commands = { explain }

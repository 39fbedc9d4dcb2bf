/**
 * Query plans of a real server for the lists of the entity API. The embedded server has its own
 * tests of plans (packages/embedded-mongo/test/plan.test.ts).
 */
import { describe, expect, it } from 'vitest'
import { filterOf, sortOf } from '../../src/entities/actions/get.ts'
import { DEFINITIONS } from '../../src/entities/definitions/collections.ts'
import type { ReadRequest } from '../../src/entities/requests/entity-request.ts'
import { useStore } from '../support/catalog/store.ts'

const isReal = process.env['TEST_MONGO_URL'] !== undefined
const store = useStore()

function requestOf(collection: string, filter: object, sort: Record<string, 1 | -1>): ReadRequest {
  const definition = DEFINITIONS.get(collection)
  if (definition === undefined) throw new Error(`there is no ${collection}`)
  const page = { page: 0, size: 50, project: null, states: [0, 1] }
  return { definition, filter: { ...filter }, sort, ...page }
}

/** Names of all stages of a plan. */
function stagesOf(plan: unknown): string[] {
  if (typeof plan !== 'object' || plan === null) return []
  const { stage, inputStage, inputStages, queryPlan } = plan as Record<string, unknown>
  const inner = [inputStage, queryPlan, ...(Array.isArray(inputStages) ? inputStages : [])]
  return [...(typeof stage === 'string' ? [stage] : []), ...inner.flatMap(stagesOf)]
}

describe.skipIf(!isReal)('the query plan of a real server (TEST_MONGO_URL)', () => {
  it.each([
    ['subscribers', { sid: 18 }, {}],
    ['subscribers', { msisdn: '447700900001' }, {}],
    ['subscribers', {}, { sid: 1 }],
    ['subscribers', {}, { sid: -1 }],
    ['subscribers', { aid: 17 }, {}],
    ['plans', {}, { name: 1 }],
    ['rates', {}, { key: 1 }],
    ['services', { name: 'TV' }, {}],
  ] as const)('of %s %j by %j reads an index without a sort stage', async (name, filter, sort) => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const request = requestOf(name, filter, sort)
    const collection = catalog.unguarded[request.definition.store as 'plans']
    const explained = await collection
      .find(filterOf(request) as object)
      .sort(sortOf(request))
      .limit(51)
      .explain('queryPlanner')
    const stages = stagesOf((explained as Record<string, never>)['queryPlanner']?.['winningPlan'])
    expect(stages).toContain('IXSCAN')
    expect(stages).not.toContain('COLLSCAN')
    if (Object.keys(sort).length > 0) expect(stages).not.toContain('SORT')
  })
})

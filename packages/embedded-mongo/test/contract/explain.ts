import type { Db, Document } from 'mongodb'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Any } from './collection.ts'

/** The stages of a plan, from the result to the reads. */
function stagesOf(plan: Document): string[] {
  const { stage, inputStage, inputStages = [] } = plan
  const inputs = inputStage === undefined ? inputStages : [inputStage]
  return [stage, ...inputs.flatMap(stagesOf)]
}

export function explainContract(db: () => Db): void {
  describe('explain', () => {
    const [name, COUNT] = ['explained', 40] as const

    beforeAll(async () => {
      const documents = Array.from({ length: COUNT }, (_, n) => ({ aid: n % 4, paid: n % 2, n }))
      await db().collection<Any>(name).insertMany(documents)
      await db().collection(name).createIndex({ aid: 1, n: 1 })
    })

    const explain = (filter: object, options: object = {}, verbosity = 'executionStats') =>
      db().collection(name).find(filter, options).explain(verbosity)

    it('a filter on an index reads the documents that the index finds', async () => {
      const { queryPlanner, executionStats } = await explain({ aid: 3, paid: 1 })
      const { winningPlan, namespace } = queryPlanner
      expect(namespace).toBe(`${db().databaseName}.${name}`)
      expect(stagesOf(winningPlan)).toEqual(['FETCH', 'IXSCAN'])
      expect(winningPlan.inputStage).toMatchObject({
        keyPattern: { aid: 1, n: 1 },
        indexName: 'aid_1_n_1',
        direction: 'forward',
        ...{ isMultiKey: false, isUnique: false },
      })
      expect(executionStats).toMatchObject({
        executionSuccess: true,
        nReturned: 10,
        totalKeysExamined: 10,
        totalDocsExamined: 10,
      })
    })

    it('a filter without an index reads all documents', async () => {
      const { queryPlanner, executionStats } = await explain({ paid: 1 })
      expect(stagesOf(queryPlanner.winningPlan)).toEqual(['COLLSCAN'])
      expect(executionStats).toMatchObject({
        nReturned: 20,
        totalKeysExamined: 0,
        totalDocsExamined: COUNT,
      })
    })

    it('the order of an index needs no sort, another one does; a limit stops reading', async () => {
      const byIndex = await explain({ aid: 3 }, { sort: { n: -1 }, limit: 2 })
      const { winningPlan } = byIndex['queryPlanner']
      expect(stagesOf(winningPlan)).toEqual(expect.arrayContaining(['LIMIT', 'FETCH', 'IXSCAN']))
      expect(stagesOf(winningPlan)).not.toContain('SORT')
      expect(byIndex['executionStats']).toMatchObject({ nReturned: 2, totalDocsExamined: 2 })
      const other = await explain({ aid: 3 }, { sort: { paid: 1 } })
      expect(stagesOf(other['queryPlanner'].winningPlan)).toContain('SORT')
    })

    it('the planner alone executes nothing', async () => {
      const found = await explain({ aid: 3 }, {}, 'queryPlanner')
      expect(found['executionStats']).toBeUndefined()
      expect(stagesOf(found['queryPlanner'].winningPlan)).toContain('IXSCAN')
    })

    it('a collection that does not exist has nothing to read', async () => {
      const found = await db().collection('absent').find({ a: 1 }).explain('queryPlanner')
      expect(stagesOf(found['queryPlanner'].winningPlan)).toEqual(['EOF'])
    })

    it('refuses an unknown verbosity', async () => {
      const find = { find: name, filter: {} }
      const refused = db().command({ explain: find, verbosity: 'everything' })
      await expect(refused).rejects.toMatchObject({ code: 2 })
    })
  })
}

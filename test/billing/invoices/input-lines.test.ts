import { MongoNetworkError } from 'mongodb'
import { expect, it, vi } from 'vitest'
import { lineReader } from '../../../src/billing/invoices/input-lines.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { NO_PATIENCE } from '../../../src/catalog/patience.ts'
import { repeatingReads } from '../../../src/catalog/repeating-reads.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const COUNT = 2_500

/** Fails at the second batch; as one of the driver, it then has no further results. */
function failingCursor<C extends { hasNext(): Promise<boolean> }>(cursor: C): C {
  const next = cursor.hasNext.bind(cursor)
  let calls = 0
  const hasNext = async () => {
    calls += 1
    if (calls === 2) throw new MongoNetworkError('connection closed')
    return calls < 2 && (await next())
  }
  return Object.assign(cursor, { hasNext })
}

it('lines of a run are read in batches, each with a time limit of its own', async () => {
  const catalog = await store.open()
  const lines = Array.from({ length: COUNT }, (_, at) => ({ aid: 17, stamp: `s${at}`, usagev: at }))
  await catalog.lines.insertMany(lines as never[])
  const batches = vi.spyOn(catalog, 'readBatches')
  const run = vi.spyOn(catalog, 'run')
  const found = await lineReader(catalog).lines({ aid: 17 }, { stamp: 1 })
  expect(new Set(found.map(({ stamp }) => stamp)).size).toBe(COUNT)
  expect(batches.mock.calls).toHaveLength(1)
  run.mockClear()
  const inTransaction = await catalog.transaction('test', (session) =>
    lineReader(catalog, session).lines({ aid: 17 }, { stamp: 1 }),
  )
  expect(inTransaction).toHaveLength(COUNT)
  const reads = run.mock.calls.filter(([what]) => what === 'read the lines of a page')
  expect(reads.length).toBeGreaterThan(2)
})

it('an outage between the batches is not taken for the end of the lines', async () => {
  const catalog = await store.open()
  const lines = Array.from({ length: COUNT }, (_, at) => ({ aid: 18, stamp: `t${at}`, usagev: at }))
  await catalog.lines.insertMany(lines as never[])
  const find = (filter: object, options: object) =>
    failingCursor(catalog.unguarded.lines.find(filter, options))
  const unguarded = { ...catalog.unguarded, lines: { find } } as never
  const patience = { ...NO_PATIENCE, forMs: 60_000, pauseMs: 1 }
  const repeating = repeatingReads({ ...catalog, unguarded }, patience)
  await expect(lineReader(repeating).lines({ aid: 18 }, { stamp: 1 })).rejects.toThrow(
    CatalogUnavailableError,
  )
})

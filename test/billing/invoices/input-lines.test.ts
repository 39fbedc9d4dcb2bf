import { expect, it, vi } from 'vitest'
import { lineReader } from '../../../src/billing/invoices/input-lines.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const COUNT = 2_500

it('lines of a run are read in batches, each with a time limit of its own', async () => {
  const catalog = await store.open()
  const lines = Array.from({ length: COUNT }, (_, at) => ({ aid: 17, stamp: `s${at}`, usagev: at }))
  await catalog.lines.insertMany(lines as never[])
  const read = vi.spyOn(catalog, 'read')
  const run = vi.spyOn(catalog, 'run')
  const found = await lineReader(catalog).lines({ aid: 17 }, { stamp: 1 })
  expect(new Set(found.map(({ stamp }) => stamp)).size).toBe(COUNT)
  expect(read.mock.calls.length).toBeGreaterThan(2)
  run.mockClear()
  const inTransaction = await catalog.transaction('test', (session) =>
    lineReader(catalog, session).lines({ aid: 17 }, { stamp: 1 }),
  )
  expect(inTransaction).toHaveLength(COUNT)
  const reads = run.mock.calls.filter(([what]) => what === 'read the lines of a page')
  expect(reads.length).toBeGreaterThan(2)
})

import { expect, it, vi } from 'vitest'
import { loadInvoiceSource } from '../../../src/billing/documents/load-invoice.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { BillrunDocument } from '../../../src/catalog/records/money/bill.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const COUNT = 2_500

/** The catalogue, the number of documents of each batch that it has read, and its cursor. */
function watched(catalog: Catalog) {
  const sizes: number[] = []
  const find = vi.spyOn(catalog.unguarded.lines, 'find')
  const readBatches: Catalog['readBatches'] = async function* (...read) {
    for await (const batch of catalog.readBatches(...read)) {
      sizes.push(batch.length)
      yield batch
    }
  }
  return { catalog: { ...catalog, readBatches }, sizes, find }
}

it('lines are read in batches, each with a time limit of its own', async () => {
  const { catalog, sizes, find } = watched(await store.open())
  const key = { aid: 17, billrun: '202605' }
  const lines = Array.from({ length: COUNT }, (_, index) => {
    return { ...key, sid: 7, type: 'flat', name: `P${index}`, aprice: 0.01, stamp: `s${index}` }
  })
  await catalog.lines.insertMany(lines as never[])
  const totals = { before_vat: 25, after_vat_rounded: 25 }
  const document = { aid: 17, billrun_key: '202605', invoice_id: 101, totals, billed: 0 }
  const invoice = document as unknown as BillrunDocument
  const source = await loadInvoiceSource(catalog, loadConfig({ env: {} }), invoice)
  expect(source.lines).toHaveLength(COUNT)
  expect(new Set(source.lines.map(({ name }) => name)).size).toBe(COUNT)
  expect(sizes.length).toBeGreaterThan(2)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
  // It is a limit of all batches together.
  expect(find.mock.calls[0]?.[1]).not.toHaveProperty('maxTimeMS')
})

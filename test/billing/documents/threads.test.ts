/** Starts a thread: it shows that the event loop stays free. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createDocuments, type Documents } from '../../../src/billing/documents/documents.ts'
import { EInvoiceError } from '../../../src/billing/documents/errors.ts'
import { documentThreads } from '../../../src/billing/documents/threads.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { BillrunDocument } from '../../../src/catalog/entities/bill.ts'
import { ReadCancelledError } from '../../../src/catalog/errors.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import { bytesOf, inlineDocuments } from '../../support/billing/invoices.ts'
import { bundled } from '../../support/bundle.ts'
import { useStore } from '../../support/catalog/store.ts'
import { useOpened } from '../../support/opened.ts'

const ENTRY = fileURLToPath(await bundled('src/billing/documents/thread.ts'))
const DATABASE = 'document_threads'
const COUNT = 1_500

const store = useStore()
const config = (): Config => {
  const env = { TOLLGATE_MONGO_URL: store.url(), TOLLGATE_MONGO_DATABASE: DATABASE }
  return loadConfig({ env })
}
const clock = { nowMs: () => Date.parse('2026-06-01T00:00:00Z') }
const threads = useOpened(() => documentThreads(config(), clock, ENTRY))

async function stored(catalog: Catalog): Promise<BillrunDocument> {
  const key = { aid: 17, billrun: '202605' }
  const lines = Array.from({ length: COUNT }, (_, index) => {
    return { ...key, sid: 7, type: 'flat', name: `P${index}`, aprice: 0.01, stamp: `s${index}` }
  })
  await catalog.lines.insertMany(lines as never[])
  const totals = { before_vat: COUNT / 100, after_vat_rounded: COUNT / 100 }
  const invoice = { aid: 17, billrun_key: '202605', invoice_id: 101, totals }
  await catalog.billrun.insertOne(invoice as never)
  return invoice as unknown as BillrunDocument
}

/** The document, and the turns of the event loop until it was made. */
async function made(
  documents: Documents,
  invoice: BillrunDocument,
): Promise<{ bytes: Buffer; turns: number }> {
  let turns = 0
  let isMade = false
  const turn = () => {
    turns += 1
    if (!isMade) setImmediate(turn)
  }
  turn()
  const file = await documents.documentOf(invoice, 'html').finally(() => {
    isMade = true
  })
  return { bytes: await bytesOf(file), turns }
}

describe('a document of thousands of lines', () => {
  it('is made in a thread, while the event loop is free', async () => {
    const catalog = await store.open(store.url(), DATABASE)
    const invoice = await stored(catalog)
    const documents = createDocuments(config().invoices, threads().make)
    await expect(documents.documentOf(invoice, 'ubl')).rejects.toThrow(EInvoiceError)
    const gone = AbortSignal.abort()
    await expect(documents.documentOf(invoice, 'pdf', gone)).rejects.toThrow(ReadCancelledError)
    const own = await made(inlineDocuments({ catalog, config: config() }), invoice)
    const threaded = await made(documents, invoice)
    expect(threaded.bytes.equals(own.bytes)).toBe(true)
    expect(threaded.bytes.toString().match(/<tr>/g)?.length).toBeGreaterThan(COUNT)
    // In this thread the event loop turns only while lines are read.
    expect(threaded.turns).toBeGreaterThan(own.turns)
  })
})

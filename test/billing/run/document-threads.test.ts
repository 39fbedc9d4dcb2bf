/** Starts threads: the event loop stays free, and small documents pass large ones. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { calendarOf } from '../../../src/billing/credit/credits.ts'
import { runCycleOf } from '../../../src/billing/cycle/run-cycle.ts'
import { createDocuments, type Documents } from '../../../src/billing/documents/documents.ts'
import { EInvoiceError, NothingToInvoiceError } from '../../../src/billing/documents/errors.ts'
import { documentThreads } from '../../../src/billing/run/document-threads.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { ReadCancelledError } from '../../../src/catalog/errors.ts'
import type { BillrunDocument } from '../../../src/catalog/records/money/bill.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import { bytesOf, inlineDocuments } from '../../support/billing/invoices.ts'
import { bundled } from '../../support/bundle.ts'
import { useStore } from '../../support/catalog/store.ts'
import { useFolderEach, useMadeEach, useOpenedEach } from '../../support/opened.ts'

const ENTRY = fileURLToPath(await bundled('src/billing/run/document-thread.ts'))
const DATABASE = 'document_threads'
const COUNT = 1_500

const store = useStore()
const config = (): Config => {
  const env = { TOLLGATE_MONGO_URL: store.url(), TOLLGATE_MONGO_DATABASE: DATABASE }
  return loadConfig({ env })
}
const clock = { nowMs: () => Date.parse('2026-06-01T00:00:00Z') }
const catalogs = useMadeEach(() => store.open(store.url(), DATABASE))
const threads = useOpenedEach(() =>
  documentThreads({ catalog: catalogs(), config: config(), clock }, ENTRY),
)

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
    const catalog = catalogs()
    const invoice = await stored(catalog)
    const documents = createDocuments(config().invoices, threads().make)
    await expect(documents.documentOf(invoice, 'ubl')).rejects.toThrow(EInvoiceError)
    const gone = AbortSignal.abort()
    await expect(documents.documentOf(invoice, 'pdf', gone)).rejects.toThrow(ReadCancelledError)
    const cycle = runCycleOf({ key: '202606', invoicingDay: null }, calendarOf(config()))
    const given = { ignoresLines: false, account: null, subscribers: null, nowMs: clock.nowMs() }
    const nothing = documents.expectedOf({ aid: 99, cycle, ...given }, 'pdf')
    await expect(nothing).rejects.toThrow(NothingToInvoiceError)
    const own = await made(inlineDocuments({ catalog, config: config() }), invoice)
    const threaded = await made(documents, invoice)
    expect(threaded.bytes.equals(own.bytes)).toBe(true)
    expect(threaded.bytes.toString().match(/<tr>/g)?.length).toBeGreaterThan(COUNT)
    // In this thread the event loop turns only while lines are read.
    expect(threaded.turns).toBeGreaterThan(own.turns)
  })
})

/** Stands in for a thread: a document is made when its file exists. */
const WAITING = `
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export async function makeInThread({ path }) {
  while (!existsSync(path)) await setTimeout(5)
  return { expected: null }
}`

describe('large documents', () => {
  const folder = useFolderEach()
  const queue = () => {
    const entry = join(folder(), 'thread.mjs')
    writeFileSync(entry, WAITING)
    const catalog = {
      // The account has as many lines as its number says.
      lines: { countDocuments: async ({ aid }: { aid: number }) => aid },
    }
    const waiting = documentThreads({ catalog: catalog as never, config: config(), clock }, entry)
    const ended: string[] = []
    const make = async (name: string, aid: number, signal?: AbortSignal) => {
      const invoice = { aid, billrunKey: '202605', invoiceId: 1 }
      await waiting.make({ invoice }, 'pdf', join(folder(), name), signal)
      ended.push(name)
    }
    const release = (...names: string[]) => {
      for (const name of names) writeFileSync(join(folder(), name), '')
    }
    return { waiting, ended, make, release }
  }

  it('leave a thread for small ones, which pass them', async () => {
    const { waiting, ended, make, release } = queue()
    const large = ['large 1', 'large 2'].map((name) => make(name, 2_001))
    const cancelled = new AbortController()
    const gone = make('large 3', 2_001, cancelled.signal)
    cancelled.abort()
    await expect(gone).rejects.toThrow(ReadCancelledError)
    release('small 1', 'small 2')
    await make('small 1', 1)
    await make('small 2', 2_000)
    expect(ended).toEqual(['small 1', 'small 2'])
    release('large 1', 'large 2')
    await Promise.all(large)
    expect(ended).toEqual(['small 1', 'small 2', 'large 1', 'large 2'])
    await waiting.close()
  })
})

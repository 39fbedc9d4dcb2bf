import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createDocuments,
  DOCUMENT_FORMATS,
  type Documents,
} from '../../../src/billing/documents/documents.ts'
import { DocumentStoreError, EInvoiceError } from '../../../src/billing/documents/errors.ts'
import { jsonOf } from '../../../src/billing/documents/json.ts'
import { renderDocument, writeDocument } from '../../../src/billing/documents/make.ts'
import type { InvoiceSource } from '../../../src/billing/documents/source.ts'
import { createFolderStore } from '../../../src/billing/documents/store.ts'
import { viewOf } from '../../../src/billing/documents/view.ts'
import { ReadCancelledError } from '../../../src/catalog/errors.ts'
import type { BillrunDocument } from '../../../src/catalog/records/money/bill.ts'
import {
  bytesOf,
  dueOf,
  invoice,
  line,
  rendered,
  settings,
} from '../../support/billing/invoices.ts'
import { useFolderEach } from '../../support/opened.ts'

const folder = useFolderEach()

const SOURCE = invoice('119', [line('100')])
/** As it is stored. */
const STORED = {
  aid: 17,
  billrun_key: '202405',
  invoice_id: 101,
  totals: { after_vat_rounded: 119 },
} as unknown as BillrunDocument
const CONFIRMED: BillrunDocument = { ...STORED, billed: 1 }

function documents(source: InvoiceSource = SOURCE, inFolder = folder()): Documents {
  return createDocuments({ folder: inFolder }, async (_subject, format, path) => {
    await writeDocument(source, format, '', path)
    return null
  })
}

async function files(): Promise<readonly string[]> {
  const entries = await readdir(folder(), { recursive: true, withFileTypes: true })
  const found = entries.filter((entry) => entry.isFile())
  return found.map((entry) => join(entry.parentPath, entry.name).slice(folder().length + 1)).sort()
}

describe('the document of an invoice', () => {
  it.each([
    ['pdf', 'application/pdf', 'invoice-101.pdf', '%PDF-1.7'],
    ['html', 'text/html; charset=utf-8', 'invoice-101.html', '<!doctype html>'],
    ['json', 'application/json; charset=utf-8', 'invoice-101.json', '{'],
    ['ubl', 'application/xml', 'invoice-101.xml', '<?xml version="1.0"'],
  ] as const)('as %s has media type and file name', async (format, mediaType, fileName, start) => {
    const document = await documents().documentOf(STORED, format)
    expect(document).toMatchObject({ mediaType, fileName })
    expect((await bytesOf(document)).toString('latin1').startsWith(start)).toBe(true)
  })

  it('has the name of a credit note', async () => {
    const source = { ...invoice('-119', [line('-100')]), kind: 'credit_note' } as const
    const more = { totals: { after_vat_rounded: -119 }, adjusts: [{ invoice_id: 99 }] }
    const file = await documents(source).documentOf({ ...STORED, ...more }, 'json')
    expect(file.fileName).toBe('credit-note-101.json')
    expect(JSON.parse(String(await bytesOf(file)))).toMatchObject({ due_date: null })
  })

  it('as JSON has amounts as decimal texts', async () => {
    const lines = [line('45.161290', { taxes: [] }), line('0.005')]
    const bytes = await rendered(invoice('45.17', lines), 'json')
    expect(JSON.parse(bytes.toString())).toMatchObject({
      type: 'invoice',
      invoice_id: 101,
      currency: 'EUR',
      invoice_date: '2024-05-01',
      period: { from: '2024-04-01', to: '2024-04-30' },
      lines: [
        { amount: '45.16', exact_amount: '45.16129', tax_group: 'E 0' },
        { amount: '0.01', exact_amount: '0.005', tax_group: 'S 0.19' },
      ],
      taxes: [
        { id: 'E 0', base: '45.16', tax: '0.00', taxes: [], vat: { category: 'E' } },
        { id: 'S 0.19', taxes: [{ description: 'VAT', rate: '0.19', amount: '0.00' }] },
      ],
      totals: { before_tax: '45.17', tax: '0.00', rounding: '0.00', payable: '45.17' },
    })
  })
})

describe('a document of many lines', () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => line(`${at % 7}.0${at % 9}5`))
  const source = invoice(dueOf(lines), lines)

  it('is written piece by piece, with the same bytes as in one piece', async () => {
    const path = join(folder(), 'document')
    await writeFile(path, '')
    await writeDocument(source, 'json', '', path)
    const whole = `${JSON.stringify(jsonOf(viewOf(source)), null, 2)}\n`
    expect((await readFile(path, 'utf8')) === whole).toBe(true)
    const sizes: number[] = []
    await renderDocument(source, 'ubl', '', { write: ({ length }) => void sizes.push(length) })
    expect(sizes.length).toBeGreaterThan(lines.length)
    expect(Math.max(...sizes)).toBeLessThan(2_000)
  })
})

describe('files of documents', () => {
  it('are kept for a confirmed invoice only, and returned unchanged', async () => {
    const bytes = async (invoice: BillrunDocument, source = SOURCE) =>
      bytesOf(await documents(source).documentOf(invoice, 'html'))
    await bytes(STORED)
    expect(await files()).toEqual([])
    const first = await bytes(CONFIRMED)
    expect(await files()).toEqual(['202405/017/17-101.html'])
    const german = { ...SOURCE, language: 'de' }
    expect(await bytes(CONFIRMED, german)).toEqual(first)
    expect(await bytes(STORED, german)).not.toEqual(first)
  })

  it('are written at confirmation in the formats that are asked for', async () => {
    expect(await documents().writeConfirmed(CONFIRMED, [])).toEqual(new Map())
    expect(await files()).toEqual([])
    expect(await documents().writeConfirmed(CONFIRMED, DOCUMENT_FORMATS)).toEqual(new Map())
    expect(await files()).toEqual([
      '202405/017/17-101.html',
      '202405/017/17-101.json',
      '202405/017/17-101.pdf',
      '202405/017/17-101.xml',
    ])
  })

  it('that the invoice lacks data for are named, and the others written', async () => {
    const both = documents({ ...SOURCE, settings: settings({ seller: {} }) })
    const refused = await both.writeConfirmed(CONFIRMED, ['ubl', 'json'])
    expect([...refused.keys()]).toEqual(['ubl'])
    expect(refused.get('ubl')).toContain('invoices.seller.name')
    expect(await files()).toEqual(['202405/017/17-101.json'])
    await expect(both.documentOf(CONFIRMED, 'ubl')).rejects.toThrow(EInvoiceError)
  })

  it('are not needed for JSON', async () => {
    const file = await documents(SOURCE, '').documentOf(CONFIRMED, 'json')
    expect((await bytesOf(file)).length).toBeGreaterThan(100)
  })

  it.each([
    { billrunKey: '../../x' },
    { billrunKey: '202405/..' },
    { billrunKey: '' },
    { extension: '../a' },
    { extension: 'p.df' },
    { aid: -1 },
    { aid: 1.5 },
    { invoiceId: Number.NaN },
  ])('have no other names than digits: %j', async (changes) => {
    const name = { aid: 17, billrunKey: '202405', invoiceId: 101, extension: 'pdf', ...changes }
    const store = createFolderStore(folder())
    await expect(store.write(name, (path) => writeFile(path, 'x'))).rejects.toThrow(
      DocumentStoreError,
    )
    await expect(store.open(name)).rejects.toThrow(DocumentStoreError)
    expect(await files()).toEqual([])
  })

  it('are written completely or not at all', async () => {
    const name = { aid: 17, billrunKey: '202405', invoiceId: 101, extension: 'pdf' }
    const store = createFolderStore(folder())
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000))
    await Promise.all(texts.map((text) => store.write(name, (path) => writeFile(path, text))))
    expect(await files()).toEqual(['202405/017/17-101.pdf'])
    const file = await store.open(name)
    expect(texts).toContain(await file?.readFile('utf8'))
    await file?.close()
  })

  it('leave nothing behind if a thread begins to write after it was given up', async () => {
    const name = { aid: 17, billrunKey: '202405', invoiceId: 101, extension: 'json' }
    let draft = ''
    const write = createFolderStore(folder()).write(name, async (path) => {
      draft = path
      throw new ReadCancelledError('cancelled')
    })
    await expect(write).rejects.toThrow(ReadCancelledError)
    await expect(writeDocument(SOURCE, 'json', '', draft)).rejects.toThrow(DocumentStoreError)
    expect(await files()).toEqual([])
  })

  it('that cannot be written are refused with the path', async () => {
    await writeFile(join(folder(), '202405'), 'a file')
    const refused = documents().documentOf(CONFIRMED, 'json')
    await expect(refused).rejects.toThrow(DocumentStoreError)
    await expect(refused).rejects.toThrow(
      /202405\/017\/17-101\.json cannot be (read|written): ENOTDIR/,
    )
  })
})

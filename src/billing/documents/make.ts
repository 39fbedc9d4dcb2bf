/** Makes documents in this thread, which they occupy: large ones for minutes. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import type { Catalog } from '../../catalog/connection.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { Config } from '../../config/schema.ts'
import { BillingError } from '../errors.ts'
import type { DocumentFormat, InvoiceName, MakeDocument } from './documents.ts'
import { DocumentStoreError } from './errors.ts'
import type { Expectation } from './expectation.ts'
import { jsonPieces } from './json.ts'
import { loadInvoiceSource } from './load-invoice.ts'
import { logoOf } from './logo.ts'
import { type DocumentOutput, FileOutput } from './output.ts'
import { presentationOf } from './presentation.ts'
import type { InvoiceSource } from './source.ts'
import { languageOf } from './texts.ts'
import { ublPieces } from './ubl/invoice.ts'
import { viewOf } from './view.ts'

export interface MakerDeps {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'rating' | 'invoices'>
  /** Computes an expected invoice; absent where none is asked for. */
  readonly expect?: (expectation: Expectation) => Promise<ExpectedSource>
}

/** An expected invoice, and what its document is made of. */
export interface ExpectedSource {
  readonly invoice: InvoiceDocument
  readonly source: InvoiceSource
}

export function documentMaker({ catalog, config, expect }: MakerDeps): MakeDocument {
  return async (subject, format, path) => {
    const write = (source: InvoiceSource) =>
      writeDocument(source, format, config.invoices.templates, path)
    if ('invoice' in subject) {
      const stored = await findInvoice(catalog, subject.invoice)
      await write(await loadInvoiceSource(catalog, config, stored))
      return null
    }
    const expected = await expect?.(subject.expected)
    if (expected === undefined) throw new RangeError('this thread computes no expected invoices')
    await write(expected.source)
    return expected.invoice
  }
}

async function findInvoice(catalog: Catalog, { aid, billrunKey, invoiceId }: InvoiceName) {
  const found = await catalog.billrun.findOne({
    aid,
    billrun_key: billrunKey,
    invoice_id: invoiceId,
  })
  if (found === null) throw new BillingError('Invoice not found', 'refused')
  return found
}

/** Into an empty file. Rejects with `TemplateError`, `EInvoiceError` or `DocumentStoreError`. */
export async function writeDocument(
  source: InvoiceSource,
  format: DocumentFormat,
  templates: string,
  path: string,
): Promise<void> {
  const fd = storing(path, () => openSync(path, 'r+'))
  try {
    const file = new FileOutput(fd)
    const output = { write: (piece: string | Uint8Array) => storing(path, () => file.write(piece)) }
    await renderDocument(source, format, templates, output)
    storing(path, () => {
      file.end()
      fsyncSync(fd)
    })
  } finally {
    closeSync(fd)
  }
}

function storing<T>(path: string, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const { message } = error as Error
    throw new DocumentStoreError(`${path} cannot be written: ${message}`, 'refused', {
      cause: error,
    })
  }
}

/** Rejects with `TemplateError` or `EInvoiceError`. */
export async function renderDocument(
  source: InvoiceSource,
  format: DocumentFormat,
  templates: string,
  output: DocumentOutput,
): Promise<void> {
  if (format === 'ubl' || format === 'json') {
    const pieces = format === 'ubl' ? ublPieces(source) : jsonPieces(viewOf(source))
    for (const piece of pieces) output.write(piece)
    return
  }
  const view = viewOf(source)
  const language = await languageOf([source.language, source.settings.language], templates)
  const presentation = presentationOf(view, language)
  // The libraries of both are loaded when they are first needed.
  if (format === 'html') {
    const { renderHtml } = await import('./html.ts')
    await renderHtml(templates, view, presentation, output)
    return
  }
  const { readFonts, writeInvoicePdf } = await import('./pdf/invoice.ts')
  const [fonts, logo] = await Promise.all([readFonts(templates), logoOf(templates)])
  await writeInvoicePdf(presentation, { fonts, logo, createdAt: source.invoiceDate }, output)
}

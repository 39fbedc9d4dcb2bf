/** Documents of invoices in all formats, as files: they may have any size. */
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type { Config } from '../../config/schema.ts'
import { isConfirmed } from '../invoices/stored-invoice.ts'
import { DocumentStoreError, EInvoiceError } from './errors.ts'
import { type Expectation, NO_NUMBER } from './expectation.ts'
import { kindOf } from './read-invoice.ts'
import type { InvoiceSource } from './source.ts'
import { createFolderStore, type DocumentName, temporaryFile } from './store.ts'

export const DOCUMENT_FORMATS = ['pdf', 'html', 'json', 'ubl'] as const
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number]

const FILES: Readonly<Record<DocumentFormat, readonly [mediaType: string, extension: string]>> = {
  pdf: ['application/pdf', 'pdf'],
  html: ['text/html; charset=utf-8', 'html'],
  json: ['application/json; charset=utf-8', 'json'],
  ubl: ['application/xml', 'xml'],
}

export interface DocumentFile {
  /** To be read or destroyed. */
  readonly bytes: Readable
  readonly mediaType: string
  /** Such as `invoice-101.pdf`. */
  readonly fileName: string
}

export type InvoiceName = Pick<InvoiceSource, 'aid' | 'billrunKey' | 'invoiceId'>

/** The invoice of a document: a stored one, or one that an account would get. */
export type DocumentSubject = { readonly invoice: InvoiceName } | { readonly expected: Expectation }

/**
 * Makes a document in the empty file of this path; `signal` cancels it. Resolves with the expected
 * invoice, null for a stored one. Rejects with `TemplateError`, `EInvoiceError`,
 * `NothingToInvoiceError` or another `BillingError`, `CustomerSystemError`, `ReadCancelledError` or
 * `CatalogUnavailableError`.
 */
export type MakeDocument = (
  subject: DocumentSubject,
  format: DocumentFormat,
  path: string,
  signal?: AbortSignal,
) => Promise<InvoiceDocument | null>

/** The file of an invoice that an account would get. */
export interface ExpectedFile {
  readonly path: string
  readonly invoice: InvoiceDocument
}

type Stored = BillrunDocument

export interface Documents {
  /**
   * The document of a stored invoice; that of a confirmed one is made once and then kept, if a
   * folder is configured. Rejects as `MakeDocument`, or with `DocumentStoreError`.
   */
  documentOf(invoice: Stored, format: DocumentFormat, signal?: AbortSignal): Promise<DocumentFile>
  expectedOf(
    expected: Expectation,
    format: DocumentFormat,
    signal?: AbortSignal,
  ): Promise<DocumentFile>
  /**
   * Writes the files of a newly confirmed invoice in these formats. Returns those that it lacks
   * data for, with the reason. Rejects as `documentOf` for other reasons.
   */
  writeConfirmed(
    invoice: Stored,
    formats: readonly DocumentFormat[],
  ): Promise<ReadonlyMap<DocumentFormat, string>>
  /** Writes the PDF of an invoice that may still change, and returns its path. */
  writeDraft(invoice: Stored): Promise<string>
  writeExpected(expected: Expectation): Promise<ExpectedFile>
  /** Removes the draft of an invoice that is confirmed. */
  removeDraft(invoice: InvoiceName): Promise<void>
  /** The path of the kept file of a confirmed invoice; empty without a folder. */
  pathOf(invoice: InvoiceName): string
}

export function createDocuments(
  { folder }: Pick<Config['invoices'], 'folder'>,
  make: MakeDocument,
): Documents {
  const store = folder === '' ? null : createFolderStore(folder)
  const made = (subject: DocumentSubject, format: DocumentFormat, signal?: AbortSignal) =>
    temporaryFile((path) => make(subject, format, path, signal))
  /** The kept file, which is made if it does not exist. */
  const kept = async (
    invoice: InvoiceName,
    format: DocumentFormat,
    signal?: AbortSignal,
  ): Promise<FileHandle> => {
    if (store === null) return made({ invoice }, format, signal)
    const name = { ...invoice, extension: FILES[format][1] }
    const found = await store.open(name)
    if (found !== null) return found
    await store.write(name, (path) => make({ invoice }, format, path, signal))
    return (await store.open(name)) ?? made({ invoice }, format, signal)
  }
  const writeDraft = async (invoice: InvoiceName, subject: DocumentSubject) => {
    if (store === null) throw new DocumentStoreError('invoices.folder is not configured', 'refused')
    const name = draftOf(invoice)
    const expected = await store.write(name, (path) => make(subject, 'pdf', path))
    return { path: store.pathOf(name), expected }
  }
  return {
    async documentOf(stored, format, signal) {
      const invoice = nameOf(stored)
      const file = isConfirmed(stored)
        ? await kept(invoice, format, signal)
        : await made({ invoice }, format, signal)
      const kind = kindOf(stored) === 'credit_note' ? 'credit-note' : 'invoice'
      return documentFile(file, format, `${kind}-${invoice.invoiceId}`)
    },
    async expectedOf(expected, format, signal) {
      const name = `expected-${expected.aid}-invoice-${NO_NUMBER}`
      return documentFile(await made({ expected }, format, signal), format, name)
    },
    async writeConfirmed(stored, formats) {
      const refused = new Map<DocumentFormat, string>()
      if (store === null) return refused
      for (const format of formats) {
        try {
          await (await kept(nameOf(stored), format)).close()
        } catch (error) {
          if (!(error instanceof EInvoiceError)) throw error
          refused.set(format, error.message)
        }
      }
      return refused
    },
    async writeDraft(stored) {
      const invoice = nameOf(stored)
      return (await writeDraft(invoice, { invoice })).path
    },
    async writeExpected(expected) {
      const { aid, cycle } = expected
      const name = { aid, billrunKey: cycle.key, invoiceId: NO_NUMBER }
      const { path, expected: invoice } = await writeDraft(name, { expected })
      if (invoice === null) throw new TypeError('the expected invoice is missing')
      return { path, invoice }
    },
    removeDraft: async (invoice) => store?.remove(draftOf(invoice)),
    pathOf: ({ aid, billrunKey, invoiceId }) =>
      store?.pathOf({ aid, billrunKey, invoiceId, extension: 'pdf' }) ?? '',
  }
}

/** The number is missing only while an invoice is being computed; no document is made then. */
function nameOf({ aid, billrun_key: billrunKey, invoice_id: invoiceId = -1 }: Stored): InvoiceName {
  return { aid, billrunKey, invoiceId }
}

function draftOf({ aid, billrunKey, invoiceId }: InvoiceName): DocumentName {
  return { aid, billrunKey, invoiceId, extension: 'pdf', isDraft: true }
}

function documentFile(file: FileHandle, format: DocumentFormat, name: string): DocumentFile {
  const [mediaType, extension] = FILES[format]
  const bytes = file.createReadStream({ start: 0 })
  return { bytes, mediaType, fileName: `${name}.${extension}` }
}

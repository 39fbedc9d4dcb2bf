/** Documents of invoices in all formats. */
import { DocumentStoreError, EInvoiceError } from './errors.ts'
import { jsonOf } from './json.ts'
import { logoOf } from './logo.ts'
import { presentationOf } from './presentation.ts'
import type { InvoiceSource } from './source.ts'
import { createFolderStore, type DocumentName, type DocumentStore } from './store.ts'
import { languageOf } from './texts.ts'
import { ublOf } from './ubl/invoice.ts'
import { viewOf } from './view.ts'

export const DOCUMENT_FORMATS = ['pdf', 'html', 'json', 'ubl'] as const
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number]

const FILES: Readonly<Record<DocumentFormat, readonly [mediaType: string, extension: string]>> = {
  pdf: ['application/pdf', 'pdf'],
  html: ['text/html; charset=utf-8', 'html'],
  json: ['application/json; charset=utf-8', 'json'],
  ubl: ['application/xml', 'xml'],
}

export interface DocumentFile {
  readonly bytes: Buffer
  readonly mediaType: string
  /** Such as `invoice-101.pdf`. */
  readonly fileName: string
}

/** Section `invoices` of the configuration. */
export interface DocumentsConfig {
  readonly folder: string
  readonly templates: string
  readonly files: 'on_demand' | 'at_confirmation'
  readonly formats: readonly DocumentFormat[]
}

export type InvoiceName = Pick<InvoiceSource, 'aid' | 'billrunKey' | 'invoiceId'>

export interface Documents {
  /**
   * The document of an invoice; that of a confirmed one is made once and then kept, if a folder is
   * configured. Throws `TemplateError`, `EInvoiceError` or `DocumentStoreError`.
   */
  documentOf(source: InvoiceSource, format: DocumentFormat): Promise<DocumentFile>
  /**
   * Writes the files of a newly confirmed invoice in these formats. Returns those that it lacks
   * data for, with the reason. Throws as `documentOf` for other reasons.
   */
  writeConfirmed(
    source: InvoiceSource,
    formats: readonly DocumentFormat[],
  ): Promise<ReadonlyMap<DocumentFormat, string>>
  /** Writes the PDF of an invoice that may still change, and returns its path. */
  writeDraft(source: InvoiceSource): Promise<string>
  /** Removes the draft of an invoice that is confirmed. */
  removeDraft(invoice: InvoiceName): Promise<void>
  /** The path of the kept file of a confirmed invoice; empty without a folder. */
  pathOf(invoice: InvoiceName): string
}

export function createDocuments(config: DocumentsConfig): Documents {
  const store = config.folder === '' ? null : createFolderStore(config.folder)
  const render = async (source: InvoiceSource, format: DocumentFormat): Promise<Buffer> => {
    if (format === 'ubl') return Buffer.from(ublOf(source))
    const view = viewOf(source)
    if (format === 'json') return Buffer.from(`${JSON.stringify(jsonOf(view), null, 2)}\n`)
    const { templates } = config
    const language = await languageOf([source.language, source.settings.language], templates)
    const presentation = presentationOf(view, language)
    // The libraries of both are loaded when they are first needed.
    if (format === 'html') {
      const { renderHtml } = await import('./html.ts')
      return Buffer.from(await renderHtml(templates, view, presentation))
    }
    const { invoicePdf, readFonts } = await import('./pdf/invoice.ts')
    const [fonts, logo] = await Promise.all([readFonts(templates), logoOf(templates)])
    return invoicePdf(presentation, { fonts, logo, createdAt: source.invoiceDate })
  }
  const documents: Documents = {
    async documentOf(source, format) {
      const [mediaType, extension] = FILES[format]
      const kind = source.kind === 'credit_note' ? 'credit-note' : 'invoice'
      const fileName = `${kind}-${source.invoiceId}.${extension}`
      const make = () => render(source, format)
      const bytes = source.isConfirmed ? await kept(store, source, extension, make) : await make()
      return { bytes, mediaType, fileName }
    },
    async writeConfirmed(source, formats) {
      const refused = new Map<DocumentFormat, string>()
      if (store === null) return refused
      for (const format of formats) {
        try {
          await documents.documentOf(source, format)
        } catch (error) {
          if (!(error instanceof EInvoiceError)) throw error
          refused.set(format, error.message)
        }
      }
      return refused
    },
    async writeDraft(source) {
      if (store === null) throw new DocumentStoreError('invoices.folder is not configured')
      await store.write(draftOf(source), await render(source, 'pdf'))
      return store.pathOf(draftOf(source))
    },
    removeDraft: async (invoice) => store?.remove(draftOf(invoice)),
    pathOf: ({ aid, billrunKey, invoiceId }) =>
      store?.pathOf({ aid, billrunKey, invoiceId, extension: 'pdf' }) ?? '',
  }
  return documents
}

function draftOf({ aid, billrunKey, invoiceId }: InvoiceName): DocumentName {
  return { aid, billrunKey, invoiceId, extension: 'pdf', isDraft: true }
}

async function kept(
  store: DocumentStore | null,
  { aid, billrunKey, invoiceId }: InvoiceSource,
  extension: string,
  make: () => Promise<Buffer>,
): Promise<Buffer> {
  if (store === null) return make()
  const name = { aid, billrunKey, invoiceId, extension }
  const found = await store.read(name)
  if (found !== null) return found
  const bytes = await make()
  await store.write(name, bytes)
  return bytes
}

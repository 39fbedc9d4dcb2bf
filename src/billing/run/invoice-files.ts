/** Files of invoices: drafts when they are computed, final ones when they are confirmed. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../runtime/log.ts'
import type { DocumentFormat, Documents } from '../documents/documents.ts'
import { UNCONFIRMED } from '../invoices/stored-invoice.ts'

export interface FileDeps {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'invoices'>
  readonly documents: Documents
  readonly log: Pick<Logger, 'warn'>
}

interface Confirmed {
  readonly aid: number
  readonly billrun_key: string
  readonly invoice_id: number
}

/**
 * Writes the files of confirmed invoices after their commit: in the formats of `invoices.formats`
 * if `invoices.files` is `at_confirmation`, and as PDF with `generatePdf`; none without a folder.
 * Never rejects: failures are logged by invoice, and the files are made when they are first
 * requested.
 */
export async function writeFiles(
  { catalog, config, documents, log }: FileDeps,
  invoices: readonly Confirmed[],
  generatePdf = false,
): Promise<void> {
  if (config.invoices.folder === '') return
  const formats = formatsOf(config.invoices, generatePdf)
  for (const { aid, billrun_key, invoice_id: invoice } of invoices) {
    try {
      await documents.removeDraft({ aid, billrunKey: billrun_key, invoiceId: invoice })
      if (formats.length === 0) continue
      const filter = { aid, billrun_key, invoice_id: invoice, billed: { $in: [1, 2] } }
      const found = await catalog.billrun.findOne(filter as Filter<BillrunDocument>)
      // Erased meanwhile.
      if (found === null) continue
      for (const [format, reason] of await documents.writeConfirmed(found, formats)) {
        log.warn({ invoice, format, reason }, 'the file of a confirmed invoice cannot be made')
      }
    } catch (error) {
      log.warn({ err: error, invoice }, 'the files of a confirmed invoice were not written')
    }
  }
}

function formatsOf(
  { files, formats }: Config['invoices'],
  generatePdf: boolean,
): readonly DocumentFormat[] {
  const own = files === 'at_confirmation' ? formats : []
  return generatePdf && !own.includes('pdf') ? ['pdf', ...own] : own
}

/**
 * Writes PDF drafts of the unconfirmed invoices of these accounts, if there is a folder for files.
 * Never rejects: failures are logged by invoice.
 */
export async function writeDrafts(
  { catalog, config, documents, log }: FileDeps,
  billrun_key: string,
  aids: readonly number[],
): Promise<void> {
  if (config.invoices.folder === '') return
  for (const aid of aids) {
    let invoice: number | undefined
    try {
      const filter = { aid, billrun_key, ...UNCONFIRMED } as Filter<BillrunDocument>
      const found = await catalog.billrun.findOne(filter)
      if (found === null) continue
      invoice = found.invoice_id
      await documents.writeDraft(found)
    } catch (error) {
      log.warn({ err: error, invoice }, 'the draft of an invoice was not written')
    }
  }
}

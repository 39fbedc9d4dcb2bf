/** Files of invoices that have just been confirmed. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/entities/bill.ts'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../runtime/log.ts'
import { createDocuments } from '../documents/documents.ts'
import { loadInvoiceSource } from '../documents/load-invoice.ts'

export interface FileDeps {
  readonly catalog: Catalog
  readonly config: Pick<Config, 'rating' | 'invoices'>
  readonly log: Pick<Logger, 'warn'>
}

interface Confirmed {
  readonly aid: number
  readonly billrun_key: string
  readonly invoice_id: number
}

/**
 * Writes the files of confirmed invoices after their commit, if `invoices.files` is
 * `at_confirmation`. Never rejects: failures are logged by invoice, and the files are made when
 * they are first requested.
 */
export async function writeFiles(
  { catalog, config, log }: FileDeps,
  invoices: readonly Confirmed[],
): Promise<void> {
  const { files, folder } = config.invoices
  if (files !== 'at_confirmation' || folder === '') return
  const documents = createDocuments(config.invoices)
  for (const { aid, billrun_key, invoice_id: invoice } of invoices) {
    try {
      const filter = { aid, billrun_key, invoice_id: invoice, billed: { $in: [1, 2] } }
      const found = await catalog.run('read a confirmed invoice', () =>
        catalog.billrun.findOne(filter as Filter<BillrunDocument>),
      )
      // Erased meanwhile.
      if (found === null) continue
      const source = await loadInvoiceSource(catalog, config, found)
      for (const [format, reason] of await documents.writeConfirmed(source)) {
        log.warn({ invoice, format, reason }, 'the file of a confirmed invoice cannot be made')
      }
    } catch (error) {
      log.warn({ err: error, invoice }, 'the files of a confirmed invoice were not written')
    }
  }
}

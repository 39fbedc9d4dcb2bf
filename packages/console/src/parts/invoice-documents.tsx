/** The documents of an invoice as links: the browser saves the file. */
import { t } from '../words/words.ts'

const FORMATS = ['pdf', 'html', 'json'] as const

interface Numbered {
  readonly aid: string
  readonly iid: string
}

interface Offered extends Numbered {
  /** Why no e-invoice can be made; null if one can. It is offered only where that is known. */
  readonly eInvoiceRefused?: string | null | undefined
}

export function InvoiceDocuments({ aid, iid, eInvoiceRefused }: Offered) {
  const invoice = { aid, iid }
  const formats = eInvoiceRefused === null ? ([...FORMATS, 'ubl'] as const) : FORMATS
  return (
    <span class="documents">
      {formats.map((format) => (
        <a
          key={format}
          href={documentAddress(invoice, { format })}
          aria-label={t('invoice.documentOf', { iid: invoice.iid, format: format.toUpperCase() })}
        >
          {format.toUpperCase()}
        </a>
      ))}
      {eInvoiceRefused && <span class="muted">UBL: {eInvoiceRefused}</span>}
    </span>
  )
}

export function documentAddress(
  { aid, iid }: Numbered,
  more: Readonly<Record<string, string>>,
): string {
  return `api/accountinvoices?${new URLSearchParams({ action: 'download', aid, iid, ...more })}`
}

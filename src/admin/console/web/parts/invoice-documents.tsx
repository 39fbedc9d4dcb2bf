/** The documents of an invoice as links: the browser saves the file. */
import { t } from '../words/words.ts'

const FORMATS = ['pdf', 'html', 'json', 'ubl'] as const

interface Numbered {
  readonly aid: string
  readonly iid: string
}

export function InvoiceDocuments(invoice: Numbered) {
  return (
    <span class="documents">
      {FORMATS.map((format) => (
        <a
          key={format}
          href={documentAddress(invoice, { format })}
          aria-label={t('invoice.documentOf', { iid: invoice.iid, format: format.toUpperCase() })}
        >
          {format.toUpperCase()}
        </a>
      ))}
    </span>
  )
}

export function documentAddress(
  { aid, iid }: Numbered,
  more: Readonly<Record<string, string>>,
): string {
  return `api/accountinvoices?${new URLSearchParams({ action: 'download', aid, iid, ...more })}`
}

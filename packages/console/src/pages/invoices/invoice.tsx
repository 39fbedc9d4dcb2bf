/** One invoice: its data, and its PDF beside them where there is room. */
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { link } from '../../frame/routes.ts'
import { moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { type Fact, Facts } from '../../parts/facts.tsx'
import { documentAddress, InvoiceDocuments } from '../../parts/invoice-documents.tsx'
import { formatMoney, formatNumber, formatPercent, moneyHeader } from '../../parts/numbers.ts'
import { ReadView } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { type InvoiceLine, type Invoice as Read, readInvoice, type TaxGroup } from './data.ts'

interface InvoiceProps {
  readonly aid: string
  readonly iid: string
}

export function Invoice({ aid, iid }: InvoiceProps) {
  const reading = useRead(`invoice ${aid} ${iid}`, (signal) => readInvoice(aid, iid, signal))
  const pdf = documentAddress({ aid, iid }, { format: 'pdf', inline: '1' })
  // Without the small pictures of the pages in Chromium.
  const viewed = `${pdf}#navpanes=0&view=FitH`
  const { type, e_invoice_refused: refused } = reading.state.value.data ?? {}
  const isNote = type === 'credit_note'
  return (
    <section class="invoice stack" aria-labelledby="invoice">
      <header class="section-header">
        <h2 id="invoice">{t(isNote ? 'invoices.creditNote' : 'invoices.title', { iid })}</h2>
        <InvoiceDocuments aid={aid} iid={iid} eInvoiceRefused={refused} />
        <a href={link('payments', { aid })}>{t('invoices.payments')}</a>
      </header>
      <div class="beside">
        <div class="stack">
          <ReadView reading={reading} rows={12}>
            {(invoice) => <Data invoice={invoice} />}
          </ReadView>
          <a class="open-pdf" href={pdf}>
            {t('invoices.openPdf')}
          </a>
        </div>
        <iframe src={viewed} title={t('invoices.pdf', { iid })} loading="lazy" />
      </div>
    </section>
  )
}

const TOTALS = ['before_tax', 'tax', 'after_tax', 'rounding', 'payable'] as const

function Data({ invoice }: { readonly invoice: Read }) {
  const { buyer, period, totals, taxes, lines, adjusts } = invoice
  const { name, street, zip_code: zip, city, country } = buyer
  const facts: Fact[] = [
    { title: t('invoices.cycle'), value: invoice.billrun_key },
    { title: t('invoices.date'), value: invoice.invoice_date },
    { title: t('invoices.due'), value: invoice.due_date ?? '' },
    { title: t('invoices.period'), value: daysOf(period) },
    {
      title: t('invoices.buyer'),
      value: [name, street, `${zip} ${city}`.trim(), country].filter(Boolean).join(', '),
    },
    { title: t('invoices.adjusts'), value: adjusts.map((each) => each.invoice_id).join(', ') },
    ...TOTALS.map((each) => ({
      title: moneyHeader(t(`invoices.${each}`)),
      value: formatMoney(totals[each]),
      isNumber: true,
    })),
  ]
  return (
    <div class="stack">
      <Facts facts={facts} />
      <Table caption={t('invoices.lines')} hasCaption columns={lineColumns(taxes)} rows={lines} />
      {taxes.length > 0 && (
        <Table
          caption={t('invoices.taxes')}
          hasCaption
          columns={taxColumns()}
          rows={taxes.flatMap((group) => taxRows(group))}
          keyOf={({ key }) => key}
        />
      )}
    </div>
  )
}

const lineColumns = (taxes: readonly TaxGroup[]): Column<InvoiceLine>[] => [
  textColumn('invoices.subscriber', ({ sid }) => {
    return sid === 0 ? '–' : <a href={link(`customer/sid/${sid}`)}>{String(sid)}</a>
  }),
  textColumn('invoices.what', ({ description, name }) => description || name),
  textColumn('invoices.period', ({ period }) => daysOf(period)),
  numberColumn('invoices.quantity', ({ quantity, usage_type: type }) => {
    return `${formatNumber(quantity)} ${type ?? ''}`
  }),
  textColumn('invoices.tax', ({ tax_group: id }) => nameOfTaxes(taxes.find((of) => of.id === id))),
  moneyColumn('invoices.amount', ({ amount }) => formatMoney(amount)),
]

function daysOf(period: Read['period']): string {
  return period === null ? '' : t('invoices.days', { ...period })
}

function nameOfTaxes(group: TaxGroup | undefined): string {
  return group?.taxes.map(({ description }) => description).join(', ') || t('invoices.untaxed')
}

interface TaxRow {
  readonly key: string
  readonly description: string
  readonly rate: DecimalText | null
  readonly base: DecimalText
  readonly amount: DecimalText
}

function taxRows({ id, base, tax, taxes }: TaxGroup): readonly TaxRow[] {
  if (taxes.length === 0) {
    return [{ key: id, description: t('invoices.untaxed'), rate: null, base, amount: tax }]
  }
  return taxes.map((each) => ({ key: `${id} ${each.description}`, base, ...each }))
}

const taxColumns = (): Column<TaxRow>[] => [
  textColumn('invoices.tax', ({ description }) => description),
  numberColumn('invoices.rate', ({ rate }) => (rate === null ? '' : formatPercent(rate))),
  moneyColumn('invoices.base', ({ base }) => formatMoney(base)),
  moneyColumn('invoices.taxAmount', ({ amount }) => formatMoney(amount)),
]

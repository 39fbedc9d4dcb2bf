/** Invoices, payments and refunds of the account, what it owes, and its invoice documents. */
import { useRead } from '../../api/read.ts'
import type { Fields, Identified } from '../../api/records.ts'
import { link } from '../../frame/routes.ts'
import { moneyColumn, numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { InvoiceDocuments } from '../../parts/invoice-documents.tsx'
import { List, useList } from '../../parts/list.tsx'
import { isOwed, moneyIn, withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { isKey, t } from '../../words/words.ts'
import { readAccountBalance, readBills, readInvoices } from './data.ts'

export function Bills({ aid }: { readonly aid: number }) {
  const owed = useRead(`owed ${aid}`, (signal) => readAccountBalance(aid, signal))
  const bills = useList(`bills ${aid}`, (after, signal) => readBills(aid, after, signal))
  const invoices = useRead(`invoices ${aid}`, (signal) => readInvoices(aid, signal))
  return (
    <div class="bills">
      <ReadView reading={owed} rows={1}>
        {(balance) => (
          <p>
            {t('bills.owes')}{' '}
            <strong class="number">{withCurrency(moneyIn(balance, 'total'))}</strong>{' '}
            <a href={link('invoices', { aid: String(aid) })}>{t('page.invoices')}</a>{' '}
            <a href={link('payments', { aid: String(aid) })}>{t('page.payments')}</a>
          </p>
        )}
      </ReadView>
      <List
        reading={bills}
        empty={t('bills.none')}
        caption={t('records.bills')}
        hasCaption
        columns={billColumns()}
        keyOf={({ _id }) => _id.$id}
      />
      <List
        reading={invoices}
        empty={t('bills.noInvoices')}
        caption={t('bills.invoices')}
        hasCaption
        columns={invoiceColumns()}
        keyOf={(invoice) => `${textIn(invoice, 'billrun_key')} ${textIn(invoice, 'invoice_id')}`}
      />
    </div>
  )
}

const billColumns = (): Column<Fields & Identified>[] => [
  timeColumn('bills.time', (bill) => isoOf(bill['urt'])),
  textColumn('bills.kind', kindOf),
  textColumn('bills.number', (bill) => textIn(bill, 'invoice_id') || textIn(bill, 'txid')),
  textColumn('bills.cycle', (bill) => textIn(bill, 'billrun_key')),
  moneyColumn('bills.amount', (bill) => moneyIn(bill, 'amount')),
  // The unpaid part of an invoice, or the unused part of a payment.
  numberColumn('bills.left', (bill) => moneyIn(bill, 'left_to_pay') || moneyIn(bill, 'left')),
  textColumn('bills.due', dueOf),
]

const invoiceColumns = (): Column<Fields>[] => [
  textColumn('bills.number', (invoice) => textIn(invoice, 'invoice_id')),
  textColumn('bills.cycle', (invoice) => textIn(invoice, 'billrun_key')),
  textColumn('bills.document', (invoice) => <Documents invoice={invoice} />),
]

function kindOf(bill: Fields): string {
  const kind = textIn(bill, 'type')
  const key = `bills.${kind}`
  return isKey(key) ? t(key) : kind
}

/** A credit has no due date. */
function dueOf(bill: Fields) {
  const due = isoOf(bill['due_date'])
  return due !== '' && isOwed(textIn(bill, 'amount')) ? <Time value={due} /> : null
}

function Documents({ invoice }: { readonly invoice: Fields }) {
  const iid = textIn(invoice, 'invoice_id')
  if (iid === '') return <span class="muted">{t('bills.noDocument')}</span>
  return <InvoiceDocuments aid={textIn(invoice, 'aid')} iid={iid} />
}

/** Invoices, payments and refunds of the account, what it owes, and its invoice documents. */
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { link } from '../../frame/routes.ts'
import { textIn } from '../../parts/differences.ts'
import { InvoiceDocuments } from '../../parts/invoice-documents.tsx'
import { formatMoney, isOwed, moneyHeader, withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { Pager, pageKey, Table } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { readAccountBalance, readBills, readInvoices } from './data.ts'

const KINDS: Readonly<Record<string, 'bills.inv' | 'bills.rec' | 'bills.ref'>> = {
  inv: 'bills.inv',
  rec: 'bills.rec',
  ref: 'bills.ref',
}

export function Bills({ aid }: { readonly aid: number }) {
  const after = pageKey()
  const owed = useRead(`owed ${aid}`, (signal) => readAccountBalance(aid, signal))
  const bills = useRead(`bills ${aid} ${after}`, (signal) => readBills(aid, after, signal))
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
      <ReadView
        reading={bills}
        isEmpty={(page) => page.rows.length === 0 && after === null}
        empty={t('bills.none')}
      >
        {(page) => (
          <>
            <Table
              caption={t('records.bills')}
              hasCaption
              columns={BILL_COLUMNS()}
              rows={page.rows}
              keyOf={({ _id }) => _id.$id}
            />
            <Pager next={page.next} />
          </>
        )}
      </ReadView>
      <ReadView
        reading={invoices}
        isEmpty={(all) => all.length === 0}
        empty={t('bills.noInvoices')}
      >
        {(all) => (
          <Table
            caption={t('bills.invoices')}
            hasCaption
            columns={INVOICE_COLUMNS()}
            rows={all}
            keyOf={(invoice) =>
              `${textIn(invoice, 'billrun_key')} ${textIn(invoice, 'invoice_id')}`
            }
          />
        )}
      </ReadView>
    </div>
  )
}

const BILL_COLUMNS = () => [
  {
    title: timeHeader(t('bills.time')),
    cell: (bill: Fields) => <BillTime bill={bill} name="urt" />,
  },
  { title: t('bills.kind'), cell: kindOf },
  { title: t('bills.number'), cell: (bill: Fields) => numberOf(bill) },
  { title: t('bills.cycle'), cell: (bill: Fields) => textIn(bill, 'billrun_key') },
  {
    title: moneyHeader(t('bills.amount')),
    cell: (bill: Fields) => moneyIn(bill, 'amount'),
    isNumber: true,
  },
  { title: t('bills.left'), cell: (bill: Fields) => leftOf(bill), isNumber: true },
  { title: t('bills.due'), cell: dueOf },
]

const INVOICE_COLUMNS = () => [
  { title: t('bills.number'), cell: (invoice: Fields) => textIn(invoice, 'invoice_id') },
  { title: t('bills.cycle'), cell: (invoice: Fields) => textIn(invoice, 'billrun_key') },
  { title: t('bills.document'), cell: (invoice: Fields) => <Documents invoice={invoice} /> },
]

function kindOf(bill: Fields): string {
  const kind = textIn(bill, 'type')
  const key = KINDS[kind]
  return key === undefined ? kind : t(key)
}

function numberOf(bill: Fields): string {
  return textIn(bill, 'invoice_id') || textIn(bill, 'txid')
}

/** The unpaid part of an invoice, or the unused part of a payment. */
function leftOf(bill: Fields): string {
  return moneyIn(bill, 'left_to_pay') || moneyIn(bill, 'left')
}

/** A credit has no due date. */
function dueOf(bill: Fields) {
  return isOwed(textIn(bill, 'amount')) ? <BillTime bill={bill} name="due_date" /> : null
}

function moneyIn(document: Fields, name: string): string {
  const text = textIn(document, name)
  return text === '' ? '' : formatMoney(text as DecimalText)
}

function BillTime({ bill, name }: { readonly bill: Fields; readonly name: string }) {
  const value = isoOf(bill[name])
  return value === '' ? null : <Time value={value} />
}

function Documents({ invoice }: { readonly invoice: Fields }) {
  const iid = textIn(invoice, 'invoice_id')
  if (iid === '') return <span class="muted">{t('bills.noDocument')}</span>
  return <InvoiceDocuments aid={textIn(invoice, 'aid')} iid={iid} />
}

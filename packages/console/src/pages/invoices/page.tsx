/** Invoices of an account or a cycle, and one with its PDF. */
import './invoices.css'
import '../../parts/split.css'
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { link, linkHere, location, navigateHere } from '../../frame/routes.ts'
import { textIn } from '../../parts/differences.ts'
import { FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { formatMoney, isOwed, moneyHeader } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { type Column, Pager, pageKey, Table } from '../../parts/table.tsx'
import { formatTime } from '../../parts/time.tsx'
import { INVOICES } from '../../words/en/invoices.ts'
import { addWords, t } from '../../words/words.ts'
import { filterIn, readInvoices } from './data.ts'
import { Invoice } from './invoice.tsx'

addWords(INVOICES)

export default function Page() {
  const { query } = location.value
  const filter = filterIn(query)
  const after = pageKey()
  const reading = useRead(
    `invoices ${JSON.stringify(filter)} ${after}`,
    filter === null ? null : (signal) => readInvoices(filter, after, signal),
  )
  const visible = visibleIn(query)
  return (
    <>
      <h1 tabIndex={-1}>{t('page.invoices')}</h1>
      <FilterForm
        label={t('invoices.filter')}
        fields={[
          { name: 'aid', label: t('invoices.aid'), input: NUMBER_INPUT },
          { name: 'cycle', label: t('invoices.cycle'), input: NUMBER_INPUT },
          { name: 'number', label: t('invoices.number'), input: NUMBER_INPUT },
        ]}
      />
      {filter === null ? (
        <p class="state">{t('invoices.ask')}</p>
      ) : (
        <ReadView
          reading={reading}
          rows={5}
          isEmpty={({ rows }) => rows.length === 0}
          empty={t('invoices.none')}
        >
          {({ rows, next }) => (
            <>
              <Table
                caption={t('invoices.list')}
                columns={columns()}
                rows={rows}
                keyOf={nameOf}
                isCurrent={(row) => nameOf(row) === query['show']}
                onOpen={(row) => {
                  if (textIn(row, 'invoice_id') !== '') {
                    navigateHere({ show: nameOf(row) })
                  }
                }}
              />
              <Pager next={next} />
            </>
          )}
        </ReadView>
      )}
      {visible !== null && <Invoice key={query['show']} {...visible} />}
    </>
  )
}

/** `AID-NUMBER` in the address. */
function nameOf(row: Fields): string {
  return `${textIn(row, 'aid')}-${textIn(row, 'invoice_id') || textIn(row, 'billrun_key')}`
}

function visibleIn({ show = '' }: Readonly<Record<string, string>>) {
  const [, aid, iid] = /^(\d+)-(\d+)$/.exec(show) ?? []
  return aid === undefined || iid === undefined ? null : { aid, iid }
}

const columns = (): Column<Fields>[] => [
  {
    title: t('invoices.number'),
    cell: (row) => {
      const iid = textIn(row, 'invoice_id')
      if (iid === '') return <span class="muted">{t('invoices.noNumber')}</span>
      return <a href={linkHere({ show: nameOf(row) })}>{iid}</a>
    },
  },
  {
    title: t('invoices.aid'),
    cell: (row) => <a href={link(`customer/aid/${textIn(row, 'aid')}`)}>{textIn(row, 'aid')}</a>,
  },
  { title: t('invoices.cycle'), cell: (row) => textIn(row, 'billrun_key') },
  { title: t('invoices.date'), cell: (row) => dayIn(row, 'invoice_date') },
  { title: t('invoices.due'), cell: dueOf },
  { title: t('invoices.state'), cell: stateOf },
  { title: moneyHeader(t('invoices.total')), cell: totalOf, isNumber: true },
]

function dayIn(row: Fields, name: string): string {
  const iso = isoOf(row[name])
  return iso === '' ? '' : formatTime(iso, 'day')
}

/** A credit has no due date. */
function dueOf(row: Fields): string {
  return isOwed(payableIn(row)) ? dayIn(row, 'due_date') : ''
}

function stateOf(row: Fields) {
  const billed = textIn(row, 'billed')
  if (billed === '1') return <span class="mark good">● {t('invoices.confirmed')}</span>
  return t(billed === '2' ? 'invoices.notBilled' : 'invoices.open')
}

function totalOf(row: Fields): string {
  const text = payableIn(row)
  return text === '' ? '' : formatMoney(text as DecimalText)
}

function payableIn(row: Fields): string {
  return textIn((row['totals'] ?? {}) as Fields, 'after_vat_rounded')
}

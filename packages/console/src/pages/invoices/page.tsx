/** Invoices of an account or a cycle, and one with its PDF. */
import './invoices.css'
import '../../parts/split.css'
import type { Fields } from '../../api/records.ts'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { customerColumn, moneyColumn, textColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { FilterForm, NUMBER_INPUT } from '../../parts/filter.tsx'
import { List, useList } from '../../parts/list.tsx'
import { isOwed, moneyIn } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import type { Column } from '../../parts/table.tsx'
import { formatTime } from '../../parts/time.tsx'
import { INVOICES } from '../../words/en/invoices.ts'
import { addWords, t } from '../../words/words.ts'
import { filterIn, readInvoices } from './data.ts'
import { Invoice } from './invoice.tsx'

addWords(INVOICES)

export default function Page() {
  const { query } = location.value
  const filter = filterIn(query)
  const visible = visibleIn(query)
  return (
    <>
      <h1 tabIndex={-1}>{t('page.invoices')}</h1>
      <FilterForm
        label={t('invoices.filter')}
        fields={(['aid', 'cycle', 'number'] as const).map((name) => {
          return { name, label: t(`invoices.${name}`), input: NUMBER_INPUT }
        })}
      />
      {filter === null ? (
        <p class="state">{t('invoices.ask')}</p>
      ) : (
        <Invoices filter={filter} shown={query['show']} />
      )}
      {visible !== null && <Invoice key={query['show']} {...visible} />}
    </>
  )
}

interface InvoicesProps {
  readonly filter: object
  /** The row that is shown. */
  readonly shown: string | undefined
}

function Invoices({ filter, shown }: InvoicesProps) {
  const reading = useList(`invoices ${JSON.stringify(filter)}`, (after, signal) => {
    return readInvoices(filter, after, signal)
  })
  return (
    <List
      reading={reading}
      height={5}
      empty={t('invoices.none')}
      caption={t('invoices.list')}
      columns={columns()}
      keyOf={nameOf}
      isCurrent={(row) => nameOf(row) === shown}
      onOpen={(row) => textIn(row, 'invoice_id') !== '' && navigateHere({ show: nameOf(row) })}
    />
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
  textColumn('invoices.number', (row) => {
    const iid = textIn(row, 'invoice_id')
    if (iid === '') return <span class="muted">{t('invoices.noNumber')}</span>
    return <a href={linkHere({ show: nameOf(row) })}>{iid}</a>
  }),
  customerColumn('invoices.aid', 'aid', (row) => textIn(row, 'aid')),
  textColumn('invoices.cycle', (row) => textIn(row, 'billrun_key')),
  textColumn('invoices.date', (row) => dayIn(row, 'invoice_date')),
  // A credit has no due date.
  textColumn('invoices.due', (row) => {
    return isOwed(textIn(totalsIn(row), PAYABLE)) ? dayIn(row, 'due_date') : ''
  }),
  textColumn('invoices.state', stateOf),
  moneyColumn('invoices.total', (row) => moneyIn(totalsIn(row), PAYABLE)),
]

const PAYABLE = 'after_vat_rounded'
const totalsIn = (row: Fields) => (row['totals'] ?? {}) as Fields

function dayIn(row: Fields, name: string): string {
  const iso = isoOf(row[name])
  return iso === '' ? '' : formatTime(iso, 'day')
}

function stateOf(row: Fields) {
  const billed = textIn(row, 'billed')
  if (billed === '1') return <span class="mark good">● {t('invoices.confirmed')}</span>
  return t(billed === '2' ? 'invoices.notBilled' : 'invoices.open')
}

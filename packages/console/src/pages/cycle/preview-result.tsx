/** Totals and differences of a preview. All amounts are texts of the API. */
import type { DecimalText, Figure } from '../../api/figures.ts'
import { customerColumn, moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatMoney, formatNumber, moneyHeader } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import {
  type ChangedLine,
  type Computed,
  type PreviewAccount,
  type PriceChange,
  SHOWN_MAX,
  type TaxChange,
} from './data.ts'

export function PreviewResult({ computed }: { readonly computed: Computed }) {
  const { last, accounts } = computed
  const { key: previous, assumption } = last.previous
  const failed = accounts.filter((each) => each.failed !== undefined)
  const lines = accounts.flatMap(differencesOf)
  const prices = accounts.flatMap((each) => ofAccount(each, each.price_changes))
  const taxes = accounts.flatMap((each) => ofAccount(each, each.tax_changes))
  const lost = accounts.flatMap((each) => ofAccount(each, each.not_returned))
  return (
    <>
      <p>{t('preview.compared', { key: last.compared, previous, assumption })}</p>
      <Totals totals={last.totals} />
      {accounts.length === 0 && <p class="state">{t('preview.noDifferences')}</p>}
      <Part title={t('preview.failed')} rows={failed} columns={failedColumns()} />
      <Part title={t('preview.lines')} rows={lines} columns={lineColumns(false)} />
      <Part title={t('preview.prices')} rows={prices} columns={priceColumns()} />
      <Part title={t('preview.taxes')} rows={taxes} columns={taxColumns()} />
      <Part title={t('preview.lost')} rows={lost} columns={lineColumns(true)} />
      {accounts.length >= SHOWN_MAX && <p>{t('preview.more', { count: SHOWN_MAX })}</p>}
    </>
  )
}

const COUNTS = ['accounts', 'invoices', 'changed', 'failed', 'price_changes'] as const
const AMOUNTS = ['total', 'stored', 'difference', 'not_returned'] as const

function Totals({ totals }: { readonly totals: Readonly<Record<string, Figure>> }) {
  const facts = [
    ...COUNTS.map((name) => {
      return { title: t(`preview.${name}`), value: formatNumber(totals[name] ?? 0) }
    }),
    ...AMOUNTS.map((name) => {
      return { title: moneyHeader(t(`preview.${name}`)), value: formatMoney(totals[name] ?? 0) }
    }),
  ]
  return (
    <section aria-labelledby="preview-totals" class="stack">
      <h3 id="preview-totals">{t('preview.totals')}</h3>
      <Facts facts={facts} />
    </section>
  )
}

interface PartProps<Row> {
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
}

function Part<Row>({ title, rows, columns }: PartProps<Row>) {
  if (rows.length === 0) return null
  return <Table caption={title} hasCaption columns={columns} rows={rows} />
}

interface LineRow extends Omit<ChangedLine, 'difference'> {
  readonly aid: Figure
  /** Null for the whole invoice: the API has only the difference of all. */
  readonly difference: DecimalText | null
}

/** The invoice, its changed lines, and its usage and credits if they differ. */
function differencesOf({ aid, total, stored, changes, others, failed }: PreviewAccount): LineRow[] {
  if (failed !== undefined) return []
  const whole = { aid, from: '', to: '', difference: null }
  const rows: LineRow[] = changes.map((line) => ({ aid, ...line }))
  if (others.wanted !== others.stored) {
    rows.push({ ...whole, line: t('preview.others'), ...others })
  }
  if (rows.length === 0 && total === stored) return []
  return [{ ...whole, line: t('preview.invoiceTotal'), stored, wanted: total }, ...rows]
}

type OfAccount<Row> = Row & { readonly aid: Figure }

function ofAccount<Row>({ aid }: PreviewAccount, rows: readonly Row[]): readonly OfAccount<Row>[] {
  return rows.map((row) => ({ aid, ...row }))
}

const money = (text: DecimalText | null) => (text === null ? '–' : formatMoney(text))

function accountColumn<Row extends { readonly aid: Figure }>(): Column<Row> {
  return customerColumn('cycle.account', 'aid', ({ aid }) => aid)
}

const lineColumns = (hasCycle: boolean): Column<LineRow>[] => [
  accountColumn(),
  ...(hasCycle ? [textColumn<LineRow>('cycle.key', ({ cycle = '' }) => cycle)] : []),
  textColumn('preview.line', ({ line }) => line),
  textColumn('preview.period', ({ from, to }) => {
    return from === '' ? '' : `${from.slice(0, 10)} – ${to.slice(0, 10)}`
  }),
  moneyColumn('preview.before', ({ stored }) => money(stored)),
  moneyColumn('preview.after', ({ wanted }) => money(wanted)),
  numberColumn('preview.difference', ({ difference }) => {
    return difference === null ? '' : formatMoney(difference)
  }),
]

const failedColumns = (): Column<PreviewAccount>[] => [
  accountColumn(),
  textColumn('cycle.why', ({ failed }) => failed ?? ''),
]

function offerColumns<Row extends OfAccount<PriceChange | TaxChange>>(): Column<Row>[] {
  return [
    accountColumn(),
    customerColumn('preview.subscriber', 'sid', ({ sid }) => sid),
    textColumn('preview.offer', ({ name }) => name),
    textColumn('cycle.key', ({ cycle }) => cycle),
  ]
}

const taxColumns = (): Column<OfAccount<TaxChange>>[] => [
  ...offerColumns<OfAccount<TaxChange>>(),
  moneyColumn('preview.kept', ({ charged }) => money(charged)),
  moneyColumn('preview.inForce', ({ in_force: inForce }) => money(inForce)),
  numberColumn('preview.difference', ({ difference }) => formatMoney(difference)),
]

const priceColumns = (): Column<OfAccount<PriceChange>>[] => [
  ...offerColumns<OfAccount<PriceChange>>(),
  textColumn('preview.since', ({ since }) => since.slice(0, 10)),
  textColumn('preview.rule', ({ rule }) => <code>{rule}</code>),
  moneyColumn('preview.amount', ({ amount }) => money(amount)),
  moneyColumn('preview.other', ({ other_amount: other }) => money(other)),
]

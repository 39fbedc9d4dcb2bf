/** Totals and differences of a preview. All amounts are texts of the API. */
import type { DecimalText, Figure } from '../../api/figures.ts'
import { link } from '../../frame/routes.ts'
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
  const prices = accounts.flatMap(({ aid, price_changes: all }) =>
    all.map((change) => ({ aid, ...change })),
  )
  const taxes = accounts.flatMap(({ aid, tax_changes: all }) =>
    all.map((change) => ({ aid, ...change })),
  )
  const lost = accounts.flatMap(({ aid, not_returned: all }) =>
    all.map((line) => ({ aid, ...line })),
  )
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

function Part<Row extends object>({ title, rows, columns }: PartProps<Row>) {
  if (rows.length === 0) return null
  const numbers = new Map(rows.map((row, index) => [row, String(index)]))
  return (
    <Table
      caption={title}
      hasCaption
      columns={columns}
      rows={rows}
      keyOf={(row) => numbers.get(row) ?? ''}
    />
  )
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

const money = (text: DecimalText | null) => (text === null ? '–' : formatMoney(text))
const account = ({ aid }: { readonly aid: Figure }) => (
  <a href={link(`customer/aid/${aid}`)}>{String(aid)}</a>
)

function lineColumns(hasCycle: boolean): Column<LineRow>[] {
  return [
    { title: t('cycle.account'), cell: account },
    ...(hasCycle ? [{ title: t('cycle.key'), cell: ({ cycle = '' }: LineRow) => cycle }] : []),
    { title: t('preview.line'), cell: ({ line }) => line },
    {
      title: t('preview.period'),
      cell: ({ from, to }) => (from === '' ? '' : `${from.slice(0, 10)} – ${to.slice(0, 10)}`),
    },
    {
      title: moneyHeader(t('preview.before')),
      cell: ({ stored }) => money(stored),
      isNumber: true,
    },
    {
      title: moneyHeader(t('preview.after')),
      cell: ({ wanted }) => money(wanted),
      isNumber: true,
    },
    {
      title: t('preview.difference'),
      cell: ({ difference }) => (difference === null ? '' : formatMoney(difference)),
      isNumber: true,
    },
  ]
}

const failedColumns = (): Column<PreviewAccount>[] => [
  { title: t('cycle.account'), cell: account },
  { title: t('cycle.why'), cell: ({ failed }) => failed ?? '' },
]

const offerColumns = <
  Row extends OfAccount<PriceChange> | OfAccount<TaxChange>,
>(): Column<Row>[] => [
  { title: t('cycle.account'), cell: account },
  {
    title: t('preview.subscriber'),
    cell: ({ sid }) => <a href={link(`customer/sid/${sid}`)}>{String(sid)}</a>,
  },
  { title: t('preview.offer'), cell: ({ name }) => name },
  { title: t('cycle.key'), cell: ({ cycle }) => cycle },
]

const taxColumns = (): Column<OfAccount<TaxChange>>[] => [
  ...offerColumns<OfAccount<TaxChange>>(),
  { title: moneyHeader(t('preview.kept')), cell: ({ charged }) => money(charged), isNumber: true },
  {
    title: moneyHeader(t('preview.inForce')),
    cell: ({ in_force: inForce }) => money(inForce),
    isNumber: true,
  },
  {
    title: t('preview.difference'),
    cell: ({ difference }) => formatMoney(difference),
    isNumber: true,
  },
]

const priceColumns = (): Column<OfAccount<PriceChange>>[] => [
  ...offerColumns<OfAccount<PriceChange>>(),
  { title: t('preview.since'), cell: ({ since }) => since.slice(0, 10) },
  { title: t('preview.rule'), cell: ({ rule }) => <code>{rule}</code> },
  { title: moneyHeader(t('preview.amount')), cell: ({ amount }) => money(amount), isNumber: true },
  {
    title: moneyHeader(t('preview.other')),
    cell: ({ other_amount: other }) => money(other),
    isNumber: true,
  },
]

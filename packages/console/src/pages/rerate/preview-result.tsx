/** The differences by today's catalogue. All amounts are texts of the API. */
import type { ComponentChildren } from 'preact'
import { customerColumn, moneyColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { type Fact, Facts } from '../../parts/facts.tsx'
import { formatNumber, moneyHeader, withCurrency } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { accountColumns, changeColumns, countFacts, whyColumn } from './accounts.tsx'
import {
  amount,
  correctionOf,
  type ReasonCount,
  type RerateAccount,
  type RerateDifferences,
  type ReratedLine,
  reasonsOf,
} from './data.ts'

type Totals = RerateDifferences['totals']
/** The API lists no more; its totals are of all. */
const ACCOUNTS_MAX = 1_000

interface ResultProps {
  readonly preview: RerateDifferences
  /** Shown above the lists, which may be long. */
  readonly children: ComponentChildren
}

export function PreviewResult({ preview: { accounts, totals }, children }: ResultProps) {
  const refused = accounts.filter((each) => each.refused.length > 0)
  const changed = accounts.filter((each) => Number(each.changed) > 0)
  if (Number(totals.accounts) === 0) return <p class="state">{t('rerate.nothing')}</p>
  return (
    <>
      <Verdict totals={totals} />
      <Facts facts={[...countFacts(totals), ...sumFacts(totals)]} />
      <Invoices changed={changed} totals={totals} />
      {children}
      <Part title={t('rerate.reasons')} rows={reasonsOf(refused)} columns={reasonColumns()} />
      <Part title={t('rerate.refusedAccounts')} rows={refused} columns={refusedColumns()} />
      <Part title={t('rerate.largest')} rows={totals.largest} columns={lineColumns()} />
      <Part
        title={t('rerate.changedAccounts')}
        rows={changed}
        columns={[...accountColumns(), ...changeColumns()]}
      />
      {accounts.length >= ACCOUNTS_MAX && (
        <p>{t('rerate.more', { count: formatNumber(ACCOUNTS_MAX) })}</p>
      )}
    </>
  )
}

/** Refused accounts make it no success. */
export function Verdict({ totals }: { readonly totals: Totals }) {
  if (Number(totals.refused) > 0) {
    const [refused, accounts] = [formatNumber(totals.refused), formatNumber(totals.accounts)]
    return <p class="mark bad">✕ {t('rerate.someRefused', { refused, accounts })}</p>
  }
  if (Number(totals.changed) > 0) return null
  return <p class="mark good">✓ {t('rerate.unchangedAll')}</p>
}

/** Sums of differences. */
export function sumFacts({ difference, on_confirmed: onConfirmed }: Totals): readonly Fact[] {
  const fact = (title: string, text: string) => ({ title: moneyHeader(title), value: amount(text) })
  return [
    fact(t('rerate.difference'), difference.aprice),
    fact(t('rerate.differenceTaxed'), difference.final_charge),
    fact(t('rerate.onConfirmed'), onConfirmed.aprice),
    fact(t('rerate.onConfirmedTaxed'), onConfirmed.final_charge),
  ]
}

interface InvoicesProps {
  readonly changed: readonly RerateAccount[]
  readonly totals: Totals
}

/** The effect on invoices that there are. */
function Invoices({ changed, totals }: InvoicesProps) {
  const correction = correctionOf(totals.on_confirmed.final_charge)
  const count = changed.filter(({ invoice }) => invoice?.state === 'computed').length
  return (
    <>
      {correction !== null && (
        <p>
          {t(`rerate.confirmed.${correction.how}`, {
            amount: withCurrency(amount(correction.amount)),
          })}
        </p>
      )}
      {count > 0 && <p>{t('rerate.recompute', { count: formatNumber(count) })}</p>}
    </>
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

const reasonColumns = (): Column<ReasonCount>[] => [
  textColumn('rerate.reason', ({ text }) => text),
  { title: t('rerate.accounts'), cell: ({ accounts }) => formatNumber(accounts), isNumber: true },
  { title: t('rerate.lines'), cell: ({ lines }) => formatNumber(lines), isNumber: true },
]

const refusedColumns = (): Column<RerateAccount>[] => [...accountColumns(), whyColumn()]

const change = (line: ReratedLine, of: 'aprice' | 'final_charge') =>
  `${amount(line.before[of])} → ${amount(line.after[of])}`

const lineColumns = (): Column<ReratedLine>[] => [
  customerColumn('rerate.sid', 'sid', ({ sid }) => sid),
  timeColumn('rerate.time', ({ urt }) => urt, 'second'),
  moneyColumn('rerate.beforeTax', (line) => change(line, 'aprice')),
  moneyColumn('rerate.withTax', (line) => change(line, 'final_charge')),
  moneyColumn('rerate.differenceTaxed', ({ difference }) => amount(difference.final_charge)),
]

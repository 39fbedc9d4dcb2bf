/** Prices before and after an edit: sums, cases that changed first, and the same as CSV. */
import type { Figure } from '../../api/figures.ts'
import { link } from '../../frame/routes.ts'
import { t } from '../../words/words.ts'
import { moneyColumn, textColumn, timeColumn } from '../columns.tsx'
import { formatMoney, formatNumber } from '../numbers.ts'
import { type Column, Table } from '../table.tsx'
import { type ComparedCase, type Comparison, csvOf } from './cases.ts'

const SIDES = ['before', 'after', 'difference'] as const

export function ComparisonView({ comparison }: { readonly comparison: Comparison }) {
  const { cases, totals } = comparison
  const hasLines = cases.some(({ line }) => line !== undefined)
  if (cases.length === 0) return <p class="state">{t('simulator.none')}</p>
  return (
    <>
      <p>
        <strong>{t('simulator.count', { cases: totals.cases, changed: totals.changed })}</strong>
        {totals.failed !== 0 && ` ${t('simulator.failed', { failed: totals.failed })}`}
      </p>
      <Table
        caption={t('simulator.totals')}
        columns={[
          textColumn<Sum>('simulator.sum', ({ name }) => t(`simulator.${name}`)),
          ...SIDES.map((side) =>
            moneyColumn<Sum>(`simulator.${side}`, ({ name }) => {
              const figure = totals[side][name]
              return side === 'difference' ? differenceOf(figure) : formatMoney(figure)
            }),
          ),
        ]}
        rows={SUMS}
        keyOf={({ name }) => name}
      />
      <Table
        caption={t('simulator.each')}
        hasCaption
        columns={[...(hasLines ? LINE_COLUMNS() : CASE_COLUMNS()), ...PRICE_COLUMNS()]}
        rows={cases}
      />
      <div class="buttons">
        <button type="button" onClick={() => saveCsv(cases)}>
          {t('simulator.csv')}
        </button>
      </div>
    </>
  )
}

const SUMS = [{ name: 'aprice' }, { name: 'final_charge' }] as const
type Sum = (typeof SUMS)[number]

const CASE_COLUMNS = (): readonly Column<ComparedCase>[] => [
  textColumn('simulator.case', ({ name }) => name),
]

const LINE_COLUMNS = (): readonly Column<ComparedCase>[] => [
  textColumn('simulator.subscriber', ({ line }) => {
    return (
      line && <a href={link(`customer/sid/${line.sid}`, { tab: 'lines' })}>{String(line.sid)}</a>
    )
  }),
  timeColumn('simulator.time', ({ line }) => line?.urt ?? ''),
  textColumn('simulator.line', ({ line }) => {
    if (line === undefined) return undefined
    const { usaget: usage, usagev, arate_key: rate } = line
    return t('simulator.lineUsage', { usage, units: formatNumber(usagev), rate })
  }),
  moneyColumn('simulator.charged', ({ line }) => line && formatMoney(line.final_charge)),
]

const PRICE_COLUMNS = (): readonly Column<ComparedCase>[] => [
  ...SIDES.map((side) =>
    moneyColumn<ComparedCase>(`simulator.${side}`, (row) => {
      const price = row[side]?.final_charge
      if (price === undefined) return '—'
      return side === 'difference' ? differenceOf(price) : formatMoney(price)
    }),
  ),
  textColumn('simulator.note', noteOf),
]

/** With its sign; colour repeats what the sign says. */
function differenceOf(figure: Figure) {
  const text = formatMoney(figure)
  if (/^-/.test(String(figure))) return <span class="less">{text}</span>
  return /[1-9]/.test(String(figure)) ? <span class="more">+{text}</span> : text
}

/** Why there is no price, or what is granted otherwise than before. */
function noteOf({ changed, before, after, error }: ComparedCase) {
  if (error !== undefined) {
    return (
      <span class="error">
        <code>{error.field}</code> {error.why}
      </span>
    )
  }
  if (before === undefined || after === undefined) return null
  const notes = [
    ...(changed ? [t('simulator.isChanged')] : []),
    ...(before.desc === after.desc && after.returnCode === 1
      ? []
      : [t('simulator.from', { before: before.desc, after: after.desc })]),
    ...(before.granted === after.granted
      ? []
      : [
          t('simulator.granted', {
            before: formatNumber(before.granted),
            after: formatNumber(after.granted),
          }),
        ]),
  ]
  return notes.join('; ')
}

/** The file is made in the browser, of figures as the API wrote them. */
function saveCsv(cases: readonly ComparedCase[]): void {
  const address = URL.createObjectURL(new Blob([csvOf(cases)], { type: 'text/csv' }))
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = 'price-change.csv'
  anchor.click()
  URL.revokeObjectURL(address)
}

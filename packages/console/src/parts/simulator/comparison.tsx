/** Prices before and after an edit: sums, cases that changed first, and the same as CSV. */
import type { Figure } from '../../api/figures.ts'
import { link } from '../../frame/routes.ts'
import { t } from '../../words/words.ts'
import { formatMoney, formatNumber, moneyHeader } from '../numbers.ts'
import { type Column, Table } from '../table.tsx'
import { Time, timeHeader } from '../time.tsx'
import { type ComparedCase, type Comparison, csvOf } from './cases.ts'

const SIDES = ['before', 'after', 'difference'] as const

export function ComparisonView({ comparison }: { readonly comparison: Comparison }) {
  const { cases, totals } = comparison
  const hasLines = cases.some(({ line }) => line !== undefined)
  const rows = cases.map((each, index) => ({ ...each, index }))
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
          { title: t('simulator.sum'), cell: ({ name }) => t(`simulator.${name}`) },
          ...SIDES.map((side) => ({
            title: moneyHeader(t(`simulator.${side}`)),
            isNumber: true,
            cell: ({ name }: { name: 'aprice' | 'final_charge' }) =>
              side === 'difference'
                ? differenceOf(totals[side][name])
                : formatMoney(totals[side][name]),
          })),
        ]}
        rows={[{ name: 'aprice' }, { name: 'final_charge' }]}
        keyOf={({ name }) => name}
      />
      <Table
        caption={t('simulator.each')}
        hasCaption
        columns={[...(hasLines ? LINE_COLUMNS() : CASE_COLUMNS()), ...PRICE_COLUMNS()]}
        rows={rows}
        keyOf={({ index }) => String(index)}
      />
      <div class="buttons">
        <button type="button" onClick={() => saveCsv(cases)}>
          {t('simulator.csv')}
        </button>
      </div>
    </>
  )
}

type Row = ComparedCase & { readonly index: number }

const CASE_COLUMNS = (): readonly Column<Row>[] => [
  { title: t('simulator.case'), cell: ({ name }) => name },
]

const LINE_COLUMNS = (): readonly Column<Row>[] => [
  {
    title: t('simulator.subscriber'),
    cell: ({ line }) =>
      line && <a href={link(`customer/sid/${line.sid}`, { tab: 'lines' })}>{String(line.sid)}</a>,
  },
  { title: timeHeader(t('simulator.time')), cell: ({ line }) => line && <Time value={line.urt} /> },
  {
    title: t('simulator.line'),
    cell: ({ line }) =>
      line &&
      t('simulator.lineUsage', {
        usage: line.usaget,
        units: formatNumber(line.usagev),
        rate: line.arate_key,
      }),
  },
  {
    title: moneyHeader(t('simulator.charged')),
    isNumber: true,
    cell: ({ line }) => line && formatMoney(line.final_charge),
  },
]

const PRICE_COLUMNS = (): readonly Column<Row>[] => [
  ...SIDES.map((side) => ({
    title: moneyHeader(t(`simulator.${side}`)),
    isNumber: true,
    cell: (row: Row) => {
      const price = row[side]?.final_charge
      if (price === undefined) return '—'
      return side === 'difference' ? differenceOf(price) : formatMoney(price)
    },
  })),
  { title: t('simulator.note'), cell: noteOf },
]

/** With its sign; colour repeats what the sign says. */
function differenceOf(figure: Figure) {
  const text = formatMoney(figure)
  if (/^-/.test(String(figure))) return <span class="less">{text}</span>
  return /[1-9]/.test(String(figure)) ? <span class="more">+{text}</span> : text
}

/** Why there is no price, or what is granted otherwise than before. */
function noteOf({ changed, before, after, error }: Row) {
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

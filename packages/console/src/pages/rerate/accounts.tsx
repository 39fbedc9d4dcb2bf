/** Accounts in a preview and in a run. */
import type { Figure } from '../../api/figures.ts'
import { link } from '../../frame/routes.ts'
import { customerColumn, moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import type { Fact } from '../../parts/facts.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { amount, type RerateAccount, reasonsOf } from './data.ts'

const COUNTS = ['accounts', 'refused', 'lines', 'changed'] as const

/** A run has none before its first accounts. */
export function countFacts(
  counts: Readonly<Partial<Record<(typeof COUNTS)[number], Figure>>>,
): readonly Fact[] {
  return COUNTS.map((name) => {
    return { title: t(`rerate.${name}`), value: formatNumber(counts[name] ?? 0) }
  })
}

export const accountColumns = <Row extends RerateAccount>(): Column<Row>[] => [
  customerColumn('rerate.account', 'aid', ({ aid }) => aid),
  textColumn('rerate.cycle', ({ cycle }) => cycle),
  textColumn('rerate.invoice', ({ invoice }) => {
    if (invoice === null) return '–'
    const number = String(invoice.id)
    return (
      <>
        <a href={link('invoices', { number })}>{number}</a> {t(`rerate.invoice.${invoice.state}`)}
      </>
    )
  }),
  numberColumn('rerate.lines', ({ lines }) => formatNumber(lines)),
]

export const changeColumns = <Row extends RerateAccount>(): Column<Row>[] => [
  numberColumn('rerate.changed', ({ changed }) => formatNumber(changed)),
  moneyColumn('rerate.difference', ({ difference }) => amount(difference.aprice)),
  moneyColumn('rerate.differenceTaxed', ({ difference }) => amount(difference.final_charge)),
  moneyColumn('rerate.onConfirmedTaxed', ({ on_confirmed: part }) => amount(part.final_charge)),
]

/** The reasons of refused lines, and how many lines have each. */
export const whyColumn = <Row extends RerateAccount>(): Column<Row> =>
  textColumn('rerate.reason', (account) => {
    const texts = reasonsOf([account]).map(({ text, lines }) => {
      return lines === 0 ? text : t('rerate.why', { text, lines: formatNumber(lines) })
    })
    return texts.join('; ')
  })

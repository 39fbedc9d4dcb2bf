/** Columns of accounts in a preview and in a run. */
import { link } from '../../frame/routes.ts'
import { customerColumn, moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { amount, type RerateAccount, reasonsOf } from './data.ts'

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

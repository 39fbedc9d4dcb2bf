/** Texts of a line for tables and headings. */

import type { Figure } from '../../api/figures.ts'
import { membersOf } from '../../api/records.ts'
import { textIn } from '../../parts/differences.ts'
import { formatMoney, formatNumber } from '../../parts/numbers.ts'
import { t } from '../../words/words.ts'
import type { Line } from './data.ts'

/** `call`, or what an operation did with which balance. */
export function whatOf(line: Line): string {
  if (line.type !== 'balance') return line.usaget ?? line.type
  const operation = textIn(line, 'operation')
  return t('lines.operation', { operation, name: textIn(line, 'pp_includes_name') })
}

export function unitsOf(line: Line): string {
  return line.usagev === undefined ? '' : formatNumber(line.usagev)
}

/** Before tax, exactly. */
export function priceOf(line: Line): string {
  const price = membersOf(line.exact).aprice ?? line.aprice
  return price === undefined ? '' : formatMoney(price as Figure)
}

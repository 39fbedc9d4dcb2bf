/**
 * Usage that was recorded or rerated after the end of its cycle: what no confirmed invoice has of a
 * line is a line of its own, a copy with the difference. If its taxes are others than before, one
 * copy returns the former charge, and another one has the new charge: documents compute a tax from
 * the amounts of lines with the same taxes. Pure.
 */
import { createHash } from 'node:crypto'
import type { CycleUsageDocument } from '../../catalog/records/money/cycle-line.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import {
  type Charged,
  hasSameTaxes,
  type Uninvoiced,
} from '../../catalog/records/usage/uninvoiced.ts'
import type { LineTax } from '../../domain/tax.ts'
import { Exact } from '../../rating/line-tax.ts'
import type { MoneyFormat } from '../currency.ts'

/** A line with a key before that of the run. */
export type LateUsage = RealtimeLineDocument & { readonly uninvoiced: Uninvoiced }

/** The charge of a line beyond `former`; negative if its price has fallen. */
export function chargedBeyond(line: Charged, former: Charged | null): Charged {
  const { usagev, aprice, final_charge, tax_data, exact } = line
  if (former === null) return { usagev, aprice, final_charge, tax_data, exact }
  const beyond = (of: 'aprice' | 'tax' | 'final_charge') =>
    new Exact(exact[of]).minus(former.exact[of])
  const [price, tax, total] = [beyond('aprice'), beyond('tax'), beyond('final_charge')]
  return {
    usagev: new Exact(usagev).minus(former.usagev).toNumber(),
    aprice: price.toNumber(),
    final_charge: total.toNumber(),
    tax_data: {
      total_amount: tax.toNumber(),
      total_tax: tax_data.total_tax,
      taxes: taxesBeyond(tax_data.taxes, former.tax_data.taxes),
    },
    exact: { aprice: price.toString(), tax: tax.toString(), final_charge: total.toString() },
  }
}

function taxesBeyond(taxes: readonly LineTax[], former: readonly LineTax[]): LineTax[] {
  const minus = (a: number, b: number) => new Exact(a).minus(b).toNumber()
  return taxes.map(({ amount_before_rounding: _, ...tax }) => {
    const other = former.find(({ key, tax: rate }) => key === tax.key && rate === tax.tax)
    const embedded = tax.embedded_amount
    return {
      ...tax,
      amount: minus(tax.amount, other?.amount ?? 0),
      ...(embedded !== undefined && {
        embedded_amount: minus(embedded, other?.embedded_amount ?? 0),
      }),
    }
  })
}

function returned(charge: Charged): Charged {
  const nothing = chargedBeyond(charge, charge)
  return chargedBeyond(nothing, charge)
}

function isCharge({ usagev, exact: { aprice, final_charge } }: Charged): boolean {
  return usagev !== 0 || [aprice, final_charge].some((amount) => !new Exact(amount).isZero())
}

type Copy = Charged & Pick<CycleUsageDocument, 'late_of' | 'charge_op' | 'billrun'>

/** Lines without what later invoices have of them. */
export function withoutTaken<Line extends Charged & { readonly stamp: string }>(
  lines: readonly Line[],
  taken: readonly Copy[],
): Line[] {
  if (taken.length === 0) return [...lines]
  return lines.flatMap((line) => {
    const copies = taken.filter((copy) => copy.late_of === line.stamp)
    if (copies.length === 0) return [line]
    const left = chargedBefore(line, copies)
    return isCharge(left) ? [{ ...line, ...left }] : []
  })
}

/** The charge before its copies; a returned one is that before the copies of its cycle. */
function chargedBefore(line: Charged, copies: readonly Copy[]): Charged {
  const returns = copies
    .filter(({ charge_op: op }) => op === 'refund')
    .sort((a, b) => (a.billrun < b.billrun ? -1 : 1))
  const [first] = returns
  const before =
    first === undefined ? copies : copies.filter((copy) => copy.billrun < first.billrun)
  const charge = first === undefined ? line : returned(first)
  return before.reduce<Charged>((left, copy) => chargedBeyond(left, copy), charge)
}

interface LateUsageRun {
  readonly aid: number
  readonly cycleKey: string
  readonly money: MoneyFormat
  readonly nowMs: number
}

/** The lines of the run for it. Their stamps are the same in a repeated run. */
export function lateUsageDocuments(run: LateUsageRun, line: LateUsage): CycleUsageDocument[] {
  const { former } = line.uninvoiced
  if (former !== null && !hasSameTaxes(line, former)) {
    return [
      lateUsageDocument(run, line, returned(former), 'refund'),
      lateUsageDocument(run, line, chargedBeyond(line, null), 'charge'),
    ]
  }
  const beyond = chargedBeyond(line, former)
  return isCharge(beyond) ? [lateUsageDocument(run, line, beyond, 'charge')] : []
}

function lateUsageDocument(
  { aid, cycleKey, money, nowMs }: LateUsageRun,
  line: LateUsage,
  beyond: Charged,
  op: CycleUsageDocument['charge_op'],
): CycleUsageDocument {
  const { stamp, sid, usaget, arate_key, plan, billrun, urt, last_urt, uninvoiced } = line
  const id = op === 'charge' ? `late/${stamp}` : `late/${stamp}/${op}`
  const { former } = uninvoiced
  const since = uninvoiced.since.toISOString()
  const isPrice = former !== null && former.usagev === line.usagev
  const [charged, invoiced] = [line.exact.aprice, former?.exact.aprice ?? '0'].map(money)
  return {
    stamp: createHash('sha256').update(`${aid}/${cycleKey}/${id}`).digest('hex').slice(0, 32),
    v: 1,
    type: 'usage',
    source: 'billrun',
    line_id: id,
    late_of: stamp,
    aid,
    sid,
    usaget,
    name: arate_key,
    arate_key,
    ...(line.prepriced === true && { prepriced: true }),
    plan,
    billrun: cycleKey,
    charged_billrun: billrun,
    charge_amount: beyond.exact.aprice,
    charge_op: op,
    is_upfront: false,
    urt,
    start: urt,
    end: last_urt,
    process_time: new Date(nowMs),
    explain: {
      rule: isPrice ? 'usage priced again after its cycle' : 'usage recorded after its cycle',
      entity: { kind: 'rate', key: arate_key },
      from: urt.toISOString(),
      to: last_urt.toISOString(),
      notes: [
        `of cycle ${billrun}, ${isPrice ? 'changed' : 'recorded'} since ${since}`,
        `charged ${charged}, invoiced ${invoiced}`,
      ],
    },
    ...beyond,
  }
}

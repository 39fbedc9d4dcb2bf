/**
 * Usage that was recorded after the end of its cycle: what no confirmed invoice has of a line is a
 * line of its own, a copy with the difference. Pure.
 */
import { createHash } from 'node:crypto'
import type { CycleUsageDocument } from '../../catalog/records/money/cycle-line.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import type { Charged, Uninvoiced } from '../../catalog/records/usage/uninvoiced.ts'
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

/** Versions of a line have the same taxes. */
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

export function isCharge({ usagev, exact }: Charged): boolean {
  return usagev !== 0 || !new Exact(exact.final_charge).isZero()
}

/** Lines without what later invoices have of them. */
export function withoutTaken<Line extends Charged & { readonly stamp: string }>(
  lines: readonly Line[],
  taken: readonly (Charged & { readonly late_of: string })[],
): Line[] {
  if (taken.length === 0) return [...lines]
  return lines.flatMap((line) => {
    const copies = taken.filter((copy) => copy.late_of === line.stamp)
    if (copies.length === 0) return [line]
    const left = copies.reduce<Charged>((charge, copy) => chargedBeyond(charge, copy), line)
    return isCharge(left) ? [{ ...line, ...left }] : []
  })
}

interface LateUsageRun {
  readonly aid: number
  readonly cycleKey: string
  readonly money: MoneyFormat
  readonly nowMs: number
}

/** The line of the run for it. Its stamp is the same in a repeated run. */
export function lateUsageDocument(
  { aid, cycleKey, money, nowMs }: LateUsageRun,
  line: LateUsage,
): CycleUsageDocument {
  const { stamp, sid, usaget, arate_key, plan, billrun, urt, last_urt, uninvoiced } = line
  const beyond = chargedBeyond(line, uninvoiced.former)
  const id = `late/${stamp}`
  const [charged, invoiced] = [line.exact.aprice, uninvoiced.former?.exact.aprice ?? '0'].map(money)
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
    charge_op: 'charge',
    is_upfront: false,
    urt,
    start: urt,
    end: last_urt,
    process_time: new Date(nowMs),
    explain: {
      rule: 'usage recorded after its cycle',
      entity: { kind: 'rate', key: arate_key },
      from: urt.toISOString(),
      to: last_urt.toISOString(),
      notes: [
        `of cycle ${billrun}, recorded since ${uninvoiced.since.toISOString()}`,
        `charged ${charged}, invoiced ${invoiced}`,
      ],
    },
    ...beyond,
  }
}

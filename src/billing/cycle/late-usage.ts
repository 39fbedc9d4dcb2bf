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

/** Versions of a line have the same taxes, unless it was rerated. */
function taxesBeyond(taxes: readonly LineTax[], former: readonly LineTax[]): LineTax[] {
  const minus = (a: number, b: number) => new Exact(a).minus(b).toNumber()
  const isSame = (one: LineTax) => (tax: LineTax) => one.key === tax.key && one.tax === tax.tax
  const gone = former.filter((tax) => !taxes.some(isSame(tax))).map(withoutAmount)
  return [...taxes, ...gone].map(({ amount_before_rounding: _, ...tax }) => {
    const other = former.find(isSame(tax))
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

function withoutAmount(tax: LineTax): LineTax {
  return { ...tax, amount: 0, ...('embedded_amount' in tax && { embedded_amount: 0 }) }
}

function isCharge({ usagev, exact }: Charged): boolean {
  const isZero = (amount: string) => new Exact(amount).isZero()
  return usagev !== 0 || !isZero(exact.final_charge) || !isZero(exact.aprice)
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
    return isCharge(left) ? [{ ...line, ...left, tax_data: withTaxesLeft(left) }] : []
  })
}

/** Without taxes that a later invoice has returned. */
function withTaxesLeft({ tax_data }: Charged): Charged['tax_data'] {
  const taxes = tax_data.taxes.filter((tax) => tax.amount !== 0 || (tax.embedded_amount ?? 0) !== 0)
  if (taxes.length === 0 || taxes.length === tax_data.taxes.length) return tax_data
  const rates = taxes.reduce((sum, { tax }) => sum.plus(tax), new Exact(0))
  return { ...tax_data, total_tax: rates.toNumber(), taxes }
}

interface LateUsageRun {
  readonly aid: number
  readonly cycleKey: string
  readonly money: MoneyFormat
  readonly nowMs: number
}

/**
 * The lines of the run for it: the difference; or what was invoiced before, with the opposite sign,
 * and the charge, if they have different taxes. Their stamps are the same in a repeated run.
 */
export function lateUsageDocuments(run: LateUsageRun, line: LateUsage): CycleUsageDocument[] {
  const { former } = line.uninvoiced
  const id = `late/${line.stamp}`
  const parts =
    former === null || taxesOf(former) === taxesOf(line)
      ? [{ id, charge: chargedBeyond(line, former) }]
      : [
          { id: `${id}/former`, charge: chargedBeyond(nothingOf(former), former) },
          { id, charge: chargedBeyond(line, null) },
        ]
  return parts
    .filter(({ charge }) => isCharge(charge))
    .map(({ id: each, charge }) => lateUsageDocument(run, line, each, charge))
}

function taxesOf({ tax_data: { taxes } }: Charged): string {
  return JSON.stringify(taxes.map(({ key, tax }) => [key, tax]))
}

/** No charge, with the same taxes. */
function nothingOf({ tax_data }: Charged): Charged {
  return {
    ...{ usagev: 0, aprice: 0, final_charge: 0 },
    tax_data: { ...tax_data, total_amount: 0, taxes: tax_data.taxes.map(withoutAmount) },
    exact: { aprice: '0', tax: '0', final_charge: '0' },
  }
}

function lateUsageDocument(
  { aid, cycleKey, money, nowMs }: LateUsageRun,
  line: LateUsage,
  id: string,
  beyond: Charged,
): CycleUsageDocument {
  const { stamp, sid, usaget, arate_key, plan, billrun, urt, last_urt, uninvoiced } = line
  const isPrice = uninvoiced.former?.usagev === line.usagev
  const since = uninvoiced.since.toISOString()
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

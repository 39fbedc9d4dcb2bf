/** Credit notes: how much of an invoice they may still take back. */
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { Exact, exactAmount } from '../../catalog/records/money/exact-amount.ts'
import { moneyText, ZERO } from '../amount.ts'
import { currencyDigits, moneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'
import type { Adjustment } from '../invoices/invoice-bill.ts'

/** A requested adjustment; without an amount the whole note. */
export interface RequestedAdjustment {
  readonly invoiceId: number
  readonly amount: Exact | null
}

/**
 * The parts of the note that its invoices take. `total`: of the note, positive. The last note of
 * an invoice may exceed the rest by `tolerance`, the rounding of its taxes, and takes the rest.
 * `currencyCode`: of amounts in errors. Rejects with `BillingError`.
 */
export async function adjustmentsOf(
  catalog: Catalog,
  session: ClientSession | null,
  aid: number,
  requested: readonly RequestedAdjustment[],
  total: Exact,
  tolerance: Exact,
  currencyCode: number,
): Promise<Adjustment[]> {
  const left = await leftOf(
    catalog,
    session,
    aid,
    requested.map(({ invoiceId }) => invoiceId),
  )
  return allotted(requested, left, total, tolerance, currencyCode)
}

/** Pure. Throws `BillingError`. */
export function allotted(
  requested: readonly RequestedAdjustment[],
  leftOfInvoices: ReadonlyMap<number, Exact>,
  total: Exact,
  tolerance: Exact,
  currencyCode: number,
): Adjustment[] {
  let open = new Exact(total)
  const adjusted = requested.map(({ invoiceId, amount: amountValue }) => {
    const most = leftOfInvoices.get(invoiceId)
    if (most === undefined)
      throw new BillingError(`adjusts: there is no invoice ${invoiceId}`, { path: 'adjusts' })
    const amount = new Exact(amountValue ?? open)
    if (amount.lessThanOrEqualTo(0)) {
      throw new BillingError(`adjusts: the amount for invoice ${invoiceId} must be above 0`, {
        path: 'adjusts',
      })
    }
    if (amount.minus(most).greaterThan(tolerance) || most.isZero()) {
      const digits = currencyDigits(currencyCode)
      const text = (each: Exact) => moneyFormat(currencyCode)(moneyText(each, digits))
      const [left, requestedText] = [most, amount].map(text)
      throw new BillingError(
        `adjusts: invoice ${invoiceId} has ${left} left, less than ${requestedText}`,
        { path: 'adjusts' },
      )
    }
    open = open.minus(amount)
    return { invoiceId, amount: amount.greaterThan(most) ? most : amount }
  })
  if (open.abs().greaterThan(tolerance)) {
    throw new BillingError('adjusts: the amounts do not add up to the total of the credit note', {
      path: 'adjusts',
    })
  }
  return adjusted
}

/** The amounts that confirmed invoices have left after earlier notes. */
async function leftOf(
  catalog: Catalog,
  session: ClientSession | null,
  aid: number,
  ids: readonly number[],
): Promise<Map<number, Exact>> {
  const within = session === null ? {} : { session }
  const invoices = await catalog.bills
    .find({ aid, type: 'inv', invoice_id: { $in: [...ids] } }, within)
    .toArray()
  const notes = await catalog.billrun
    .find({ aid, 'adjusts.invoice_id': { $in: [...ids] } } as never, {
      ...within,
      projection: { adjusts: 1 },
    })
    .toArray()
  const left = new Map<number, Exact>()
  for (const { invoice_id: id = 0, due } of invoices) {
    const amount = exactAmount(due)
    if (amount.greaterThan(0)) left.set(id, amount)
  }
  for (const { adjusts } of notes) {
    for (const { invoice_id: id, amount } of adjusts as readonly StoredAdjustment[]) {
      left.set(id, (left.get(id) ?? ZERO).minus(exactAmount(amount)))
    }
  }
  return left
}

interface StoredAdjustment {
  readonly invoice_id: number
  readonly amount: unknown
}

/** Balances of accounts and debts to collect. Reads only. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/entities/bill.ts'
import { Exact, exactAmount } from '../../catalog/records/exact-amount.ts'
import { moneyText, ZERO } from '../amount.ts'

/** Without records that take each other back. */
export const ACTIVE = {
  cancelled: { $ne: true },
  cancel: { $exists: false },
  rejected: { $ne: true },
  rejection: { $ne: true },
  denied_by: { $exists: false },
  is_denial: { $ne: true },
} as const

/** Bills that are not covered, or by unconfirmed payments only. */
export const UNPAID = { paid: { $in: ['0', '2'] } } as const

export interface BalanceOptions {
  /** Only bills that may be collected, or came, by this time; all if null. */
  readonly date: Date | null
  /** With bills that came by `date` but may only be collected later. */
  readonly withFuture?: boolean
}

/** Positive amounts are owed by the customer. Texts have two decimals. */
export interface AccountBalance {
  readonly total: string
  /** Without payments that are not confirmed. */
  readonly without_waiting: string
  readonly total_pending_amount: number
}

export async function accountBalance(
  catalog: Catalog,
  aid: number,
  options: BalanceOptions,
): Promise<AccountBalance> {
  const { total, waiting } =
    options.date === null
      ? await currentSums(catalog, aid)
      : await sumsOf(catalog, { aid, ...ACTIVE, ...byDate(options.date, options.withFuture) })
  return {
    total: moneyText(total),
    without_waiting: moneyText(total.minus(waiting)),
    total_pending_amount: waiting.abs().toNumber(),
  }
}

/** Current balances, with and without unconfirmed payments, of those accounts that have bills. */
export async function currentBalances(
  catalog: Catalog,
  aids: readonly number[],
): Promise<Map<number, { readonly total: Exact; readonly withoutWaiting: Exact }>> {
  const found = await catalog.run('read the books of accounts', () =>
    catalog.books.find({ _id: { $in: [...aids] } }).toArray(),
  )
  if (found.length === 0) return new Map()
  const waiting = await waitingSums(
    catalog,
    found.map(({ _id }) => _id),
  )
  return new Map(
    found.map(({ _id: aid, totals }) => {
      const total = exactAmount(totals.receivable).plus(exactAmount(totals.credit))
      return [aid, { total, withoutWaiting: total.minus(waiting.get(aid) ?? ZERO) }]
    }),
  )
}

async function waitingSums(catalog: Catalog, aids: readonly number[]): Promise<Map<number, Exact>> {
  const filter = { aid: { $in: [...aids] }, paid: '2', ...ACTIVE }
  const bills = await catalog.run('add up bills', () =>
    catalog.bills.find(filter as Filter<BillDocument>).toArray(),
  )
  const sums = new Map<number, Exact>()
  for (const { aid, due, pending, waiting_for_confirmation: isWaiting } of bills) {
    if (pending !== true && isWaiting !== true) continue
    sums.set(aid, (sums.get(aid) ?? ZERO).plus(exactAmount(due)))
  }
  return sums
}

interface Sums {
  readonly total: Exact
  /** Sum of unconfirmed payments. */
  readonly waiting: Exact
}

/** From the totals of the journal, and the few bills that are not confirmed. */
async function currentSums(catalog: Catalog, aid: number): Promise<Sums> {
  const books = await catalog.run('read the books of an account', () =>
    catalog.books.findOne({ _id: aid }),
  )
  if (books === null) return sumsOf(catalog, { aid, ...ACTIVE })
  const { receivable, credit } = books.totals
  const { waiting } = await sumsOf(catalog, { aid, paid: '2', ...ACTIVE })
  return { total: exactAmount(receivable).plus(exactAmount(credit)), waiting }
}

async function sumsOf(catalog: Catalog, filter: object): Promise<Sums> {
  let [total, waiting]: [Exact, Exact] = [ZERO, ZERO]
  const projection = { _id: 0, due: 1, pending: 1, waiting_for_confirmation: 1 }
  await catalog.run('add up bills', async () => {
    ;[total, waiting] = [ZERO, ZERO]
    for await (const bill of catalog.bills.find(filter as Filter<BillDocument>, { projection })) {
      const due = exactAmount(bill.due)
      total = total.plus(due)
      if (bill.pending === true || bill.waiting_for_confirmation === true) {
        waiting = waiting.plus(due)
      }
    }
  })
  return { total, waiting }
}

function byDate(date: Date, withFuture = false): object {
  if (withFuture) return { urt: { $lte: date } }
  return {
    $or: [
      { 'charge.not_before': { $lte: date } },
      { 'charge.not_before': { $exists: false }, urt: { $lte: date } },
    ],
  }
}

export interface DebtOptions {
  /** All accounts if null. */
  readonly aids: readonly number[] | null
  readonly nowMs: number
  /** Smaller totals are left out. */
  readonly debtMin: number
  /** Subtracts unused credits whose due date has passed; only totals of 0 are left out then. */
  readonly withCredits?: boolean
}

export interface AccountDebt {
  readonly aid: number
  readonly total: number
}

/** Debts whose due date has passed; what is only reserved counts as owed. By account. */
export async function overdueDebts(
  catalog: Catalog,
  { aids, nowMs, debtMin, withCredits = false }: DebtOptions,
): Promise<AccountDebt[]> {
  const filter = {
    ...(aids === null ? {} : { aid: { $in: [...aids] } }),
    ...UNPAID,
    ...ACTIVE,
    due_date: { $lt: new Date(nowMs) },
  }
  const totals = new Map<number, Exact>()
  await catalog.run('add up debts', async () => {
    totals.clear()
    for await (const bill of catalog.bills.find(filter as Filter<BillDocument>)) {
      const amount = overdueAmount(bill, withCredits)
      totals.set(bill.aid, (totals.get(bill.aid) ?? ZERO).plus(amount))
    }
  })
  return [...totals]
    .filter(([, total]) =>
      withCredits
        ? !total.isZero()
        : total.greaterThan(0) && total.greaterThanOrEqualTo(new Exact(debtMin)),
    )
    .sort(([a], [b]) => a - b)
    .map(([aid, total]) => ({ aid, total: total.toNumber() }))
}

function overdueAmount(bill: BillDocument, withCredits: boolean): Exact {
  if (exactAmount(bill.due).greaterThan(0)) {
    return exactAmount(bill.left_to_pay).plus(exactAmount(bill.pending_covering_amount))
  }
  return withCredits ? exactAmount(bill.left).negated() : ZERO
}

/** Balances of accounts and debts to collect. Reads only. */
import type { Filter } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { BillDocument } from '../../catalog/records/money/bill.ts'
import { Exact, exactAmount } from '../../catalog/records/money/exact-amount.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { moneyText, ZERO } from '../amount.ts'
import type { CustomerLookup } from '../customer-lookup.ts'

/** Excludes reversed payments and their reversals. */
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
  /** Decimals of the currency, in texts. */
  readonly digits: number
}

/** Positive amounts are owed by the customer. Texts have the decimals of the currency. */
export interface AccountBalance {
  readonly total: string
  /** Excludes payments that are not confirmed. */
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
    total: moneyText(total, options.digits),
    without_waiting: moneyText(total.minus(waiting), options.digits),
    total_pending_amount: waiting.abs().toNumber(),
  }
}

/** Current balances, with and without unconfirmed payments, of those accounts that have bills. */
export async function currentBalances(
  catalog: Catalog,
  aids: readonly number[],
): Promise<Map<number, { readonly total: Exact; readonly withoutWaiting: Exact }>> {
  const found = await catalog.books.find({ _id: { $in: [...aids] } }).toArray()
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
  const bills = await catalog.bills.find(filter as Filter<BillDocument>).toArray()
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
  const [books, { waiting }] = await Promise.all([
    catalog.books.findOne({ _id: aid }),
    sumsOf(catalog, { aid, paid: '2', ...ACTIVE }),
  ])
  if (books === null) return sumsOf(catalog, { aid, ...ACTIVE })
  const { receivable, credit } = books.totals
  return { total: exactAmount(receivable).plus(exactAmount(credit)), waiting }
}

async function sumsOf(catalog: Catalog, filter: object): Promise<Sums> {
  let [total, waiting]: [Exact, Exact] = [ZERO, ZERO]
  const projection = { _id: 0, due: 1, pending: 1, waiting_for_confirmation: 1 }
  await catalog.run('add up bills', async () => {
    ;[total, waiting] = [ZERO, ZERO]
    for await (const bill of catalog.unguarded.bills.find(filter as Filter<BillDocument>, {
      projection,
    })) {
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
      { due: { $gte: 0 }, 'charge.not_before': { $lte: date } },
      { 'charge.not_before': { $exists: false }, urt: { $lte: date } },
      // Credit covers debts at once.
      { due: { $lt: 0 }, urt: { $lte: date } },
    ],
  }
}

export interface DebtOptions {
  /** All accounts if null. */
  readonly aids: readonly number[] | null
  readonly nowMs: number
  /** Smaller totals are left out. */
  readonly debtMin: number
  /** Accounts that match: only their debts of which a payment was rejected count. Null: none. */
  readonly rejectionRequired: Readonly<Record<string, unknown>> | null
  readonly lookup: CustomerLookup
  /** Subtracts unused credits; only totals of 0 are left out then. */
  readonly withCredits?: boolean
}

export interface AccountDebt {
  readonly aid: number
  readonly total: number
}

/** Sums of overdue amounts of an account. */
interface Overdue {
  debts: Exact
  /** The debts of which a payment was rejected. */
  rejected: Exact
  credits: Exact
}

/**
 * Debts whose due date has passed; what is only reserved counts as owed. By account. Rejects with
 * `CustomerSystemError` if the accounts are asked for.
 */
export async function overdueDebts(
  catalog: Catalog,
  { aids, nowMs, debtMin, rejectionRequired, lookup, withCredits = false }: DebtOptions,
): Promise<AccountDebt[]> {
  const overdue = { due_date: { $lt: new Date(nowMs) } }
  const filter = {
    ...(aids === null ? {} : { aid: { $in: [...aids] } }),
    ...UNPAID,
    ...ACTIVE,
    ...(withCredits ? { $or: [overdue, { due: { $lt: 0 } }] } : overdue),
  }
  const byAccount = new Map<number, Overdue>()
  await catalog.run('add up debts', async () => {
    byAccount.clear()
    for await (const bill of catalog.unguarded.bills.find(filter as Filter<BillDocument>)) {
      addOverdue(byAccount, bill)
    }
  })
  const found = [...byAccount.keys()]
  const flagged =
    rejectionRequired === null
      ? new Set<number>()
      : await accountsWith({ catalog, lookup }, found, rejectionRequired, nowMs)
  return [...byAccount]
    .map(([aid, { debts, rejected, credits }]) => {
      const owed = flagged.has(aid) ? rejected : debts
      return { aid, total: withCredits ? owed.minus(credits) : owed }
    })
    .filter(({ total }) =>
      withCredits
        ? !total.isZero()
        : total.greaterThan(0) && total.greaterThanOrEqualTo(new Exact(debtMin)),
    )
    .sort((a, b) => a.aid - b.aid)
    .map(({ aid, total }) => ({ aid, total: total.toNumber() }))
}

function addOverdue(byAccount: Map<number, Overdue>, bill: BillDocument): void {
  const sums = byAccount.get(bill.aid) ?? { debts: ZERO, rejected: ZERO, credits: ZERO }
  byAccount.set(bill.aid, sums)
  if (!exactAmount(bill.due).greaterThan(0)) {
    sums.credits = sums.credits.plus(exactAmount(bill.left))
    return
  }
  const amount = exactAmount(bill.left_to_pay).plus(exactAmount(bill.pending_covering_amount))
  sums.debts = sums.debts.plus(amount)
  const wasRejected = (bill.past_rejections?.length ?? 0) > 0
  if (wasRejected) sums.rejected = sums.rejected.plus(amount)
}

const ACCOUNTS_AT_ONCE = 1_000

/** Accounts whose current revision matches. */
async function accountsWith(
  { catalog, lookup }: Pick<DebtOptions, 'lookup'> & { readonly catalog: Catalog },
  aids: readonly number[],
  filter: Readonly<Record<string, unknown>>,
  nowMs: number,
): Promise<Set<number>> {
  const customers = await lookup.accounts(aids, nowMs)
  if (customers !== null) {
    const matching = [...customers].filter(([, account]) => meets(account, filter))
    return new Set(matching.map(([aid]) => aid))
  }
  const now = new Date(nowMs)
  const found = new Set<number>()
  for (let index = 0; index < aids.length; index += ACCOUNTS_AT_ONCE) {
    const current = {
      type: 'account',
      aid: { $in: aids.slice(index, index + ACCOUNTS_AT_ONCE) },
      from: { $lte: now },
      to: { $gt: now },
      deleted: { $ne: true },
    }
    const matching = await catalog.subscribers.distinct('aid', { ...current, ...filter } as never)
    for (const aid of matching) found.add(Number(aid))
  }
  return found
}

/** As MongoDB evaluates the conditions of `collection.rejection_required`. */
function meets(account: Fields, filter: Readonly<Record<string, unknown>>): boolean {
  const conditions = filter['$and'] as readonly Readonly<Record<string, Fields>>[]
  return conditions.every((condition) =>
    Object.entries(condition).every(([path, operators]) => {
      let value: unknown = account
      for (const step of path.split('.')) value = isObject(value) ? value[step] : undefined
      return Object.entries(operators).every(([operator, expected]) => {
        const list = Array.isArray(expected) ? expected : [expected]
        if (operator === '$exists') return (value !== undefined) === expected
        const isIn = [value].flat().some((each) => list.includes(each))
        return operator === '$eq' || operator === '$in' ? isIn : !isIn
      })
    }),
  )
}

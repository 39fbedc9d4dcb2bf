/**
 * Recomputes the bills of an account, their links and its totals from the journal, and compares
 * them with what is stored. Pure.
 */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { ZERO } from '../amount.ts'
import type { BooksTotals } from '../books/account-books.ts'
import {
  type Bill,
  isActive,
  isDebt,
  isUnusedDeposit,
  keyOf,
  openAmount,
  refOf,
} from '../books/bill.ts'
import { isBalanced, type Posting } from '../books/journal.ts'
import type { MoneyFormat } from '../currency.ts'

/** Stored bills, postings and totals of an account. */
export interface RecordedBooks {
  readonly aid: number
  readonly bills: readonly Bill[]
  /** By number. */
  readonly postings: readonly Posting[]
  readonly totals: BooksTotals
  /** Number of the newest posting. */
  readonly number: number
}

/** A value that is not what the journal says. */
export interface BooksDifference {
  /** A bill, such as `inv:101`; a posting; or `account`. */
  readonly subject: string
  readonly what: string
  readonly expected: string
  readonly found: string
  /** `expected` and `found` are amounts of money; absent for other values. */
  readonly isMoney?: true
}

export function booksDifferenceText(
  { subject, what, expected, found, isMoney }: BooksDifference,
  money: MoneyFormat,
): string {
  const text = isMoney ? money : String
  return `${subject}: ${what}: ${text(expected)} expected, ${text(found)} found`
}

/** Empty if everything agrees. */
export function checkBooks(records: RecordedBooks): BooksDifference[] {
  const sums = sumsOf(records.postings)
  return [
    ...checkPostings(records),
    ...records.bills.flatMap((bill) => checkBill(bill, sums)),
    ...unknownBills(records, sums),
    ...checkTotals(records, sums),
  ]
}

/**
 * Compares the balance of the journal at a past time with that of the bills. Bills are booked when
 * they are stored; a deposit counts from its use; bills that were removed since do not count.
 */
export function checkBooksAt(
  { bills, postings }: Pick<RecordedBooks, 'bills' | 'postings'>,
  at: Date,
): BooksDifference[] {
  const removed = new Set(
    postings
      .filter(({ event }) => event === 'delete')
      .flatMap(({ entries }) => entries.map(({ document }) => keyOf(document))),
  )
  const stored = new Set(bills.map((bill) => keyOf(refOf(bill))))
  const { totals } = sumsOf(
    postings
      .filter(({ booked }) => booked <= at)
      .map((posting) => ({
        ...posting,
        entries: posting.entries.filter(({ document }) => {
          const key = keyOf(document)
          return !removed.has(key) || stored.has(key)
        }),
      })),
  )
  let due: Exact = ZERO
  for (const bill of bills) {
    const { process_time: booked, unfreeze_date: used } = bill.fields
    const since = used ?? booked
    if (since !== undefined && since <= at) due = due.plus(bill.due)
  }
  const expected = totals.receivable.plus(totals.credit)
  return differ('account', `balance at ${at.toISOString()}`, expected, due)
}

interface Sums {
  readonly totals: Record<keyof BooksTotals, Exact>
  /** Balances of receivables, credit and deposit, by bill. */
  readonly open: Map<string, Exact>
  /** Amounts covered, by posting. */
  readonly covers: Map<string, { readonly amount: Exact; readonly bills: readonly string[] }>
  readonly documents: ReadonlySet<string>
}

function sumsOf(postings: readonly Posting[]): Sums {
  const totals = { receivable: ZERO, credit: ZERO, deposit: ZERO, gateway: ZERO }
  const open = new Map<string, Exact>()
  const covers: Sums['covers'] = new Map()
  const documents = new Set<string>()
  for (const posting of postings) {
    for (const { account, document, amount } of posting.entries) {
      const key = keyOf(document)
      documents.add(key)
      const [name = ''] = account.split(':', 1)
      if (Object.hasOwn(totals, name)) {
        const total = name as keyof BooksTotals
        totals[total] = totals[total].plus(amount)
        if (total !== 'gateway') open.set(key, (open.get(key) ?? ZERO).plus(amount))
      }
    }
    const { event, id, entries, reverses } = posting
    const [first] = entries
    if (event === 'cover' && first !== undefined) {
      const bills = entries.map(({ document }) => keyOf(document))
      covers.set(id, { amount: first.amount.abs(), bills })
    } else if (event === 'uncover' && reverses !== undefined) covers.delete(reverses)
  }
  return { totals, open, covers, documents }
}

function checkPostings({ aid, postings, number }: RecordedBooks): BooksDifference[] {
  const known = new Set(postings.map(({ id }) => id))
  const found = postings.flatMap((posting, index) => [
    ...(isBalanced(posting) ? [] : [difference(posting.id, 'sum of entries', '0', 'another')]),
    ...differ(posting.id, 'number', index + 1, posting.number),
    ...differ(posting.id, 'account', aid, posting.aid),
    ...(posting.reverses === undefined || known.has(posting.reverses)
      ? []
      : [difference(posting.id, 'reversed posting', posting.reverses, 'nothing')]),
  ])
  return [...found, ...differ('account', 'number of postings', postings.length, number)]
}

function checkBill(bill: Bill, { open, covers, documents }: Sums): BooksDifference[] {
  const key = keyOf(refOf(bill))
  const found = (open.get(key) ?? ZERO).abs()
  if (!isActive(bill)) {
    return [
      ...differ(key, 'open amount in the journal', ZERO, found),
      ...differ(key, 'links', 0, bill.links.length),
    ]
  }
  const stored = isUnusedDeposit(bill) ? amountOfDeposit(bill) : openAmount(bill)
  const side = (open.get(key) ?? ZERO).isNegative() ? 'credit' : 'debt'
  const expectedSide = isDebt(bill) ? 'debt' : 'credit'
  const links = bill.links.map(({ posting, amount }) => ({ posting, amount }))
  const covering = [...covers].filter(([, { bills }]) => bills.includes(key))
  return [
    ...(documents.has(key) || bill.amount.isZero()
      ? []
      : [difference(key, 'posting', 'one', 'nothing')]),
    ...(stored.isNegative()
      ? [
          {
            ...difference(key, 'open amount, not negative', '0', `${stored}`),
            isMoney: true as const,
          },
        ]
      : []),
    ...differ(key, 'open amount', found, stored),
    ...(found.isZero() ? [] : differ(key, 'side', side, expectedSide)),
    ...differ(key, 'links', covering.length, links.length),
    ...links.flatMap(({ posting, amount }) =>
      differ(key, `amount of ${posting}`, covers.get(posting)?.amount ?? ZERO, amount),
    ),
  ]
}

function amountOfDeposit({ fields }: Bill): Exact {
  return ZERO.plus(String(fields.deposit_amount ?? 0))
}

/** Bills of the journal that are not stored; those that were removed are at 0. */
function unknownBills({ bills }: RecordedBooks, { open }: Sums): BooksDifference[] {
  const stored = new Set(bills.map((bill) => keyOf(refOf(bill))))
  return [...open]
    .filter(([key, amount]) => !stored.has(key) && !amount.isZero())
    .map(([key]) => difference(key, 'bill', 'one', 'nothing'))
}

function checkTotals({ totals }: RecordedBooks, sums: Sums): BooksDifference[] {
  return (Object.keys(sums.totals) as (keyof BooksTotals)[]).flatMap((name) =>
    differ('account', `total of ${name}`, sums.totals[name], totals[name]),
  )
}

function differ(
  subject: string,
  what: string,
  expected: Exact | number | string,
  found: Exact | number | string,
): BooksDifference[] {
  const [one, other] = [String(expected), String(found)]
  if (one === other) return []
  const isMoney = typeof found === 'object' ? { isMoney: true as const } : {}
  return [{ ...difference(subject, what, one, other), ...isMoney }]
}

function difference(
  subject: string,
  what: string,
  expected: string,
  found: string,
): BooksDifference {
  return { subject, what, expected, found }
}

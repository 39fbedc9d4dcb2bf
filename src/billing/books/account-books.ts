/**
 * The books of one account while an operation works on them: its bills, as far as they are loaded,
 * and the postings that the operation adds. Pure; store-books.ts loads and writes them.
 */
import { AssertionError } from 'node:assert'
import type { Actor } from '../../catalog/actor.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { allocate, type OpenPart } from '../allocate.ts'
import { least, ZERO } from '../amount.ts'
import { moneyFormat } from '../currency.ts'
import {
  type Bill,
  type BillRef,
  isActive,
  isDebt,
  isUnconfirmed,
  isUnusedDeposit,
  keyOf,
  type Link,
  openAmount,
  refOf,
} from './bill.ts'
import {
  coverPosting,
  isBalanced,
  type Posting,
  type PostingDraft,
  uncoverPosting,
} from './journal.ts'

/** Why the books change. */
export interface Cause {
  readonly nowMs: number
  readonly actor: Actor
  readonly reason?: string
}

export type BooksTotals = Readonly<Record<'receivable' | 'credit' | 'deposit' | 'gateway', Exact>>

export interface StoredBooks {
  readonly aid: number
  /** Number of the newest posting; 0 without any. */
  readonly number: number
  readonly totals: BooksTotals
  /** Open ones, and those that the operation names, with the bills linked to them. */
  readonly bills: readonly Bill[]
}

export const NO_TOTALS: BooksTotals = {
  receivable: ZERO,
  credit: ZERO,
  deposit: ZERO,
  gateway: ZERO,
}

export class AccountBooks {
  readonly aid: number
  readonly cause: Cause
  readonly now: Date
  /** Numeric code of the currency of all bills. */
  readonly currencyCode: number
  readonly #bills = new Map<string, Bill>()
  readonly #changed = new Set<Bill>()
  readonly #postings: Posting[] = []
  readonly #totals: Record<keyof BooksTotals, Exact>
  #number: number

  constructor({ aid, number, totals, bills }: StoredBooks, cause: Cause, currencyCode: number) {
    this.aid = aid
    this.cause = cause
    this.now = new Date(cause.nowMs)
    this.currencyCode = currencyCode
    this.#number = number
    this.#totals = { ...totals }
    for (const bill of bills) this.#bills.set(keyOf(refOf(bill)), copyOf(bill))
  }

  get postings(): readonly Posting[] {
    return this.#postings
  }

  get changed(): ReadonlySet<Bill> {
    return this.#changed
  }

  get totals(): BooksTotals {
    return this.#totals
  }

  /** Number of the newest posting. */
  get number(): number {
    return this.#number
  }

  get nextNumber(): number {
    return this.#number + 1
  }

  bill(ref: BillRef): Bill | undefined {
    return this.#bills.get(keyOf(ref))
  }

  bills(): IterableIterator<Bill> {
    return this.#bills.values()
  }

  /** Adds a bill and the posting that belongs to it, if it is not part of another one. */
  add(bill: Bill, posting?: PostingDraft): void {
    this.#bills.set(keyOf(refOf(bill)), bill)
    this.#changed.add(bill)
    if (posting !== undefined) this.post(posting)
  }

  /** Marks a bill whose fields were changed. */
  touch(bill: Bill): void {
    this.#changed.add(bill)
  }

  post(draft: PostingDraft): void {
    if (!isBalanced(draft)) throw new AssertionError({ message: `${draft.id} is not balanced` })
    const { actor: user, reason } = this.cause
    const number = this.nextNumber
    this.#number = number
    this.#postings.push({
      ...draft,
      aid: this.aid,
      number,
      booked: this.now,
      user,
      ...(reason === undefined ? {} : { reason }),
    })
    for (const { account, amount } of draft.entries) {
      const name = totalOf(account)
      if (name !== null) this.#totals[name] = this.#totals[name].plus(amount)
    }
  }

  /** Covers a part of a debt by a credit. */
  link(debt: Bill, credit: Bill, amount: Exact): void {
    const most = least(openAmount(debt), openAmount(credit))
    if (amount.greaterThan(most) || amount.lessThanOrEqualTo(0)) {
      const part = moneyFormat(this.currencyCode)(amount)
      throw new AssertionError({ message: `cannot cover ${keyOf(refOf(debt))} by ${part}` })
    }
    const number = this.nextNumber
    const draft = coverPosting(debt, credit, amount, { number, date: this.now })
    this.post(draft)
    const isPending = isUnconfirmed(debt) || isUnconfirmed(credit)
    const link = { amount, date: this.now, posting: draft.id, isPending }
    debt.links.push({ ...refOf(credit), ...link })
    credit.links.push({ ...refOf(debt), ...link })
    this.#changed.add(debt).add(credit)
  }

  /** Dissolves all links of a bill; returns the bills at their other ends. */
  unlink(bill: Bill): Bill[] {
    return bill.links.splice(0).map((link) => {
      const other = this.#partner(link)
      const [debt, credit] = isDebt(bill) ? [bill, other] : [other, bill]
      other.links = other.links.filter(({ posting }) => posting !== link.posting)
      this.post(uncoverPosting(debt, credit, link, this.now))
      this.#changed.add(bill).add(other)
      return other
    })
  }

  /** After a payment was confirmed, or put in question again: its links are pending or not. */
  markLinks(bill: Bill): void {
    this.#changed.add(bill)
    for (const link of bill.links) {
      const other = this.#partner(link)
      const isPending = isUnconfirmed(bill) || isUnconfirmed(other)
      link.isPending = isPending
      for (const each of other.links) if (each.posting === link.posting) each.isPending = isPending
      this.#changed.add(other)
    }
  }

  #partner(link: Link): Bill {
    const other = this.bill(link)
    if (other === undefined) throw new AssertionError({ message: `${keyOf(link)} is not loaded` })
    return other
  }

  /** Debts that are not covered, in no order. */
  openDebts(): Bill[] {
    return [...this.#bills.values()].filter(
      (bill) => isDebt(bill) && isActive(bill) && openAmount(bill).greaterThan(0),
    )
  }

  /** Credits that may be used, in no order. */
  openCredits(): Bill[] {
    return [...this.#bills.values()].filter(
      (bill) =>
        bill.due.lessThan(0) &&
        isActive(bill) &&
        !isUnconfirmed(bill) &&
        !isUnusedDeposit(bill) &&
        openAmount(bill).greaterThan(0),
    )
  }

  /** Covers debts by credits as far as possible; all open ones unless given. */
  cover(
    debts: readonly Bill[] = this.openDebts(),
    credits: readonly Bill[] = this.openCredits(),
  ): void {
    for (const { debt, credit, amount } of allocate(debts.map(partOf), credits.map(partOf))) {
      this.link(debt, credit, amount)
    }
  }
}

/** Books change their bills; those that were passed in are kept. */
function copyOf(bill: Bill): Bill {
  const links = bill.links.map((link) => ({ ...link }))
  return { ...bill, fields: { ...bill.fields }, links }
}

function partOf(bill: Bill): OpenPart<Bill> {
  return {
    bill,
    id: keyOf(refOf(bill)),
    urtMs: bill.fields.urt.getTime(),
    open: openAmount(bill),
  }
}

function totalOf(account: string): keyof BooksTotals | null {
  const [name = ''] = account.split(':', 1)
  return name === 'receivable' || name === 'credit' || name === 'deposit' || name === 'gateway'
    ? name
    : null
}

/** Which bills a payment is to cover: `pays` and `paid_by`. */
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { amountFrom, rounded, sumOf, ZERO } from '../amount.ts'
import type { AccountBooks } from '../books/account-books.ts'
import {
  type Bill,
  type BillRef,
  isActive,
  isDebt,
  isUnconfirmed,
  openAmount,
  paidStateOf,
} from '../books/bill.ts'
import { BillingError } from '../errors.ts'

/** `amount` is null if it is not a positive number. */
export interface LinkWish extends BillRef {
  readonly amount: Exact | null
}

const LINKS_MAX = 10_000
const LABELS = { inv: 'Invoice', rec: 'Payment' } as const

/**
 * `{"inv": {"101": 50}, "rec": {"0000000000012": 5}}` or a list of `{"type": "inv", "id": 101,
 * "amount": 50}`; `digits`: decimals of the currency.
 * Throws `BillingError`.
 */
export function linkWishes(value: unknown, digits: number): LinkWish[] {
  if (value === undefined || value === null || value === '') return []
  if (typeof value !== 'object')
    throw new BillingError('pays and paid_by must be objects or lists', 'invalid')
  const wishes = Array.isArray(value)
    ? value.map((member: unknown) => wishOf(member, digits))
    : Object.entries(value).flatMap(([type, byId]) => wishesOf(type, byId, digits))
  if (wishes.length > LINKS_MAX)
    throw new BillingError(`pays and paid_by: at most ${LINKS_MAX}`, 'invalid')
  return merged(wishes)
}

function wishOf(member: unknown, digits: number): LinkWish {
  if (typeof member !== 'object' || member === null) {
    throw new BillingError('members of pays and paid_by have type, id and amount', 'invalid')
  }
  const { type, id, amount } = member as Record<string, unknown>
  return { ...refFrom(String(type), id), amount: linkAmount(amount, digits) }
}

function wishesOf(type: string, byId: unknown, digits: number): LinkWish[] {
  if (typeof byId !== 'object' || byId === null) {
    throw new BillingError(`${type} must have an amount by id`, 'invalid')
  }
  return Object.entries(byId).map(([id, amount]) => ({
    ...refFrom(type, id),
    amount: linkAmount(amount, digits),
  }))
}

function refFrom(type: string, id: unknown): BillRef {
  if (type !== 'inv' && type !== 'rec')
    throw new BillingError(`Unknown type of bill ${type}`, 'invalid')
  const text = typeof id === 'string' || typeof id === 'number' ? String(id) : ''
  if (type === 'rec') return { type, id: text }
  return { type, id: /^\d{1,15}$/.test(text) ? Number(text) : -1 }
}

function linkAmount(value: unknown, digits: number): Exact | null {
  const amount = amountFrom(value)
  return amount?.greaterThan(0) ? rounded(amount, digits) : null
}

/** One wish per bill. */
function merged(wishes: readonly LinkWish[]): LinkWish[] {
  const byKey = new Map<string, LinkWish>()
  for (const wish of wishes) {
    const key = `${wish.type}:${wish.id}`
    const known = byKey.get(key)
    const amount = wish.amount && known ? (known.amount?.plus(wish.amount) ?? null) : wish.amount
    byKey.set(key, { ...wish, amount })
  }
  return [...byKey.values()]
}

/** Covers the wished bills; `bill` is the new payment or refund. Throws `BillingError`. */
export function linkWished(books: AccountBooks, bill: Bill, wishes: readonly LinkWish[]): void {
  const pairs = wishes.map((wish) => ({ wish, other: otherOf(books, bill, wish) }))
  const total = sumOf(wishes.map(({ amount }) => amount ?? ZERO))
  if (total.greaterThan(openAmount(bill))) {
    throw new BillingError('Total to pay is less than the subtotals', 'refused')
  }
  for (const { wish, other } of pairs) {
    const [debt, credit] = isDebt(bill) ? [bill, other] : [other, bill]
    books.link(debt, credit, wish.amount ?? ZERO)
  }
}

function otherOf(books: AccountBooks, bill: Bill, wish: LinkWish): Bill {
  const label = LABELS[wish.type]
  const other = books.bill(wish)
  const isCovered = isDebt(bill) ? other?.due.lessThan(0) : other && isDebt(other)
  if (other === undefined || other === bill || !isCovered || !isActive(other)) {
    throw new BillingError(`Unknown ${label}/s for account ${books.aid}`, 'refused')
  }
  if (paidStateOf(other) === '1') {
    throw new BillingError(`${label} ${wish.id} already paid`, 'refused')
  }
  if (wish.amount === null)
    throw new BillingError(`Illegal amount for ${label} ${wish.id}`, 'refused')
  if (wish.amount.greaterThan(openAmount(other)) || (isDebt(bill) && isUnconfirmed(other))) {
    throw new BillingError(`${label} ${wish.id} cannot be overpaid`, 'refused')
  }
  return other
}

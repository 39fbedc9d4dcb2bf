/** A bill while an operation works on it, and its document. */
import type { BillDocument, BillLink, PaidState } from '../../catalog/records/money/bill.ts'
import { type Exact, exactAmount, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import { least, sumOf, ZERO } from '../amount.ts'

/** Invoices by number, payments and refunds by `txid`. */
export interface BillRef {
  readonly type: 'inv' | 'rec'
  readonly id: number | string
}

export interface Link extends BillRef {
  readonly amount: Exact
  readonly date: Date
  /** Id of the posting. */
  readonly posting: string
  isPending: boolean
}

/** Fields of the document; those of `COMPUTED` are not set. */
export type BillFields = Partial<BillDocument> & Pick<BillDocument, 'type' | 'aid' | 'urt'>

export interface Bill {
  /** Above 0: owed by the customer, a debt; below: owed to the customer, a credit. */
  due: Exact
  amount: Exact
  links: Link[]
  readonly fields: BillFields
  readonly isNew: boolean
}

export function refOf({ fields }: Bill): BillRef {
  const { type, invoice_id: number, txid } = fields
  return type === 'inv' ? { type: 'inv', id: number ?? 0 } : { type: 'rec', id: txid ?? '' }
}

/** `inv:101` or `rec:0000000000042`. */
export function keyOf({ type, id }: BillRef): string {
  return `${type}:${id}`
}

export function newBill(fields: BillFields, due: Exact): Bill {
  return { fields: { ...fields }, due, amount: due.abs(), links: [], isNew: true }
}

export function billOf(document: BillDocument): Bill {
  const { due, amount, pays, paid_by: paidBy } = document
  const fields: BillFields = { ...document }
  for (const name of COMPUTED) delete fields[name]
  return {
    fields,
    due: exactAmount(due),
    amount: exactAmount(amount),
    links: [...(pays ?? []), ...(paidBy ?? [])].map(linkOf),
    isNew: false,
  }
}

function linkOf({ type, id, amount, date, pending, posting }: BillLink): Link {
  return {
    type: type === 'inv' ? 'inv' : 'rec',
    id,
    amount: exactAmount(amount),
    date: date ?? new Date(0),
    posting: posting ?? '',
    isPending: pending === true,
  }
}

/** The amount that is neither covered nor used. */
export function openAmount({ due, links }: Bill): Exact {
  return due.abs().minus(sumOf(links.map(({ amount }) => amount)))
}

/** Neither reversed nor a reversal. */
export function isActive({ fields }: Bill): boolean {
  return ![
    fields.cancelled,
    fields.cancel,
    fields.rejected,
    fields.rejection,
    fields.denied_by,
    fields.is_denial,
  ].some((mark) => mark !== undefined && mark !== false && mark !== '')
}

/** Its money may still fail to arrive: what it covers is only reserved. */
export function isUnconfirmed({ fields }: Bill): boolean {
  return fields.pending === true || fields.waiting_for_confirmation === true
}

export function isUnusedDeposit({ fields }: Bill): boolean {
  return fields.deposit === true && exactAmount(fields.deposit_amount).greaterThan(0)
}

export function isDebt(bill: Bill): boolean {
  return bill.due.greaterThan(0)
}

export function paidStateOf(bill: Bill): PaidState {
  if (isActive(bill) && (isUnconfirmed(bill) || bill.links.some(({ isPending }) => isPending))) {
    return '2'
  }
  return openAmount(bill).greaterThan(0) ? '0' : '1'
}

const COMPUTED = [
  'due',
  'amount',
  'left',
  'left_to_pay',
  'vatable_left_to_pay',
  'paid',
  'paid_by',
  'pays',
  'total_paid',
  'waiting_payments',
  'pending_covering_amount',
] as const

/** With all computed fields. */
export function documentOf(bill: Bill): BillDocument {
  const { fields, due, amount, links } = bill
  const reserved = links.filter(({ isPending }) => isPending)
  return {
    ...(fields as BillDocument),
    due: storedAmount(due),
    amount: storedAmount(amount),
    total_paid: storedAmount(sumOf(links.map((link) => link.amount))),
    paid: paidStateOf(bill),
    waiting_payments: reserved.map(({ id }) => id),
    pending_covering_amount: storedAmount(sumOf(reserved.map((link) => link.amount))),
    ...(isDebt(bill) ? debtFields(bill) : creditFields(bill)),
  }
}

function debtFields(bill: Bill): Partial<BillDocument> {
  const open = openAmount(bill)
  const vatable = least(open, exactAmount(bill.fields.due_before_vat))
  return {
    left_to_pay: storedAmount(open),
    vatable_left_to_pay: storedAmount(vatable.greaterThan(0) ? vatable : ZERO),
    paid_by: bill.links.map(linkDocument),
  }
}

function creditFields(bill: Bill): Partial<BillDocument> {
  return { left: storedAmount(openAmount(bill)), pays: bill.links.map(linkDocument) }
}

function linkDocument({ type, id, amount, date, posting, isPending }: Link): BillLink {
  const link: BillLink = { type, id, amount: storedAmount(amount), date, posting }
  return isPending ? { ...link, pending: true } : link
}

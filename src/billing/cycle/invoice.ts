/** The invoice document of an account, from its lines. Pure. */
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type {
  InvoiceDocument,
  InvoiceSection,
  InvoiceSubscriberDocument,
  InvoiceTaxDocument,
  InvoiceTotalsDocument,
} from '../../catalog/records/money/invoice-document.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import type { LineTax } from '../../domain/tax.ts'
import { decimalText, numberOf, unitsOf } from './exact-sums.ts'
import type { Span } from './lines.ts'
import {
  added,
  type InvoiceAmounts,
  type InvoiceLine,
  NO_AMOUNTS,
  SubscriberSums,
  sectionTotals,
  sumOfSections,
} from './totals.ts'

export interface InvoicedSubscriber {
  readonly sid: number
  /** Its last revision in the cycle. */
  readonly document: Fields
}

export interface InvoiceInput {
  readonly aid: number
  readonly billrunKey: string
  readonly span: Span
  /** `regular`, or `immediate` outside of cycles. */
  readonly invoiceType: string
  /** Last revision of the account in the cycle. */
  readonly account: Fields
  /** In order; those without lines are listed too. */
  readonly subscribers: readonly InvoicedSubscriber[]
  readonly lines: readonly InvoiceLine[]
  /** Decimals of the smallest unit of the currency. */
  readonly currencyDigits: number
  readonly nowMs: number
  /** End of the cycle if absent. */
  readonly invoiceDateMs?: number
  readonly seller?: Fields
  readonly balance?: PastBalance
}

/** Debt of the account before this invoice; negative if it had credit. */
export interface PastBalance {
  readonly total: Exact
  /** Excludes payments that are not confirmed. */
  readonly withoutWaiting: Exact
}

export function invoiceDocument(input: InvoiceInput): InvoiceDocument {
  const { aid, billrunKey, span, account, seller, nowMs, invoiceDateMs } = input
  const sums = sumsBySubscriber(input.lines)
  const taxes = taxSums(input.lines)
  const document: InvoiceDocument = {
    aid,
    billrun_key: billrunKey,
    invoice_date: new Date(invoiceDateMs ?? span.endMs),
    start_date: new Date(span.startMs),
    end_date: new Date(span.endMs),
    creation_time: new Date(nowMs),
    attributes: attributesOf(account, input.invoiceType),
    subs: subscribersOf(input, sums),
    totals: totalsOf(sums, taxes, input.currencyDigits),
    added_data: {},
    account: snapshotOf(account),
    ...(seller !== undefined && { seller: { ...seller } }),
    tax_rules: Object.fromEntries(taxes.map(ruleOf)),
  }
  return input.balance === undefined ? document : withBalance(document, input.balance, input)
}

/** The document with the balance before the invoice, and after it. */
export function withBalance(
  document: InvoiceDocument,
  { total, withoutWaiting }: PastBalance,
  { currencyDigits }: Pick<InvoiceInput, 'currencyDigits'>,
): InvoiceDocument {
  const text = (amount: Exact) => amount.toFixed(currencyDigits, Exact.ROUND_HALF_UP)
  const { past_balance: _, ...totals } = document.totals
  const current = new Exact(total).plus(totals.after_vat_rounded)
  const past = {
    after_vat: text(total),
    without_waiting: { after_vat: text(withoutWaiting) },
  }
  return {
    ...document,
    totals: {
      ...totals,
      ...(total.isZero() ? {} : { past_balance: past }),
      current_balance: { after_vat: current.toNumber() },
    },
  }
}

type Sums = ReadonlyMap<number, SubscriberSums>

function sumsBySubscriber(lines: readonly InvoiceLine[]): Sums {
  const sums = new Map<number, SubscriberSums>()
  for (const line of lines) {
    const own = sums.get(line.sid) ?? new SubscriberSums()
    sums.set(line.sid, own)
    own.add(line)
  }
  return sums
}

/** The account first if it has lines of its own, then subscribers, those with lines only last. */
function subscribersOf(
  { aid, subscribers }: InvoiceInput,
  sums: Sums,
): InvoiceSubscriberDocument[] {
  const known = new Map(subscribers.map(({ sid, document }) => [sid, document]))
  const own = sums.has(0) ? [0] : []
  const sids = new Set([...own, ...known.keys(), ...sums.keys()])
  return [...sids].map((sid) => {
    const document = known.get(sid)
    const lines = sums.get(sid)
    const { firstname, lastname, plan } = document ?? {}
    return {
      aid,
      sid,
      ...(typeof firstname === 'string' && { firstname }),
      ...(typeof lastname === 'string' && { lastname }),
      ...(typeof plan === 'string' && { plan }),
      breakdown: lines?.breakdown() ?? {},
      totals: sectionTotals(lines?.sections() ?? new Map()),
      ...(document !== undefined && { subscriber: snapshotOf(document) }),
    }
  })
}

function totalsOf(sums: Sums, taxes: readonly TaxSum[], digits: number): InvoiceTotalsDocument {
  const sections = new Map<InvoiceSection, InvoiceAmounts>()
  for (const each of sums.values()) {
    for (const [section, amounts] of each.sections()) {
      sections.set(section, added(sections.get(section) ?? NO_AMOUNTS, amounts))
    }
  }
  const afterTax = new Exact(decimalText(sumOfSections(sections).afterTax))
  const rounded = afterTax.toDecimalPlaces(digits, Exact.ROUND_HALF_UP).plus(0).toNumber()
  return {
    ...sectionTotals(sections, true),
    after_vat_rounded: rounded,
    taxes: taxesByDescription(taxes),
    tax_data: {
      total_amount: numberOf(sum(taxes.map(({ amount }) => amount))),
      total_tax: numberOf(sum(taxes.map(({ rate }) => unitsOf(String(rate))))),
      taxes: Object.fromEntries(taxes.map((tax) => [tax.id, taxDocument(tax)])),
    },
    current_balance: { after_vat: rounded },
    grouping: [],
  }
}

/** A tax over all lines. */
interface TaxSum {
  /** The key, with the rate if it changed in between. */
  readonly id: string
  readonly key: string
  readonly description: string
  readonly type: string
  readonly rate: number
  readonly isEmbedded: boolean
  amount: bigint
}

function taxSums(lines: readonly InvoiceLine[]): readonly TaxSum[] {
  const sums = new Map<string, TaxSum>()
  for (const line of lines) {
    for (const [tax, amount] of exactTaxes(line)) {
      const { key, description, type, embedded_amount: embedded } = tax
      const taxKey = `${key} ${tax.tax}`
      const known = sums.get(taxKey)
      if (known !== undefined) known.amount += amount
      else {
        const isFirst = [...sums.values()].every((one) => one.key !== key)
        const id = isFirst ? key : taxKey
        const rate = tax.tax
        const isEmbedded = embedded !== undefined
        sums.set(taxKey, { id, key, description, type, rate, isEmbedded, amount })
      }
    }
  }
  return [...sums.values()]
}

/** The taxes of a line; the last one takes what the others leave of their exact sum. */
function exactTaxes({ exact, tax_data }: InvoiceLine): [LineTax, bigint][] {
  const { taxes } = tax_data
  const last = taxes.findLastIndex(({ embedded_amount: embedded }) => embedded === undefined)
  let left = unitsOf(exact.tax)
  const amounts = taxes.map((tax, index): [LineTax, bigint] => {
    if (index === last) return [tax, 0n]
    const amount = unitsOf(String(tax.amount))
    left -= amount
    return [tax, amount]
  })
  const remainder = amounts[last]
  if (remainder !== undefined) remainder[1] = left
  return amounts
}

function taxesByDescription(taxes: readonly TaxSum[]): Record<string, number> {
  const sums = new Map<string, bigint>()
  for (const { description, amount } of taxes) {
    sums.set(description, (sums.get(description) ?? 0n) + amount)
  }
  return Object.fromEntries([...sums].map(([name, amount]) => [name, numberOf(amount)]))
}

function taxDocument({ key, description, type, rate, amount }: TaxSum): InvoiceTaxDocument {
  return {
    key,
    description,
    type,
    tax: rate,
    amount: numberOf(amount),
    exact: decimalText(amount),
  }
}

function ruleOf({ id, description, type, rate, isEmbedded }: TaxSum) {
  return [id, { description, type, tax: rate, embed_tax: isEmbedded }] as const
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}

function attributesOf(account: Fields, invoiceType: string): InvoiceDocument['attributes'] {
  const text = (name: string) => (typeof account[name] === 'string' ? account[name] : '')
  const [firstname, lastname] = [text('firstname'), text('lastname')]
  return {
    firstname,
    lastname,
    fullname: [firstname, lastname].filter((part) => part !== '').join(' '),
    address: text('address'),
    email: text('email'),
    payment_details: paymentDetails(account),
    invoice_type: invoiceType,
  }
}

/** The card that pays, such as `card ending in 4242`; empty without one. */
function paymentDetails({ payment_gateway: gateway }: Fields): string {
  const active = isObject(gateway) ? gateway['active'] : undefined
  const digits = isObject(active) ? active['four_digits'] : undefined
  return typeof digits === 'string' && digits !== '' ? `card ending in ${digits}` : ''
}

/** Payment methods contain secrets; the rest is of the store, not of the customer. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  '_id',
  'rev',
  'deleted',
  'deleted_at',
  'payment_gateway',
])

function snapshotOf(document: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).filter(([name]) => !NOT_KEPT.has(name)))
}

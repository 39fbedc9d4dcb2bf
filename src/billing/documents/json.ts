/** The document view as JSON: amounts are decimal texts, dates ISO 8601. */
import { currencyName } from '../currency.ts'
import { isoDate, lastInstantOf } from './format.ts'
import type { Party } from './source.ts'
import { whyNoEInvoice } from './ubl/invoice.ts'
import { type GroupVat, type InvoiceView, isToPay, type TaxGroup, type ViewLine } from './view.ts'

export interface InvoiceJson {
  readonly type: 'invoice' | 'credit_note'
  readonly invoice_id: number
  readonly aid: number
  readonly billrun_key: string
  /** ISO 4217; null if no currency is configured. */
  readonly currency: string | null
  readonly invoice_date: string
  /** Null if nothing is to be paid. */
  readonly due_date: string | null
  readonly period: PeriodJson | null
  readonly adjusts: readonly { readonly invoice_id: number; readonly invoice_date: string | null }[]
  readonly seller: PartyJson
  readonly buyer: PartyJson
  readonly lines: readonly LineJson[]
  readonly taxes: readonly TaxGroupJson[]
  readonly totals: {
    readonly before_tax: string
    readonly tax: string
    readonly after_tax: string
    readonly rounding: string
    readonly payable: string
  }
  /** Why no e-invoice can be made; null if one can. */
  readonly e_invoice_refused: string | null
}

/** Both days are included. */
interface PeriodJson {
  readonly from: string
  readonly to: string
}

interface PartyJson {
  readonly name: string
  readonly street: string
  readonly zip_code: string
  readonly city: string
  readonly country: string
  readonly vat_id: string
  readonly registration_id: string
  readonly email: string
  readonly phone: string
}

interface LineJson {
  readonly sid: number
  readonly type: string
  readonly name: string
  readonly description: string
  readonly quantity: string
  readonly usage_type: string | null
  readonly prepriced?: true
  readonly period: PeriodJson | null
  readonly amount: string
  /** Before rounding. */
  readonly exact_amount: string
  /** Id of its group in `taxes`. */
  readonly tax_group: string
}

interface TaxGroupJson {
  readonly id: string
  readonly base: string
  readonly tax: string
  readonly taxes: readonly {
    readonly description: string
    readonly rate: string
    readonly amount: string
  }[]
  readonly vat: {
    readonly category: string
    readonly rate: string
    readonly reason: string
    readonly reason_code: string
  } | null
}

/** The file of it, in pieces. */
export function* jsonPieces(view: InvoiceView): Generator<string> {
  const text = JSON.stringify(jsonOf({ ...view, lines: [] }), null, 2)
  // Texts have no line breaks: it is the member of the outermost object.
  const [before, after] = text.split('\n  "lines": []')
  yield `${before}\n  "lines": [`
  const lineOf = lineJsonOf(view)
  for (const [index, line] of view.lines.entries()) {
    const lines = JSON.stringify(lineOf(line), null, 2).replaceAll('\n', '\n    ')
    yield `${index === 0 ? '' : ','}\n    ${lines}`
  }
  yield `${view.lines.length === 0 ? '' : '\n  '}]${after}\n`
}

export function jsonOf(view: InvoiceView): InvoiceJson {
  const { source, totals } = view
  const { period } = source
  const { day, money } = formatsOf(view)
  return {
    type: source.kind,
    invoice_id: source.invoiceId,
    aid: source.aid,
    billrun_key: source.billrunKey,
    currency: currencyName(source.settings.currencyCode),
    invoice_date: day(source.invoiceDate),
    due_date: isToPay(source) ? day(source.dueDate) : null,
    period: period === undefined ? null : daysOf(period, day),
    adjusts: source.adjusts.map(({ invoiceId, date }) => {
      return { invoice_id: invoiceId, invoice_date: date === undefined ? null : day(date) }
    }),
    seller: partyJson(source.settings.seller),
    buyer: partyJson(source.buyer),
    lines: view.lines.map(lineJsonOf(view)),
    taxes: view.groups.map((group) => groupJson(group, money)),
    totals: {
      before_tax: money(totals.beforeTax),
      tax: money(totals.tax),
      after_tax: money(totals.afterTax),
      rounding: money(totals.rounding),
      payable: money(totals.payable),
    },
    e_invoice_refused: whyNoEInvoice(view),
  }
}

type Amount = ViewLine['amount']

function formatsOf({ source, digits }: InvoiceView) {
  return {
    day: (at: Date) => isoDate(at, source.settings.timeZone),
    money: (amount: Amount) => moneyText(amount, digits),
  }
}

/** With the decimals of the currency, or more if the amount has more. */
export function moneyText(amount: Amount, digits: number): string {
  return amount.toFixed(Math.max(digits, amount.decimalPlaces()))
}

function daysOf(
  { start, end }: { readonly start: Date; readonly end: Date },
  day: (at: Date) => string,
): PeriodJson {
  return { from: day(start), to: day(lastInstantOf(start, end)) }
}

function partyJson(party: Party): PartyJson {
  const { name, street, zipCode, city, country, vatId, registrationId, email, phone } = party
  const rest = { street, city, country, email, phone }
  return { name, ...rest, zip_code: zipCode, vat_id: vatId, registration_id: registrationId }
}

function lineJsonOf(view: InvoiceView): (line: ViewLine) => LineJson {
  const { day, money } = formatsOf(view)
  return ({ source, amount, exact, group }) => {
    const { sid, type, name, description, quantity, usageType = null, period } = source
    const { isPrepriced } = source
    return {
      sid,
      type,
      name,
      description,
      quantity: quantity.toFixed(),
      usage_type: usageType,
      ...(isPrepriced && { prepriced: isPrepriced }),
      period: period === undefined ? null : daysOf(period, day),
      amount: money(amount),
      exact_amount: exact.toFixed(),
      tax_group: group.id,
    }
  }
}

function groupJson(group: TaxGroup, money: (amount: Amount) => string): TaxGroupJson {
  const { id, base, tax, taxes, vat } = group
  return {
    id,
    base: money(base),
    tax: money(tax),
    taxes: taxes.map(({ description, rate, amount }) => {
      return { description, rate: rate.toFixed(), amount: money(amount) }
    }),
    vat: vat === null ? null : vatJson(vat),
  }
}

function vatJson({
  category,
  rate,
  reason,
  reasonCode,
}: GroupVat): NonNullable<TaxGroupJson['vat']> {
  return { category, rate: rate.toFixed(), reason, reason_code: reasonCode }
}

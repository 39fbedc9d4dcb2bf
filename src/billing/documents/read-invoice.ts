/** A stored invoice and its lines as the source of documents. Pure. */
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { sumOf } from '../amount.ts'
import { type MoneyFormat, moneyFormat } from '../currency.ts'
import { BillingError } from '../errors.ts'
import { OtherLinesError } from './errors.ts'
import { invoiceSettingsOf } from './settings.ts'
import {
  type AdjustedInvoice,
  type InvoiceSource,
  NO_PARTY,
  type Party,
  type SourceLine,
  type SourceLineType,
  type SourcePeriod,
  type SourceTax,
} from './source.ts'

/** Differences of sums of documents from other systems, which have no exact amounts. */
const INEXACT = new Exact('1e-6')

const DECIMAL = /^-?\d{1,40}(\.\d{1,60})?(e[-+]?\d{1,3})?$/i

export interface DocumentContext {
  /** The stored category `invoices`. */
  readonly settings: unknown
  readonly currencyCode: number
  readonly timeZone: string
}

/**
 * `lines`: all of the invoice. Account, subscribers and seller are those that the invoice keeps.
 * Throws `BillingError` for an invoice without number or with other lines.
 */
export function invoiceSource(
  document: BillrunDocument,
  lines: SourceLines,
  context: DocumentContext,
): InvoiceSource {
  const { aid, billrun_key: billrunKey, invoice_id: invoiceId, totals } = document
  if (invoiceId === undefined || !isObject(totals)) {
    throw new BillingError(
      `the invoice of account ${aid} for ${billrunKey} has no number`,
      'refused',
    )
  }
  const attributes = isObject(document['attributes']) ? document['attributes'] : {}
  const account = isObject(document['account']) ? document['account'] : attributes
  const invoiceDate = dateAt(document['invoice_date']) ?? new Date(0)
  const period = periodOf(document['start_date'], document['end_date'])
  const language = textAt(account, 'invoice_language')
  const sourceLines = lines.sorted(subscriberOrder(document['subs']))
  refuseOtherLines(sourceLines, totals, invoiceId, moneyFormat(context.currencyCode))
  return {
    aid,
    billrunKey,
    invoiceId,
    kind: kindOf(document),
    invoiceDate,
    ...(period === undefined || attributes['invoice_type'] === 'immediate' ? {} : { period }),
    dueDate: dateAt(document['due_date']) ?? invoiceDate,
    due: amountAt(totals['after_vat_rounded']),
    lines: sourceLines,
    adjusts: adjustedInvoices(document['adjusts']),
    buyer: buyerOf(account),
    ...(language === '' ? {} : { language }),
    subscribers: subscriberNames(document['subs']),
    settings: invoiceSettingsOf(
      { settings: context.settings, seller: document['seller'] },
      context,
    ),
  }
}

/** A credit note adjusts earlier invoices, and has a negative total. */
export function kindOf({ adjusts, totals }: BillrunDocument): InvoiceSource['kind'] {
  const due = isObject(totals) ? amountAt(totals['after_vat_rounded']) : null
  return adjustedInvoices(adjusts).length > 0 && due?.isNegative() ? 'credit_note' : 'invoice'
}

function refuseOtherLines(
  lines: readonly SourceLine[],
  totals: Fields,
  invoiceId: number,
  money: MoneyFormat,
): void {
  const { exact, before_vat: beforeTax } = totals
  const isExact = isObject(exact) && exact['before_vat'] !== undefined
  const total = amountAt(isExact ? exact['before_vat'] : beforeTax)
  const difference = sumOf(lines.map(({ amount }) => amount)).minus(total)
  if (difference.abs().lessThanOrEqualTo(isExact ? 0 : INEXACT)) return
  throw new OtherLinesError(invoiceId, difference, money)
}

function adjustedInvoices(value: unknown): readonly AdjustedInvoice[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((entry) => {
    if (!isObject(entry) || typeof entry['invoice_id'] !== 'number') return []
    const date = dateAt(entry['invoice_date'])
    return [{ invoiceId: entry['invoice_id'], ...(date === undefined ? {} : { date }) }]
  })
}

function buyerOf(account: Fields): Party {
  const person = [textAt(account, 'firstname'), textAt(account, 'lastname')]
  const company = textAt(account, 'company_name')
  return {
    ...NO_PARTY,
    name: company === '' ? person.filter((part) => part !== '').join(' ') : company,
    street: textAt(account, 'address'),
    zipCode: textAt(account, 'zip_code'),
    city: textAt(account, 'city'),
    country: textAt(account, 'country'),
    vatId: textAt(account, 'vat_id'),
    registrationId: textAt(account, 'registration_id'),
    email: textAt(account, 'email'),
    phone: textAt(account, 'phone'),
    endpoint: textAt(account, 'endpoint'),
    endpointScheme: textAt(account, 'endpoint_scheme'),
  }
}

function subscriberNames(subs: unknown): ReadonlyMap<number, string> {
  return new Map(
    objectsOf(subs).map((sub) => {
      const parts = [textAt(sub, 'firstname'), textAt(sub, 'lastname')]
      return [Number(sub['sid']), parts.filter((part) => part !== '').join(' ')]
    }),
  )
}

function subscriberOrder(subs: unknown): ReadonlyMap<number, number> {
  return new Map(objectsOf(subs).map((sub, index) => [Number(sub['sid']), index]))
}

const TYPES: readonly SourceLineType[] = [
  'flat',
  'service',
  'usage',
  'credit',
  'conditional_charge',
  'discount',
]

/**
 * Collects the stored lines of an invoice in any order and in any number of parts. Usage is one
 * line per rate and tax, and one more if it is prepriced. Equal texts, quantities, periods and
 * taxes are kept once: an invoice may have a hundred thousand lines.
 */
export class SourceLines {
  readonly #usage = new Map<string, SourceLine>()
  readonly #others: SourceLine[] = []
  readonly #kept = new Map<string, unknown>()

  add(lines: readonly Fields[]): this {
    for (const line of lines) this.#add(this.#lineOf(line))
    return this
  }

  /** In an order that does not depend on that of the store. */
  sorted(order: ReadonlyMap<number, number>): readonly SourceLine[] {
    const place = ({ sid }: SourceLine) => order.get(sid) ?? order.size + sid
    const start = ({ period }: SourceLine) => period?.start.getTime() ?? 0
    return [...this.#others, ...this.#usage.values()].sort(
      (a, b) =>
        place(a) - place(b) ||
        TYPES.indexOf(a.type) - TYPES.indexOf(b.type) ||
        start(a) - start(b) ||
        compareTexts(a.name, b.name) ||
        compareTexts(a.description, b.description) ||
        Number(a.isPrepriced ?? false) - Number(b.isPrepriced ?? false) ||
        b.amount.comparedTo(a.amount) ||
        compareTexts(taxesId(a), taxesId(b)),
    )
  }

  #add(line: SourceLine): void {
    if (line.type !== 'usage') {
      this.#others.push(line)
      return
    }
    const { sid, name, usageType, description, isPrepriced } = line
    const id = [sid, name, usageType, description, isPrepriced, taxesId(line)].join('\n')
    const sum = this.#usage.get(id)
    if (sum === undefined) this.#usage.set(id, line)
    else {
      const quantity = sum.quantity.plus(line.quantity)
      this.#usage.set(id, { ...sum, quantity, amount: sum.amount.plus(line.amount) })
    }
  }

  #lineOf(line: Fields): SourceLine {
    const type = typeOf(line)
    const { exact, usaget, usagev = 1 } = line
    const usageType = type === 'usage' && typeof usaget === 'string' ? { usageType: usaget } : {}
    const charged = type === 'flat' || type === 'service'
    const period = charged ? periodOf(line['start'], line['end']) : undefined
    const name = nameOf(line, type)
    const description = firstText(line, ['invoice_label', 'description', 'label'])
    const quantity = amountAt(usagev)
    const taxes = taxesOf(line['tax_data'])
    return {
      sid: Number(line['sid'] ?? 0),
      type,
      name: this.#once(`text ${name}`, name),
      description: this.#once(`text ${description}`, description),
      quantity: this.#once(`quantity ${quantity}`, quantity),
      ...usageType,
      ...(type === 'usage' && line['prepriced'] === true && { isPrepriced: true }),
      ...(period && { period: this.#once(`period ${+period.start} ${+period.end}`, period) }),
      amount: amountAt(isObject(exact) ? exact['aprice'] : line['aprice']),
      taxes: this.#once(`taxes ${JSON.stringify(taxes)}`, taxes),
    }
  }

  /** The first value with this id. */
  #once<T>(id: string, value: T): T {
    if (!this.#kept.has(id)) this.#kept.set(id, value)
    return this.#kept.get(id) as T
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function taxesId({ taxes }: SourceLine): string {
  return taxes.map(({ key, rate }) => `${key} ${rate.toFixed()}`).join(' ')
}

function typeOf({ type, usaget }: Fields): SourceLineType {
  if (type === 'flat' || type === 'service') return type
  if (type !== 'credit') return 'usage'
  return usaget === 'discount' || usaget === 'conditional_charge' ? usaget : 'credit'
}

function nameOf(line: Fields, type: SourceLineType): string {
  if (type === 'flat' || type === 'service') return firstText(line, ['name'])
  if (type === 'usage') return firstText(line, ['arate_key', 'name'])
  return firstText(line, ['key', 'rate', 'arate_key'])
}

/** Taxes on top of the price: those within it are not listed. */
function taxesOf(data: unknown): readonly SourceTax[] {
  const taxes = isObject(data) ? objectsOf(data['taxes']) : []
  return taxes
    .filter((tax) => tax['embedded_amount'] === undefined)
    .map((tax) => ({
      key: textAt(tax, 'key'),
      description: textAt(tax, 'description'),
      type: textAt(tax, 'type') === '' ? 'vat' : textAt(tax, 'type'),
      rate: amountAt(tax['tax']),
    }))
}

function objectsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function firstText(fields: Fields, names: readonly string[]): string {
  for (const name of names) {
    const text = textAt(fields, name)
    if (text !== '') return text
  }
  return ''
}

function textAt(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value.trim() : ''
}

/** Amounts are numbers, decimal texts, or decimals of MongoDB. A missing one is 0. */
function amountAt(value: unknown): Exact {
  if (value === undefined || value === null) return new Exact(0)
  const text = String(value)
  if (!DECIMAL.test(text))
    throw new BillingError(`an invoice has '${text}' as an amount`, 'refused')
  return new Exact(text)
}

function dateAt(value: unknown): Date | undefined {
  if (value instanceof Date) return value
  if (typeof value !== 'string') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}

function periodOf(from: unknown, to: unknown): SourcePeriod | undefined {
  const [start, end] = [dateAt(from), dateAt(to)]
  return start === undefined || end === undefined || end <= start ? undefined : { start, end }
}

/**
 * The e-invoice of EN 16931 as UBL 2.1: `Invoice` 380, or `CreditNote` 381 for a credit note.
 * Discounts are allowances of the document, conditional charges its charges.
 */
import type { Exact } from '../../../catalog/records/money/exact-amount.ts'
import { sumOf } from '../../amount.ts'
import { currencyDigits, currencyName } from '../../currency.ts'
import { EInvoiceError } from '../errors.ts'
import { isoDate, lastInstantOf } from '../format.ts'
import type { InvoiceSource, SourcePeriod } from '../source.ts'
import {
  type GroupVat,
  type InvoiceView,
  isToPay,
  type TaxGroup,
  type ViewLine,
  viewOf,
} from '../view.ts'
import { customerXml, partiesOf, supplierXml, type UblParties } from './parties.ts'
import { aggregate, basic, ublDocument, type Xml } from './xml.ts'

const CUSTOMIZATION = 'urn:cen.eu:en16931:2017'
/** EN 16931 permits no more (BR-DEC). */
const DIGITS_MAX = 2
/** Units of UN/ECE recommendation 20 by usage type: seconds, bytes; else pieces. */
const UNITS: Readonly<Record<string, string>> = { call: 'SEC', data: 'AD' }
const PIECES = 'C62'

/** Context of the elements of one document. */
interface Ubl {
  readonly view: InvoiceView
  readonly isCredit: boolean
  readonly currency: string
}

/**
 * The document in pieces. Throws `EInvoiceError` if mandatory data is missing, or if EN 16931
 * cannot express the invoice.
 */
export function ublPieces(source: InvoiceSource): Iterable<string> {
  const { currencyCode } = source.settings
  const view = withLine(viewOf(source, Math.min(DIGITS_MAX, currencyDigits(currencyCode))))
  const { currency, parties } = checked(view)
  const isCredit = source.kind === 'credit_note'
  const ubl: Ubl = { view, isCredit, currency }
  return ublDocument(isCredit ? 'CreditNote' : 'Invoice', children(ubl, parties))
}

function* children(ubl: Ubl, parties: UblParties): Generator<Xml> {
  const { view } = ubl
  const { source } = view
  yield headXml(ubl)
  yield periodXml(ubl, source.period)
  for (const adjusted of source.adjusts) yield referenceXml(ubl, adjusted)
  yield supplierXml(parties)
  yield customerXml(parties, source)
  yield paymentXml(ubl)
  for (const line of view.lines) if (isAllowance(line)) yield allowanceXml(ubl, line)
  yield taxXml(ubl)
  yield totalsXml(ubl)
  let number = 0
  for (const line of view.lines) {
    if (isAllowance(line)) continue
    number += 1
    yield lineXml(ubl, line, number)
  }
}

function checked(view: InvoiceView): { currency: string; parties: UblParties } {
  const missing: string[] = []
  const currency = currencyName(view.source.settings.currencyCode)
  if (currency === null) missing.push('rating.currencyCode')
  const parties = partiesOf(view, missing)
  if (view.groups.some(({ vat, taxes }) => vat === null && taxes.length === 0)) {
    missing.push('invoices.untaxed')
  }
  if (missing.length > 0) {
    throw new EInvoiceError(`EN 16931 needs data that is missing: ${missing.join(', ')}`, missing)
  }
  refuseInexpressible(view)
  return { currency: currency ?? '', parties }
}

/** Why no e-invoice can be made of an invoice; null if one can. */
export function whyNoEInvoice(view: InvoiceView): string | null {
  try {
    checked(withLine(view))
    return null
  } catch (error) {
    if (error instanceof EInvoiceError) return error.message
    throw error
  }
}

/** An invoice has a line (BR-16), also one without charges or with allowances only. */
function withLine(view: InvoiceView): InvoiceView {
  if (view.lines.some((line) => !isAllowance(line))) return view
  const { source } = view
  const [first] = source.lines
  const zero = source.due.minus(source.due)
  const taxes = first?.taxes ?? []
  const line = { sid: 0, name: 'NO_CHARGES', description: 'No charges', quantity: zero.plus(1) }
  const lines = [...source.lines, { ...line, type: 'flat', amount: zero, taxes } as const]
  return viewOf({ ...source, lines }, view.digits)
}

function refuseInexpressible({ groups, totals, source }: InvoiceView): void {
  const other = groups.find(({ vat }) => vat === null)
  if (other !== undefined) {
    throw new EInvoiceError(
      `invoice ${source.invoiceId}: EN 16931 permits one VAT per line, a line has ${other.id}`,
    )
  }
  if (groups.length > 1 && groups.some(({ vat }) => vat?.category === 'O')) {
    throw new EInvoiceError(
      `invoice ${source.invoiceId}: EN 16931 permits no lines beside those not subject to VAT`,
    )
  }
  if (totals.payable.decimalPlaces() > DIGITS_MAX) {
    throw new EInvoiceError(
      `invoice ${source.invoiceId}: EN 16931 permits two decimals, ${totals.payable} has more`,
    )
  }
}

function isAllowance({ source }: ViewLine): boolean {
  return source.type === 'discount' || source.type === 'conditional_charge'
}

function headXml({ view, isCredit, currency }: Ubl): Xml {
  const { source } = view
  const day = (at: Date) => isoDate(at, source.settings.timeZone)
  return [
    basic('CustomizationID', CUSTOMIZATION),
    basic('ID', String(source.invoiceId)),
    basic('IssueDate', day(source.invoiceDate)),
    isToPay(source) ? basic('DueDate', day(source.dueDate)) : '',
    isCredit ? basic('CreditNoteTypeCode', '381') : basic('InvoiceTypeCode', '380'),
    basic('DocumentCurrencyCode', currency),
  ].join('')
}

function periodXml({ view }: Ubl, period: SourcePeriod | undefined): Xml {
  if (period === undefined) return ''
  const { start, end } = period
  const { timeZone } = view.source.settings
  return aggregate(
    'InvoicePeriod',
    basic('StartDate', isoDate(start, timeZone)),
    basic('EndDate', isoDate(lastInstantOf(start, end), timeZone)),
  )
}

function referenceXml({ view }: Ubl, adjusted: InvoiceSource['adjusts'][number]): Xml {
  const { invoiceId, date } = adjusted
  const { timeZone } = view.source.settings
  return aggregate(
    'BillingReference',
    aggregate(
      'InvoiceDocumentReference',
      basic('ID', String(invoiceId)),
      date === undefined ? '' : basic('IssueDate', isoDate(date, timeZone)),
    ),
  )
}

function paymentXml({ view }: Ubl): Xml {
  const isToBePaid = isToPay(view.source)
  const { settings, invoiceId, dueDate } = view.source
  const { iban, bic, paymentTerms } = settings
  const due = `Due ${isoDate(dueDate, settings.timeZone)}`
  const means = aggregate(
    'PaymentMeans',
    // Credit transfer.
    basic('PaymentMeansCode', '30'),
    basic('PaymentID', String(invoiceId)),
    aggregate(
      'PayeeFinancialAccount',
      basic('ID', iban),
      aggregate('FinancialInstitutionBranch', basic('ID', bic)),
    ),
  )
  const asked = paymentTerms === '' ? due : paymentTerms
  const terms = isToBePaid ? asked : 'Credited to the account'
  return (iban !== '' && isToBePaid ? means : '') + aggregate('PaymentTerms', basic('Note', terms))
}

function allowanceXml({ currency, view }: Ubl, { source, amount, group }: ViewLine): Xml {
  const { description, name } = source
  if (amount.isZero()) return ''
  return aggregate(
    'AllowanceCharge',
    basic('ChargeIndicator', String(amount.isPositive())),
    basic('AllowanceChargeReason', description === '' ? name : description),
    money('Amount', amount.abs(), view, currency),
    categoryXml('TaxCategory', vatOf(group)),
  )
}

function taxXml({ view, currency }: Ubl): Xml {
  const tax = money('TaxAmount', view.totals.tax, view, currency)
  const subtotals = view.groups.map((group) => {
    return aggregate(
      'TaxSubtotal',
      money('TaxableAmount', group.base, view, currency),
      money('TaxAmount', group.tax, view, currency),
      categoryXml('TaxCategory', vatOf(group), { hasReason: true }),
    )
  })
  return aggregate('TaxTotal', tax, ...subtotals)
}

function totalsXml({ view, currency }: Ubl): Xml {
  const { beforeTax, afterTax, rounding, payable } = view.totals
  const outside = view.lines.filter(isAllowance).map(({ amount }) => amount)
  const inside = view.lines.filter((line) => !isAllowance(line)).map(({ amount }) => amount)
  const allowances = sumOf(outside.filter((amount) => amount.isNegative())).negated()
  const charges = sumOf(outside.filter((amount) => !amount.isNegative()))
  const optional = (name: string, amount: Exact) => {
    return amount.isZero() ? '' : money(name, amount, view, currency)
  }
  return aggregate(
    'LegalMonetaryTotal',
    money('LineExtensionAmount', sumOf(inside), view, currency),
    money('TaxExclusiveAmount', beforeTax, view, currency),
    money('TaxInclusiveAmount', afterTax, view, currency),
    optional('AllowanceTotalAmount', allowances),
    optional('ChargeTotalAmount', charges),
    optional('PayableRoundingAmount', rounding),
    money('PayableAmount', payable, view, currency),
  )
}

/** The price is that of all units, so that it is exact; a refund has a negative quantity. */
function lineXml(ubl: Ubl, { source, amount, group }: ViewLine, number: number): Xml {
  const { view, isCredit, currency } = ubl
  const { description, name, quantity, usageType = '', sid, period, isPrepriced } = source
  const units = quantity.isZero() ? quantity.plus(1) : quantity.abs()
  const unit = { unitCode: UNITS[usageType] ?? PIECES }
  const signed = amount.isNegative() ? units.negated() : units
  const subscriber = view.source.subscribers.get(sid) ?? ''
  const note = sid === 0 ? '' : `Subscriber ${sid} ${subscriber}`
  return aggregate(
    isCredit ? 'CreditNoteLine' : 'InvoiceLine',
    basic('ID', String(number)),
    basic('Note', note),
    basic(isCredit ? 'CreditedQuantity' : 'InvoicedQuantity', signed.toFixed(), unit),
    money('LineExtensionAmount', amount, view, currency),
    periodXml(ubl, period),
    aggregate(
      'Item',
      basic('Description', isPrepriced ? 'Third-party price' : ''),
      basic('Name', description === '' ? name : description),
      aggregate('SellersItemIdentification', basic('ID', name)),
      categoryXml('ClassifiedTaxCategory', vatOf(group)),
    ),
    aggregate(
      'Price',
      money('PriceAmount', amount.abs(), view, currency),
      basic('BaseQuantity', units.toFixed(), unit),
    ),
  )
}

/** Groups without VAT are refused before. */
function vatOf({ vat, id }: TaxGroup): GroupVat {
  if (vat === null) throw new RangeError(`a group without VAT: ${id}`)
  return vat
}

/** A category not subject to VAT has no rate (BR-O-05); only the breakdown has reasons. */
function categoryXml(
  name: string,
  { category, rate, reason, reasonCode }: GroupVat,
  { hasReason = false } = {},
): Xml {
  return aggregate(
    name,
    basic('ID', category),
    category === 'O' ? '' : basic('Percent', rate.times(100).toFixed()),
    hasReason ? basic('TaxExemptionReasonCode', reasonCode) : '',
    hasReason ? basic('TaxExemptionReason', reason) : '',
    aggregate('TaxScheme', basic('ID', 'VAT')),
  )
}

function money(name: string, amount: Exact, { digits }: InvoiceView, currencyID: string): Xml {
  return basic(name, amount.toFixed(Math.max(digits, amount.decimalPlaces())), { currencyID })
}

/** An invoice as texts in its language: what HTML and PDF print. */
import { sumOf } from '../amount.ts'
import { type Formats, formatsOf } from './format.ts'
import type { InvoiceColumn, InvoiceSource, Party } from './source.ts'
import type { Language, Texts } from './texts.ts'
import { type InvoiceView, isToPay, type TaxGroup, type ViewLine } from './view.ts'

export interface Presentation {
  readonly locale: string
  readonly direction: 'ltr' | 'rtl'
  readonly title: string
  readonly number: string
  /** Number, dates, account. */
  readonly facts: readonly Fact[]
  readonly seller: PartyText
  readonly buyer: PartyText
  readonly columns: readonly ColumnText[]
  /** Lines of each subscriber; those of the account are first. */
  readonly sections: readonly Section[]
  /** Base and amount of each tax. */
  readonly taxes: readonly TaxText[]
  readonly totals: readonly PrintedTotal[]
  /** Reasons of exemptions, and terms and ways of payment. */
  readonly notes: readonly string[]
  readonly footer: string
  readonly texts: Texts
}

export interface Fact {
  readonly label: string
  readonly value: string
}

export interface PartyText {
  readonly label: string
  readonly name: string
  /** Address, numbers and contact, one line each. */
  readonly lines: readonly string[]
}

export interface ColumnText {
  readonly name: InvoiceColumn
  readonly label: string
  readonly isNumber: boolean
}

export interface Section {
  readonly title: string
  readonly lines: readonly PrintedLine[]
  readonly total: string
}

export interface PrintedLine {
  /** In the order of the columns. */
  readonly cells: readonly Cell[]
}

export interface Cell {
  readonly column: InvoiceColumn
  readonly text: string
  readonly isNumber: boolean
}

export interface TaxText {
  readonly description: string
  readonly rate: string
  readonly base: string
  readonly amount: string
}

export interface PrintedTotal {
  readonly label: string
  readonly value: string
  readonly isPayable: boolean
}

const NUMBERS: ReadonlySet<InvoiceColumn> = new Set(['quantity', 'tax', 'amount'])

export function presentationOf(view: InvoiceView, language: Language): Presentation {
  const { source, digits } = view
  const { settings } = source
  const { texts, locale, isRightToLeft } = language
  const formats = formatsOf(locale, settings, digits)
  const label = (name: string) => texts[name] ?? name
  return {
    locale,
    direction: isRightToLeft ? 'rtl' : 'ltr',
    title: label(source.kind),
    number: String(source.invoiceId),
    facts: factsOf(source, formats, label),
    seller: partyText(settings.seller, label('from'), locale, label),
    buyer: partyText(source.buyer, label('to'), locale, label),
    columns: settings.columns.map((name) => {
      return { name, label: label(name), isNumber: NUMBERS.has(name) }
    }),
    sections: sectionsOf(view, formats, label),
    taxes: taxesOf(view, formats, label),
    totals: totalsOf(view, formats, label),
    notes: notesOf(view, label),
    footer: settings.footer,
    texts,
  }
}

type Label = (name: string) => string

function factsOf(source: InvoiceSource, formats: Formats, label: Label): readonly Fact[] {
  const { period, adjusts } = source
  const facts = [
    { label: label('number'), value: String(source.invoiceId) },
    { label: label('invoice_date'), value: formats.date(source.invoiceDate) },
  ]
  if (period !== undefined) {
    facts.push({ label: label('period'), value: formats.period(period) })
  }
  if (isToPay(source)) {
    facts.push({ label: label('due_date'), value: formats.date(source.dueDate) })
  }
  facts.push({ label: label('account'), value: String(source.aid) })
  if (adjusts.length > 0) {
    const value = adjusts.map(({ invoiceId }) => String(invoiceId)).join(', ')
    facts.push({ label: label('corrects'), value })
  }
  return facts
}

function partyText(party: Party, name: string, locale: string, label: Label): PartyText {
  const lines = [
    party.street,
    [party.zipCode, party.city].filter((part) => part !== '').join(' '),
    countryText(party.country, locale),
    party.vatId === '' ? '' : `${label('vat_id')} ${party.vatId}`,
    party.registrationId === '' ? '' : `${label('registration_id')} ${party.registrationId}`,
    party.email,
    party.phone,
  ]
  return { label: name, name: party.name, lines: lines.filter((line) => line !== '') }
}

/** The name of a country that is given as a code. */
function countryText(country: string, locale: string): string {
  if (!/^[A-Za-z]{2}$/.test(country)) return country
  return new Intl.DisplayNames([locale], { type: 'region' }).of(country.toUpperCase()) ?? country
}

function sectionsOf(view: InvoiceView, formats: Formats, label: Label): readonly Section[] {
  const bySubscriber = new Map<number, ViewLine[]>()
  const charged = new Set<number>()
  for (const line of view.lines) {
    if (!line.exact.isZero()) charged.add(line.source.sid)
  }
  const { hideZero } = view.source.settings
  for (const line of view.lines) {
    if (hideZero && !charged.has(line.source.sid)) continue
    const { sid } = line.source
    const found = bySubscriber.get(sid)
    if (found === undefined) bySubscriber.set(sid, [line])
    else found.push(line)
  }
  const ordered = [...bySubscriber].sort(([a], [b]) => Number(b === 0) - Number(a === 0))
  const cells: CellsOf = (line, at) => cellsOf(view, line, at, formats, label)
  let position = 0
  return ordered.map(([sid, lines]) => ({
    title: sid === 0 ? label('account_lines') : subscriberText(view.source, sid, label),
    lines: lines.map((line) => {
      position += 1
      return new LazyLine(line, position, cells)
    }),
    total: formats.money(sumOf(lines.map(({ amount }) => amount))),
  }))
}

type CellsOf = (line: ViewLine, position: number) => readonly Cell[]

/** Cells exist while they are read: those of all lines would take much memory. */
class LazyLine implements PrintedLine {
  readonly #line: ViewLine
  readonly #position: number
  readonly #cellsOf: CellsOf

  constructor(line: ViewLine, position: number, cellsOf: CellsOf) {
    this.#line = line
    this.#position = position
    this.#cellsOf = cellsOf
  }

  get cells(): readonly Cell[] {
    return this.#cellsOf(this.#line, this.#position)
  }

  /** For templates, which see own members only. */
  toLiquid(): PrintedLine {
    return { cells: this.cells }
  }

  toJSON(): PrintedLine {
    return this.toLiquid()
  }
}

function subscriberText({ subscribers }: InvoiceSource, sid: number, label: Label): string {
  const name = subscribers.get(sid) ?? ''
  return `${label('subscriber')} ${sid}${name === '' ? '' : ` · ${name}`}`
}

function cellsOf(
  { source }: InvoiceView,
  line: ViewLine,
  position: number,
  formats: Formats,
  label: Label,
): readonly Cell[] {
  const { description, name, period, isPrepriced } = line.source
  const mark = isPrepriced ? ` (${label('prepriced')})` : ''
  const texts: Readonly<Record<InvoiceColumn, () => string>> = {
    position: () => String(position),
    description: () => `${description === '' ? name : description}${mark}`,
    period: () => (period === undefined ? '' : formats.period(period)),
    quantity: () => formats.quantity(line.source),
    tax: () => rateText(line.group, formats, label),
    amount: () => formats.money(line.amount),
  }
  return source.settings.columns.map((column) => {
    return { column, text: texts[column](), isNumber: NUMBERS.has(column) }
  })
}

function rateText({ taxes }: TaxGroup, formats: Formats, label: Label): string {
  if (taxes.length === 0) return label('untaxed')
  return taxes.map(({ rate }) => formats.percent(rate)).join(' + ')
}

function taxesOf(view: InvoiceView, formats: Formats, label: Label): readonly TaxText[] {
  const { hideZero } = view.source.settings
  const visible = view.groups.filter(({ base }) => !(hideZero && base.isZero()))
  return visible.flatMap(({ taxes, base }) => {
    const bases = formats.money(base)
    if (taxes.length === 0) {
      const none = formats.money(base.minus(base))
      return [{ description: label('untaxed'), rate: '', base: bases, amount: none }]
    }
    return taxes.map(({ description, rate, amount }) => ({
      description,
      rate: formats.percent(rate),
      base: bases,
      amount: formats.money(amount),
    }))
  })
}

function totalsOf(
  { source, totals }: InvoiceView,
  formats: Formats,
  label: Label,
): readonly PrintedTotal[] {
  const { beforeTax, tax, afterTax, rounding, payable } = totals
  const plain = { isPayable: false }
  const rows = [
    { label: label('before_tax'), value: formats.money(beforeTax), ...plain },
    { label: label('tax'), value: formats.money(tax), ...plain },
    { label: label('after_tax'), value: formats.money(afterTax), ...plain },
  ]
  if (!rounding.isZero()) {
    rows.push({ label: label('rounding'), value: formats.money(rounding), ...plain })
  }
  const isOwed = payable.isNegative() !== (source.kind === 'credit_note')
  const name = isOwed ? 'credited' : 'payable'
  const value = formats.money(payable.abs())
  return [...rows, { label: label(name), value, isPayable: true }]
}

function notesOf({ source, groups }: InvoiceView, label: Label): readonly string[] {
  const { paymentTerms, iban, bic, hideZero } = source.settings
  const reasons = groups.flatMap(({ vat, base }) => {
    return vat === null || (hideZero && base.isZero()) ? [] : [vat.reason]
  })
  const account = [
    iban === '' ? '' : `${label('iban')} ${iban}`,
    bic === '' ? '' : `${label('bic')} ${bic}`,
  ]
  const payment = isToPay(source) ? [paymentTerms, account.filter(Boolean).join(', ')] : []
  return [...reasons, ...payment].filter((note) => note !== '')
}

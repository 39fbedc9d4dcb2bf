/** Sums of the lines of an invoice, on every level. Pure. */
import type {
  AmountsDocument,
  BreakdownDocument,
  InvoiceSection,
  SectionTotals,
} from '../../catalog/records/money/invoice-document.ts'
import { INVOICE_SECTIONS } from '../../catalog/records/money/invoice-document.ts'
import type { FinalCharge } from '../../domain/tax.ts'
import { decimalText, numberOf, unitsOf } from './exact-sums.ts'

/** A line of an invoice: usage, a credit, or a line of the cycle. */
export interface InvoiceLine extends FinalCharge {
  readonly sid: number
  readonly type: string
  readonly usaget?: string
  readonly usagev?: number
  readonly name?: string
  readonly key?: string
  readonly description?: string
  readonly label?: string
  readonly rate?: string
  readonly arate_key?: string
}

export function sectionOf({ type, usaget }: InvoiceLine): InvoiceSection {
  if (type === 'flat' || type === 'service') return type
  if (type !== 'credit') return 'usage'
  if (usaget === 'discount' || usaget === 'refund') return usaget
  return 'charge'
}

/** Exact sums (exact-sums.ts). */
export interface InvoiceAmounts {
  readonly beforeTax: bigint
  readonly afterTax: bigint
  readonly taxed: bigint
}

export const NO_AMOUNTS: InvoiceAmounts = { beforeTax: 0n, afterTax: 0n, taxed: 0n }

export function added(a: InvoiceAmounts, b: InvoiceAmounts): InvoiceAmounts {
  return {
    beforeTax: a.beforeTax + b.beforeTax,
    afterTax: a.afterTax + b.afterTax,
    taxed: a.taxed + b.taxed,
  }
}

export function amountsOf(line: InvoiceLine): InvoiceAmounts {
  const { exact, tax_data } = line
  const beforeTax = unitsOf(exact.aprice)
  const isTaxed = tax_data.taxes.some(
    ({ amount, embedded_amount: embedded = 0 }) => amount !== 0 || embedded !== 0,
  )
  const afterTax = unitsOf(exact.final_charge)
  return { beforeTax, afterTax, taxed: isTaxed ? beforeTax : 0n }
}

/** Lines of one section with the same name. */
interface Entry {
  readonly name: string
  readonly description: string
  count: number
  usagev: bigint
  amounts: InvoiceAmounts
}

/** The lines of one subscriber, or of the account (sid 0). */
export class SubscriberSums {
  readonly #sections = new Map<InvoiceSection, Map<string, Entry>>()

  add(line: InvoiceLine): void {
    const section = sectionOf(line)
    const { name, description } = namesOf(line)
    const entries = this.#sections.get(section) ?? new Map<string, Entry>()
    this.#sections.set(section, entries)
    const id = `${name}\n${description}`
    let entry = entries.get(id)
    if (entry === undefined) {
      entry = { name, description, count: 0, usagev: 0n, amounts: NO_AMOUNTS }
      entries.set(id, entry)
    }
    entry.count += 1
    entry.usagev += unitsOf(String(line.usagev ?? 0))
    entry.amounts = added(entry.amounts, amountsOf(line))
  }

  /** Sums by section, only those that have lines. */
  sections(): ReadonlyMap<InvoiceSection, InvoiceAmounts> {
    const sums = new Map<InvoiceSection, InvoiceAmounts>()
    for (const [section, entries] of this.#sections) {
      const all = [...entries.values()].map(({ amounts }) => amounts)
      sums.set(section, all.reduce(added, NO_AMOUNTS))
    }
    return sums
  }

  breakdown(): Partial<Record<InvoiceSection, BreakdownDocument[]>> {
    const result: Partial<Record<InvoiceSection, BreakdownDocument[]>> = {}
    for (const section of INVOICE_SECTIONS) {
      const entries = this.#sections.get(section)
      if (entries !== undefined) result[section] = [...entries.values()].map(breakdownOf)
    }
    return result
  }
}

function namesOf(line: InvoiceLine): { name: string; description: string } {
  const { type, name, key, rate, arate_key: rateKey, label, description } = line
  if (type === 'flat' || type === 'service') return { name: name ?? '', description: '' }
  if (type !== 'credit') return { name: rateKey ?? name ?? '', description: '' }
  return { name: key ?? rate ?? rateKey ?? '', description: description ?? label ?? '' }
}

function breakdownOf({ name, description, count, usagev, amounts }: Entry): BreakdownDocument {
  const { beforeTax, afterTax } = amounts
  return {
    name,
    ...(description !== '' && description !== name && { description }),
    count,
    usagev: numberOf(usagev),
    cost: numberOf(beforeTax),
    after_vat: numberOf(afterTax),
    exact: { cost: decimalText(beforeTax), after_vat: decimalText(afterTax) },
  }
}

export function amountsDocument({ beforeTax, afterTax, taxed }: InvoiceAmounts): AmountsDocument {
  const exact = {
    before_vat: decimalText(beforeTax),
    after_vat: decimalText(afterTax),
    vatable: decimalText(taxed),
  }
  return {
    before_vat: Number(exact.before_vat),
    after_vat: Number(exact.after_vat),
    vatable: Number(exact.vatable),
    exact,
  }
}

export function sumOfSections(
  sections: ReadonlyMap<InvoiceSection, InvoiceAmounts>,
): InvoiceAmounts {
  return [...sections.values()].reduce(added, NO_AMOUNTS)
}

/** `always`: sections without lines too. */
export function sectionTotals(
  sections: ReadonlyMap<InvoiceSection, InvoiceAmounts>,
  always = false,
): SectionTotals {
  const totals: SectionTotals = amountsDocument(sumOfSections(sections))
  for (const section of INVOICE_SECTIONS) {
    const amounts = sections.get(section)
    if (amounts !== undefined || always) totals[section] = amountsDocument(amounts ?? NO_AMOUNTS)
  }
  return totals
}

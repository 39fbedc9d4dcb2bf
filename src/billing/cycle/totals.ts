/** Sums of the lines of an invoice, on every level. Pure. */
import { Exact } from '../../catalog/records/exact-amount.ts'
import type {
  AmountsDocument,
  BreakdownDocument,
  InvoiceSection,
  SectionTotals,
} from '../../catalog/records/invoice-document.ts'
import { INVOICE_SECTIONS } from '../../catalog/records/invoice-document.ts'
import type { FinalCharge } from '../../domain/tax.ts'
import { ZERO } from '../amount.ts'

/** A line of an invoice, whoever has written it. */
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

export interface Amounts {
  readonly beforeTax: Exact
  readonly afterTax: Exact
  readonly taxed: Exact
}

export const NO_AMOUNTS: Amounts = { beforeTax: ZERO, afterTax: ZERO, taxed: ZERO }

export function added(a: Amounts, b: Amounts): Amounts {
  return {
    beforeTax: a.beforeTax.plus(b.beforeTax),
    afterTax: a.afterTax.plus(b.afterTax),
    taxed: a.taxed.plus(b.taxed),
  }
}

export function amountsOf(line: InvoiceLine): Amounts {
  const { exact, tax_data } = line
  const beforeTax = new Exact(exact.aprice)
  const isTaxed = tax_data.taxes.some(
    ({ amount, embedded_amount: embedded = 0 }) => amount !== 0 || embedded !== 0,
  )
  const afterTax = new Exact(exact.final_charge)
  return { beforeTax, afterTax, taxed: isTaxed ? beforeTax : ZERO }
}

/** Lines of one section with the same name. */
interface Entry {
  readonly name: string
  readonly description: string
  count: number
  usagev: Exact
  amounts: Amounts
}

/** The lines of one subscriber, or of the account (sid 0). */
export class SubscriberSums {
  readonly #sections = new Map<InvoiceSection, Map<string, Entry>>()

  add(line: InvoiceLine): void {
    const section = sectionOf(line)
    const { name, description } = namesOf(line)
    let entries = this.#sections.get(section)
    if (entries === undefined) this.#sections.set(section, (entries = new Map()))
    const id = `${name}\n${description}`
    let entry = entries.get(id)
    if (entry === undefined) {
      entry = { name, description, count: 0, usagev: ZERO, amounts: NO_AMOUNTS }
      entries.set(id, entry)
    }
    entry.count += 1
    entry.usagev = entry.usagev.plus(line.usagev ?? 0)
    entry.amounts = added(entry.amounts, amountsOf(line))
  }

  /** Sums by section, only those that have lines. */
  sections(): ReadonlyMap<InvoiceSection, Amounts> {
    const sums = new Map<InvoiceSection, Amounts>()
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
    usagev: usagev.toNumber(),
    cost: beforeTax.toNumber(),
    after_vat: afterTax.toNumber(),
    exact: { cost: beforeTax.toString(), after_vat: afterTax.toString() },
  }
}

export function amountsDocument({ beforeTax, afterTax, taxed }: Amounts): AmountsDocument {
  return {
    before_vat: beforeTax.toNumber(),
    after_vat: afterTax.toNumber(),
    vatable: taxed.toNumber(),
    exact: {
      before_vat: beforeTax.toString(),
      after_vat: afterTax.toString(),
      vatable: taxed.toString(),
    },
  }
}

export function sumOfSections(sections: ReadonlyMap<InvoiceSection, Amounts>): Amounts {
  return [...sections.values()].reduce(added, NO_AMOUNTS)
}

/** `always`: sections without lines too. */
export function sectionTotals(
  sections: ReadonlyMap<InvoiceSection, Amounts>,
  always = false,
): SectionTotals {
  const totals: SectionTotals = amountsDocument(sumOfSections(sections))
  for (const section of INVOICE_SECTIONS) {
    const amounts = sections.get(section)
    if (amounts !== undefined || always) totals[section] = amountsDocument(amounts ?? NO_AMOUNTS)
  }
  return totals
}

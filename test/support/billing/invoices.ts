/** Invoices for tests of documents. */
import { buffer } from 'node:stream/consumers'
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import {
  createDocuments,
  type DocumentFile,
  type DocumentFormat,
  type Documents,
} from '../../../src/billing/documents/documents.ts'
import {
  documentMaker,
  type MakerDeps,
  renderDocument,
} from '../../../src/billing/documents/make.ts'
import { invoiceSettingsOf } from '../../../src/billing/documents/settings.ts'
import {
  type InvoiceSettings,
  type InvoiceSource,
  NO_PARTY,
  type SourceLine,
  type SourceTax,
} from '../../../src/billing/documents/source.ts'
import type { DocumentThreads } from '../../../src/billing/run/document-threads.ts'
import { type ExpectedDeps, expectedSource } from '../../../src/billing/run/expected.ts'
import type { ComputeAccount } from '../../../src/billing/run/process-page.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'

export const SELLER = {
  name: 'Tel & Tel GmbH',
  street: 'Ring 1',
  zip_code: '10115',
  city: 'Berlin',
  country: 'DE',
  vat_id: 'DE123456789',
  registration_id: 'HRB 1234',
  email: 'billing@tel.example',
  phone: '+49 30 1234',
}

/** `stored`: the category `invoices`. */
export function settings(stored: object = {}, currencyCode = 978): InvoiceSettings {
  const bank = { iban: 'DE02120300000000202051', bic: 'BYLADEM1001' }
  const value = { seller: SELLER, ...bank, untaxed: { category: 'E' }, ...stored }
  return invoiceSettingsOf({ settings: value }, { currencyCode, timeZone: 'Europe/Berlin' })
}

export function vat(rate: string, key = `VAT_${rate.slice(2)}`): SourceTax {
  return { key, description: 'VAT', type: 'vat', rate: new Exact(rate) }
}

export function line(amount: string, changes: Partial<SourceLine> = {}): SourceLine {
  return {
    sid: 7,
    type: 'flat',
    name: 'PLAN_X',
    description: 'Plan X',
    quantity: new Exact(1),
    amount: new Exact(amount),
    taxes: [vat('0.19')],
    ...changes,
  }
}

export function invoice(
  due: string,
  lines: readonly SourceLine[],
  changes: Partial<InvoiceSource> = {},
): InvoiceSource {
  return {
    aid: 17,
    billrunKey: '202405',
    invoiceId: 101,
    kind: 'invoice',
    invoiceDate: new Date('2024-05-01T00:00:00+02:00'),
    period: {
      start: new Date('2024-04-01T00:00:00+02:00'),
      end: new Date('2024-05-01T00:00:00+02:00'),
    },
    dueDate: new Date('2024-05-14T00:00:00+02:00'),
    due: new Exact(due),
    lines,
    adjusts: [],
    buyer: { ...NO_PARTY, name: 'Dana Levi', street: 'Weg 2', city: 'Berlin', country: 'DE' },
    subscribers: new Map([[7, 'Dana']]),
    settings: settings(),
    ...changes,
  }
}

/** Documents that are made in this thread. */
export function inlineDocuments(deps: MakerDeps): Documents {
  return createDocuments(deps.config.invoices, documentMaker(deps))
}

/** Stand in for the threads of documents. */
export function inlineThreads(
  deps: ExpectedDeps & MakerDeps,
  compute: ComputeAccount = computeAccount,
): DocumentThreads {
  const expect: MakerDeps['expect'] = (expected) => expectedSource(deps, compute, expected)
  return { make: documentMaker({ ...deps, expect }), close: async () => undefined }
}

export function bytesOf({ bytes }: DocumentFile): Promise<Buffer> {
  return buffer(bytes)
}

/** The document of an invoice. `templates`: folder of the operator. */
export async function rendered(
  source: InvoiceSource,
  format: DocumentFormat,
  templates = '',
): Promise<Buffer> {
  const pieces: Buffer[] = []
  const write = (piece: string | Uint8Array) => void pieces.push(Buffer.from(piece as string))
  await renderDocument(source, format, templates, { write })
  return Buffer.concat(pieces)
}

/** Sum of exact final charges, rounded half away from zero: what a bill of these lines is. */
export function dueOf(lines: readonly SourceLine[], digits = 2): string {
  let total = new Exact(0)
  for (const { amount, taxes } of lines) {
    let rate = new Exact(1)
    for (const tax of taxes) rate = rate.plus(tax.rate)
    total = total.plus(amount.times(rate))
  }
  return total.toDecimalPlaces(digits, Exact.ROUND_HALF_UP).toFixed()
}

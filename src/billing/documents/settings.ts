/** Settings of invoices: the stored category `invoices`, with defaults. */
import { Value } from '@sinclair/typebox/value'
import {
  InvoicesSchema,
  SellerSchema,
  type StoredInvoiceSettings,
  type StoredSeller,
} from '../../catalog/settings/money/invoice-settings.ts'
import {
  type InvoiceColumn,
  type InvoiceSettings,
  NO_PARTY,
  type Party,
  type TaxTreatment,
  type VatCategory,
} from './source.ts'

const DEFAULT_COLUMNS: readonly InvoiceColumn[] = [
  'description',
  'period',
  'quantity',
  'tax',
  'amount',
]

/** Reasons that EN 16931 demands, where the settings have none (text, VATEX code). */
const REASONS: Readonly<Record<VatCategory, readonly [string, string]>> = {
  S: ['', ''],
  Z: ['', ''],
  E: ['Exempt from VAT', ''],
  AE: ['Reverse charge', 'VATEX-EU-AE'],
  G: ['Export outside the EU', 'VATEX-EU-G'],
  O: ['Not subject to VAT', 'VATEX-EU-O'],
}

/** `stored`: the category, and the seller that the invoice keeps. Invalid values are left out. */
export function invoiceSettingsOf(
  stored: { readonly settings: unknown; readonly seller?: unknown },
  { currencyCode, timeZone }: { readonly currencyCode: number; readonly timeZone: string },
): InvoiceSettings {
  const settings: StoredInvoiceSettings = Value.Check(InvoicesSchema, stored.settings)
    ? stored.settings
    : {}
  const seller = Value.Check(SellerSchema, stored.seller) ? stored.seller : settings.seller
  const { untaxed, taxes = {} } = settings
  return {
    seller: sellerOf(seller ?? {}),
    iban: settings.iban ?? '',
    bic: settings.bic ?? '',
    language: settings.language ?? 'en-GB',
    columns: settings.columns ?? DEFAULT_COLUMNS,
    paymentTerms: settings.payment_terms ?? '',
    footer: settings.footer ?? '',
    hideZero: settings.hide_zero ?? false,
    untaxed: untaxed === undefined ? null : treatmentOf(untaxed),
    taxes: new Map(Object.entries(taxes).map(([key, value]) => [key, treatmentOf(value)])),
    currencyCode,
    timeZone,
  }
}

function sellerOf(seller: StoredSeller): Party {
  return {
    ...NO_PARTY,
    name: seller.name ?? '',
    street: seller.street ?? '',
    zipCode: seller.zip_code ?? '',
    city: seller.city ?? '',
    country: seller.country ?? '',
    vatId: seller.vat_id ?? '',
    registrationId: seller.registration_id ?? '',
    email: seller.email ?? '',
    phone: seller.phone ?? '',
    endpoint: seller.endpoint ?? '',
    endpointScheme: seller.endpoint_scheme ?? '',
  }
}

type StoredTreatment = NonNullable<StoredInvoiceSettings['untaxed']>

/** Goods with the rate 0 have no reason (BR-Z-10). */
function treatmentOf({ category, reason, reason_code: code }: StoredTreatment): TaxTreatment {
  const [usual, usualCode] = REASONS[category]
  if (category === 'Z') return { category, reason: '', reasonCode: '' }
  return { category, reason: reason ?? usual, reasonCode: code ?? usualCode }
}

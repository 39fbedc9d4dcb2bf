/** Category `invoices` of the stored configuration: the seller, and how invoices look. */
import { type Static, Type } from '@sinclair/typebox'
import { closed, flag, object, oneOf } from '../settings-schema.ts'

const text = (maxLength: number) => Type.Optional(Type.String({ maxLength, description: 'a text' }))

export const SellerSchema = object('an object of the seller', {
  name: text(200),
  street: text(200),
  zip_code: text(32),
  city: text(100),
  country: Type.Optional(
    Type.String({ pattern: '^[A-Z]{2}$', description: 'a country code (ISO 3166), as DE' }),
  ),
  vat_id: text(64),
  registration_id: text(64),
  email: text(200),
  phone: text(64),
  endpoint: text(200),
  endpoint_scheme: Type.Optional(
    Type.String({ pattern: '^[0-9A-Z]{2,4}$', description: 'a code of the list EAS, as 0088' }),
  ),
})

/** `O` is for lines that are not subject to VAT, `S` never for lines without tax. */
const TreatmentSchema = object('an object of category, reason and reason_code', {
  category: oneOf('Z', 'E', 'AE', 'G', 'O'),
  reason: text(500),
  reason_code: Type.Optional(
    Type.String({ pattern: '^VATEX-[A-Z0-9-]{1,40}$', description: 'a code as VATEX-EU-132' }),
  ),
})

/** Columns of the lines, as invoices can have them. */
export const INVOICE_COLUMNS = [
  'position',
  'description',
  'period',
  'quantity',
  'tax',
  'amount',
] as const

export const InvoicesSchema = object(
  'an object of seller, iban, bic, language, columns, payment_terms, footer, hide_zero, ' +
    'untaxed, taxes',
  {
    seller: Type.Optional(SellerSchema),
    iban: Type.Optional(
      Type.String({ pattern: '^[A-Z]{2}[0-9A-Z]{10,32}$', description: 'an IBAN without blanks' }),
    ),
    bic: Type.Optional(Type.String({ pattern: '^[0-9A-Z]{8,11}$', description: 'a BIC' })),
    language: Type.Optional(
      Type.String({
        pattern: '^[a-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}$',
        description: 'a language, as en_GB',
      }),
    ),
    columns: Type.Optional(
      Type.Array(oneOf(...INVOICE_COLUMNS), {
        minItems: 2,
        uniqueItems: true,
        contains: Type.Literal('amount'),
        description: `a list with amount, of ${INVOICE_COLUMNS.join(', ')}`,
      }),
    ),
    payment_terms: text(500),
    footer: text(1000),
    hide_zero: flag,
    untaxed: Type.Optional(TreatmentSchema),
    taxes: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Z0-9_]{1,64}$' }), TreatmentSchema, {
        ...closed,
        description: 'an object of tax keys',
      }),
    ),
  },
)

export type StoredInvoiceSettings = Static<typeof InvoicesSchema>
export type StoredSeller = Static<typeof SellerSchema>

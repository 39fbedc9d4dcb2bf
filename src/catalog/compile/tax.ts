/** Taxes. Pure; throws `FieldError` with the path of the field. */
import type { TaxRevision } from '../../domain/catalogue.ts'
import { amountAt } from '../../domain/fields.ts'
import type { ExactDecimal } from '../../domain/money.ts'
import { checkSchema } from '../entities/entity.ts'
import { type TaxDocument, TaxSchema } from '../entities/tax.ts'
import { paramsOf, type RawDocument, revisionOf } from './document.ts'

const NO_PARAMS = new Set(['rate', 'description', 'embed_tax'])

export function compileTax(document: RawDocument): TaxRevision {
  checkSchema(TaxSchema, document)
  const tax = document as RawDocument & TaxDocument
  return {
    ...revisionOf(tax),
    key: tax.key,
    description: tax.description ?? 'VAT',
    rate: plainText(amountAt(tax.rate, 'rate')),
    isEmbedded: tax.embed_tax ?? false,
    params: paramsOf(document, NO_PARAMS),
  }
}

/** Decimal notation without an exponent. */
function plainText({ digits, scale }: ExactDecimal): string {
  if (scale === 0) return String(digits)
  const text = String(digits).padStart(scale + 1, '0')
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

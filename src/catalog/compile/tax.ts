/** Taxes, and which of them apply. Pure; throws `FieldError` with the path of the field. */
import type { TaxHint, TaxRevision } from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  amountAt,
  arrayAt,
  choiceAt,
  FieldError,
  isEmpty,
  isUnset,
  objectAt,
  textAt,
} from '../../domain/fields.ts'
import type { ExactDecimal } from '../../domain/money.ts'
import { checkSchema } from '../entities/entity.ts'
import { type TaxDocument, TaxSchema } from '../entities/tax.ts'
import { paramsOf, type RawDocument, revisionOf } from './document.ts'
import { createInterner } from './interner.ts'

const NO_PARAMS = new Set(['rate', 'description', 'embed_tax'])

export function compileTax(document: RawDocument): TaxRevision {
  const tax = document as RawDocument & TaxDocument
  const { rate } = readAll({
    schema: () => checkSchema(TaxSchema, document),
    rate: () => plainText(amountAt(tax.rate, 'rate')),
  })
  return {
    ...revisionOf(tax),
    key: tax.key,
    description: tax.description ?? 'VAT',
    rate,
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

const NO_HINTS: readonly TaxHint[] = []
const TAXATIONS = ['global', 'default', 'no', 'custom'] as const
const LOGICS = ['override', 'fallback'] as const

const internedHints = createInterner<readonly TaxHint[]>(1000)

/** `tax` of a rate, plan or service. If absent: no hints, which means `global`. */
export function taxHintsAt(value: unknown, path: string): readonly TaxHint[] {
  if (isEmpty(value)) return NO_HINTS
  return internedHints.get(value, () => compileHints(value, path))
}

function compileHints(value: unknown, path: string): readonly TaxHint[] {
  return readEach(arrayAt(value, path), (entry, index) => {
    const at = `${path}.${index}`
    const hint = objectAt(entry, at)
    const custom = hint['custom_tax']
    const isCustom = hint['taxation'] === 'custom'
    return readAll({
      taxation: () => choiceAt(hint['taxation'], `${at}.taxation`, TAXATIONS),
      type: () => typeAt(hint['type'], `${at}.type`),
      customTax: () => (isCustom ? textAt(custom, `${at}.custom_tax`) : ''),
      customLogic: () => choiceAt(hint['custom_logic'], `${at}.custom_logic`, LOGICS),
    })
  })
}

/** Taxes of other types, such as `CSI`, are not in the catalogue. */
function typeAt(value: unknown, path: string): string {
  const type = isUnset(value) ? 'vat' : textAt(value, path)
  if (type === 'vat') return type
  throw new FieldError(path, `must be vat: '${type}' needs a tax service of others`)
}

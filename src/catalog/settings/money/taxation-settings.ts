/**
 * Category `taxation` of the stored configuration: the tax of rates that do not name one. Absent
 * members are taken from the node's configuration.
 */
import { FORMATS } from '../../../config/formats.ts'
import { FieldError, isEmpty, isObject, isUnset, objectAt } from '../../../domain/fields.ts'
import { compileTaxMapping, type TaxPriorities } from '../../../rating/tax-mapping.ts'

/** Section `rating` of the node's configuration. */
export interface InstalledTaxation {
  /** Empty if no default is configured. */
  readonly defaultTax: string
  readonly taxMapping: unknown
}

/** `usage`: by mapping rules; `vat`: the default tax for all that name none. */
export type TaxType = 'usage' | 'vat'

export interface Taxation {
  readonly taxType: TaxType
  /** Key; null if no default is configured. */
  readonly defaultTax: string | null
  readonly taxPriorities: TaxPriorities
}

/**
 * `{default, mapping, tax_type}`; `default` may also be `{key}`. Throws `FieldError` with the path.
 */
export function taxationOf(stored: unknown, installed: InstalledTaxation): Taxation {
  const { mapping, tax_type: type } = objectAt(stored, 'taxation', MEMBERS)
  const taxType = taxTypeAt(type, 'taxation.tax_type')
  const defaultTax = storedDefaultTax(stored) ?? (installed.defaultTax || null)
  if (taxType === 'usage') {
    const taxPriorities =
      mapping === undefined
        ? compileTaxMapping(installed.taxMapping)
        : compileTaxMapping(mapping, 'taxation.mapping')
    return { taxType, defaultTax, taxPriorities }
  }
  if (defaultTax === null) {
    throw new FieldError(
      'taxation.default',
      'is missing: with tax_type vat it is the tax',
      'missing',
    )
  }
  if (!isEmpty(mapping)) {
    throw new FieldError('taxation.mapping', 'is not used with tax_type vat')
  }
  return { taxType, defaultTax, taxPriorities: [] }
}

const MEMBERS = ['default', 'mapping', 'tax_type']

function taxTypeAt(value: unknown, path: string): TaxType {
  if (isUnset(value)) return 'usage'
  if (value === 'usage' || value === 'vat') return value
  const text = typeof value === 'string' ? `'${value}'` : 'this'
  throw new FieldError(path, `must be usage or vat: ${text} needs a tax service of others`)
}

/** The stored key; null if no default is stored. Throws `FieldError` with the path. */
export function storedDefaultTax(stored: unknown): string | null {
  const { default: defaultTax } = objectAt(stored, 'taxation')
  if (defaultTax === undefined) return null
  const isNested = isObject(defaultTax)
  const path = isNested ? 'taxation.default.key' : 'taxation.default'
  const key = isNested ? objectAt(defaultTax, 'taxation.default', ['key'])['key'] : defaultTax
  const { test, expects } = FORMATS['entity-key']
  if (typeof key === 'string' && test(key)) return key
  if (key === undefined) throw new FieldError(path, 'is missing', 'missing')
  throw new FieldError(path, expects)
}

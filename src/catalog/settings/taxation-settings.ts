/**
 * Category `taxation` of the stored configuration: the tax of rates that do not name one. Absent
 * members are taken from the node's configuration.
 */
import { FORMATS } from '../../config/formats.ts'
import { FieldError, isObject, objectAt } from '../../domain/fields.ts'
import { compileTaxMapping, type TaxPriorities } from '../../rating/tax-mapping.ts'

/** Section `rating` of the node's configuration. */
export interface InstalledTaxation {
  /** Empty if no default is configured. */
  readonly defaultTax: string
  readonly taxMapping: unknown
}

export interface Taxation {
  /** Key; null if no default is configured. */
  readonly defaultTax: string | null
  readonly taxPriorities: TaxPriorities
}

/** `{default, mapping}`; `default` may also be `{key}`. Throws `FieldError` with the path. */
export function taxationOf(stored: unknown, installed: InstalledTaxation): Taxation {
  const { mapping } = objectAt(stored, 'taxation', ['default', 'mapping'])
  return {
    defaultTax: storedDefaultTax(stored) ?? (installed.defaultTax || null),
    taxPriorities:
      mapping === undefined
        ? compileTaxMapping(installed.taxMapping)
        : compileTaxMapping(mapping, 'taxation.mapping'),
  }
}

/** The stored key; null if no default is stored. Throws `FieldError` with the path. */
export function storedDefaultTax(stored: unknown): string | null {
  const { default: given } = objectAt(stored, 'taxation')
  if (given === undefined) return null
  const isNested = isObject(given)
  const path = isNested ? 'taxation.default.key' : 'taxation.default'
  const key = isNested ? objectAt(given, 'taxation.default', ['key'])['key'] : given
  const { test, expects } = FORMATS['entity-key']
  if (typeof key === 'string' && test(key)) return key
  throw new FieldError(path, key === undefined ? 'is missing' : expects)
}

/** Rules for overrides of the prices of plans and services. */
import { type Fields, isUnset } from '../../../domain/fields.ts'
import { EntityRuleError } from '../errors.ts'
import { fieldsOf, isChanged, listOf } from './values.ts'

const PRICE_FIELDS = ['from', 'to', 'price'] as const

/**
 * All other parts of overrides are validated when the document is compiled (compile/overrides.ts).
 */
export function checkOverrides(document: Fields, stored: Fields | null): void {
  if (!isChanged(document, stored, 'overrides')) return
  for (const [index, override] of listOf(document['overrides']).map(fieldsOf).entries()) {
    for (const [tier, price] of listOf(fieldsOf(override['value'])['price']).entries()) {
      const missing = PRICE_FIELDS.find((name) => isUnset(fieldsOf(price)[name]))
      if (missing === undefined) continue
      const whose = `${String(override['type'])} ${String(override['key'])}`
      const path = `overrides.${index}.value.price.${tier}.${missing}`
      throw new EntityRuleError(`${path} is missing, in the override of ${whose}`)
    }
  }
}

/** Rules for overrides of the prices of plans and services. */
import { missing } from '../../domain/field-errors.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { throwRules } from '../../requests/errors.ts'
import { fieldsOf, isChanged, listOf } from './values.ts'

const PRICE_FIELDS = ['from', 'to', 'price'] as const

/**
 * All other parts of overrides are validated when the document is compiled (compile/overrides.ts).
 */
export function checkOverrides(document: Fields, stored: Fields | null): void {
  if (!isChanged(document, stored, 'overrides')) return
  const overrides = listOf(document['overrides']).map(fieldsOf)
  throwRules(
    overrides.flatMap((override, index) => {
      const whose = `${String(override['type'])} ${String(override['key'])}`
      const reason = `is missing, in the override of ${whose}`
      return listOf(fieldsOf(override['value'])['price']).flatMap((price, tier) => {
        const absent = PRICE_FIELDS.filter((name) => isUnset(fieldsOf(price)[name]))
        const path = `overrides.${index}.value.price.${tier}`
        return missing(
          absent.map((name) => `${path}.${name}`),
          reason,
        )
      })
    }),
  )
}

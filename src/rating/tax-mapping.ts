/** Determines the tax of a rate, plan or service by its fields (`taxation: global`). */
import { fieldAt, revisionAt, type Taxable, type TaxRevision } from '../domain/catalogue.ts'
import { arrayAt, FieldError, objectAt, textAt } from '../domain/fields.ts'

/** Determines a tax by mapping rules; null if no rule matches. */
export type TaxMapping = (taxed: Taxable, atMs: number) => TaxRevision | null

/** A tax matches if its field has a value of the rate's field. Paths into `params`, or a field. */
interface Pair {
  taxField: string
  rateField: string
}

/** Priorities, tried in order. All pairs of a priority must match. */
export type TaxPriorities = readonly (readonly Pair[])[]

/**
 * Reads `rating.taxMapping`: `{priorities: [{filters: [{tax_field, rate_field}]}]}`, or an empty
 * object. Throws `FieldError` with the path of an invalid field.
 */
export function compileTaxMapping(document: unknown, path = 'rating.taxMapping'): TaxPriorities {
  const { priorities = [] } = objectAt(document, path, ['priorities'])
  return arrayAt(priorities, `${path}.priorities`).map((priority, index) => {
    const at = `${path}.priorities.${index}`
    const filters = arrayAt(objectAt(priority, at, ['filters'])['filters'], `${at}.filters`)
    if (filters.length === 0) throw new FieldError(`${at}.filters`, 'must not be empty')
    return filters.map((filter, position) => pairAt(filter, `${at}.filters.${position}`))
  })
}

function pairAt(value: unknown, path: string): Pair {
  const filter = objectAt(value, path, ['tax_field', 'rate_field'])
  return {
    taxField: textAt(filter['tax_field'], `${path}.tax_field`),
    rateField: textAt(filter['rate_field'], `${path}.rate_field`),
  }
}

type Taxes = ReadonlyMap<string, readonly TaxRevision[]>

/**
 * Returns the mapping for the taxes of a catalogue, cached as long as these are the same object.
 */
export function createTaxMappings(priorities: TaxPriorities): (taxes: Taxes) => TaxMapping {
  const cache = new WeakMap<Taxes, TaxMapping>()
  return (taxes) => {
    const mapping = cache.get(taxes) ?? createTaxMapping(priorities, taxes)
    cache.set(taxes, mapping)
    return mapping
  }
}

/** The first priority that a tax matches decides; of several taxes the one with the lowest key. */
export function createTaxMapping(priorities: TaxPriorities, taxes: Taxes): TaxMapping {
  if (priorities.length === 0) return () => null
  const keys = [...taxes.keys()].sort()
  return (rate, atMs) => {
    const valid = keys.flatMap((key) => revisionAt(taxes.get(key), atMs) ?? [])
    for (const pairs of priorities) {
      const found = valid.find((tax) => pairs.every((pair) => matches(pair, tax, rate)))
      if (found !== undefined) return found
    }
    return null
  }
}

function matches({ taxField, rateField }: Pair, tax: TaxRevision, rate: Taxable): boolean {
  const rateValues = valuesAt(rate, rateField)
  return valuesAt(tax, taxField).some((value) => rateValues.includes(value))
}

const PARAMS = 'params.'

/** The values of a field; several if it is a list, none if it is absent. */
function valuesAt({ key, params }: Pick<Taxable, 'key' | 'params'>, field: string): string[] {
  if (field === 'key') return [key]
  const path = field.startsWith(PARAMS) ? field.slice(PARAMS.length) : field
  const value = fieldAt(params, field) ?? fieldAt(params, path)
  const list = Array.isArray(value) ? value : [value]
  return list.filter((member) => ['string', 'number'].includes(typeof member)).map(String)
}

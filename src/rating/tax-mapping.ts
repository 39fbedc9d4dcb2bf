/** Which tax a rate has by its fields (`taxation: global`, spec/action-api.md 5.8). */

import { fieldAt, type RateRevision, revisionAt, type TaxRevision } from '../domain/catalogue.ts'
import { arrayAt, FieldError, objectAt, textAt } from '../domain/fields.ts'

/** Determines a tax by mapping rules; null if no rule matches. */
export type TaxMapping = (rate: RateRevision, atMs: number) => TaxRevision | null

/** A tax matches if its field holds the value of the rate's. Paths into `params`, or a field. */
interface Pair {
  taxField: string
  rateField: string
}

/** Tried in order; the pairs of one priority must all match. */
export type TaxPriorities = readonly (readonly Pair[])[]

/**
 * Reads `rating.taxMapping`: `{priorities: [{filters: [{tax_field, rate_field}]}]}`, or nothing.
 * Throws `FieldError` with the path of what is wrong.
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

/** Mappings by the taxes of a catalogue, each made once for as long as these stay the same. */
export function createTaxMappings(priorities: TaxPriorities): (taxes: Taxes) => TaxMapping {
  const known = new WeakMap<Taxes, TaxMapping>()
  return (taxes) => {
    const mapping = known.get(taxes) ?? createTaxMapping(priorities, taxes)
    known.set(taxes, mapping)
    return mapping
  }
}

/** The first priority by which a tax matches decides; of several taxes the lowest key. */
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

function matches({ taxField, rateField }: Pair, tax: TaxRevision, rate: RateRevision): boolean {
  const wanted = valuesAt(rate, rateField)
  return valuesAt(tax, taxField).some((value) => wanted.includes(value))
}

const PARAMS = 'params.'

/** A field that is a list holds each of its members. Absent fields hold nothing. */
function valuesAt({ key, params }: RateRevision | TaxRevision, field: string): string[] {
  if (field === 'key') return [key]
  const path = field.startsWith(PARAMS) ? field.slice(PARAMS.length) : field
  const value = fieldAt(params, field) ?? fieldAt(params, path)
  const list = Array.isArray(value) ? value : [value]
  return list.filter((member) => ['string', 'number'].includes(typeof member)).map(String)
}

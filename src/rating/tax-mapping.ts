/** Which tax a rate has by its fields (`taxation: global`, spec/action-api.md 5.8). */
import { fieldAt, type RateRevision, revisionAt, type TaxRevision } from '../domain/catalogue.ts'
import type { TaxMapping } from './price.ts'
import { RuleError } from './rule-error.ts'

/** A tax matches if its field holds the value of the rate's. Paths into `params`, or a field. */
interface Pair {
  taxField: string
  rateField: string
}

/** Tried in order; the pairs of one priority must all match. */
export type TaxPriorities = readonly (readonly Pair[])[]

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads `rating.taxMapping`: a list of priorities, each a list of `{tax_field, rate_field}`. Throws
 * `RuleError` with the path of what is wrong.
 */
export function compileTaxPriorities(document: unknown, path: string): TaxPriorities {
  if (!Array.isArray(document)) throw new RuleError(path, 'must be a list of priorities')
  return document.map((priority: unknown, index) => {
    const at = `${path}.${index}`
    if (!Array.isArray(priority) || priority.length === 0) {
      throw new RuleError(at, 'must be a list of at least one pair of fields')
    }
    return priority.map((pair: unknown, position) => pairAt(pair, `${at}.${position}`))
  })
}

function pairAt(value: unknown, path: string): Pair {
  const { tax_field: taxField, rate_field: rateField } = (value ?? {}) as Fields
  if (typeof taxField !== 'string') throw new RuleError(`${path}.tax_field`, 'must be a text')
  if (typeof rateField !== 'string') throw new RuleError(`${path}.rate_field`, 'must be a text')
  return { taxField, rateField }
}

/** The first priority by which a tax matches decides; of several taxes the lowest key. */
export function createTaxMapping(
  priorities: TaxPriorities,
  taxes: ReadonlyMap<string, readonly TaxRevision[]>,
): TaxMapping {
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

/**
 * Assumed documents: a catalogue document before or after an edit, in place of the one of a case or
 * of the store, for the computation only.
 */
import type { Catalogue, Revision } from '../../domain/catalogue.ts'
import { FieldError, type Fields } from '../../domain/fields.ts'
import {
  CATALOGUE_KEYS,
  type CaseCatalogue,
  type CatalogueKey,
  catalogueAt,
  plainCase,
  type QuoteCase,
} from './case.ts'
import { compileCatalogue } from './documents.ts'
import type { QuoteSettings } from './settings.ts'

export interface AssumedDocuments {
  readonly documents: CaseCatalogue
  readonly catalogue: Catalogue
}

/** The field that identifies the documents of a list. */
const IDENTITY: Readonly<Record<CatalogueKey, string>> = {
  rates: 'key',
  plans: 'name',
  services: 'name',
  prepaidincludes: 'external_id',
  taxes: 'key',
}

/**
 * Lists of documents, each of which can be used. The only document of its key is in force at all
 * times. Throws `FieldError` with a path below `path`.
 */
export function readAssumed(
  value: unknown,
  path: string,
  settings: QuoteSettings,
): AssumedDocuments {
  const documents = withoutPeriods(catalogueAt(plainCase(value), path))
  const all = new Set(CATALOGUE_KEYS.flatMap((key) => documents[key]))
  const quote: QuoteCase = {
    name: '',
    catalogue: documents,
    account: null,
    subscribers: [],
    settings,
    events: [],
    expect: null,
    assumed: all,
  }
  try {
    const catalogue = compileCatalogue(quote, { isStrict: false, unitDigits: 0 })
    return { documents, catalogue }
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw new FieldError(error.path.replace(/^catalogue/, path), error.reason, error.code)
  }
}

function withoutPeriods(documents: CaseCatalogue): CaseCatalogue {
  const lists = CATALOGUE_KEYS.map((key) => {
    const idOf = (document: Fields) => String(document[IDENTITY[key]])
    const ids = documents[key].map(idOf)
    const isOnly = (id: string) => ids.indexOf(id) === ids.lastIndexOf(id)
    const list = documents[key].map((document) => {
      const { from: _from, to: _to, ...rest } = document
      return isOnly(idOf(document)) ? rest : document
    })
    return [key, list]
  })
  return Object.fromEntries(lists)
}

/** The case with the documents, which replace those of the same key. */
export function withAssumed(quote: QuoteCase, { documents }: AssumedDocuments): QuoteCase {
  const lists = CATALOGUE_KEYS.map((key) => {
    const replaced = new Set(documents[key].map((document) => String(document[IDENTITY[key]])))
    const kept = quote.catalogue[key].filter((one) => !replaced.has(String(one[IDENTITY[key]])))
    return [key, [...kept, ...documents[key]]]
  })
  const added = CATALOGUE_KEYS.flatMap((key) => documents[key])
  return {
    ...quote,
    catalogue: Object.fromEntries(lists),
    assumed: new Set([...(quote.assumed ?? []), ...added]),
  }
}

/** The catalogue with the revisions, which replace all those of the same key. */
export function overlaid(stored: Catalogue, { catalogue }: AssumedDocuments): Catalogue {
  const over = <K, T extends Revision>(
    before: ReadonlyMap<K, readonly T[]>,
    revisions: ReadonlyMap<K, readonly T[]>,
  ) => (revisions.size === 0 ? before : new Map([...before, ...revisions]))
  return {
    revision: stored.revision,
    rates: over(stored.rates, catalogue.rates),
    plans: over(stored.plans, catalogue.plans),
    services: over(stored.services, catalogue.services),
    taxes: over(stored.taxes, catalogue.taxes),
    prepaidIncludes: over(stored.prepaidIncludes, catalogue.prepaidIncludes),
  }
}

/** Finds stored entities that charging cannot use, and references to missing entities. */
import type { CollectionReads } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import {
  CHARGING_COLLECTIONS,
  ENTITIES,
  type EntityCollection,
} from '../../catalog/entities/entity-table.ts'
import { isUntaxed, missingTaxes } from '../../catalog/feed/stored-taxes.ts'
import { checkStored } from '../../catalog/revisions/check.ts'
import { checkReferencedNames } from '../../catalog/revisions/references.ts'
import { revisionAt } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import type { TaxContext } from '../../rating/price.ts'
import type { Problems } from './problem.ts'

const PAGE = 1000

interface Names {
  rates: ReadonlySet<string>
  services: ReadonlySet<string>
  plans: ReadonlySet<string>
}

export async function checkEntities(
  catalog: Catalog,
  taxes: TaxContext | null,
  nowMs: number,
  problems: Problems,
): Promise<void> {
  const names = {
    rates: await namesIn(catalog, 'rates', 'key'),
    services: await namesIn(catalog, 'services', 'name'),
    plans: await namesIn(catalog, 'plans', 'name'),
  }
  for (const collection of Object.keys(ENTITIES) as EntityCollection[]) {
    const isCharging = CHARGING_COLLECTIONS.some((name) => name === collection)
    for await (const document of documentsIn(catalog, collection)) {
      const key = keyOf(document)
      const isUsable = reportBroken(collection, document, isCharging ? names : null, problems)
      const isOver = document['to'] instanceof Date && document['to'].getTime() <= nowMs
      if (!isUsable || isOver || collection !== 'rates' || taxes === null) continue
      const missing = missingTaxes(taxes, document, nowMs)
      if (missing.length === 0 && isUntaxed(taxes, document, nowMs)) {
        const text = `rate ${key} has no tax, and no default is named: it is not taxed`
        problems.add({ kind: 'rate_without_tax', collection, key, text })
      }
      // With no tax in the catalogue, charging applies no taxes.
      const effect = taxes.taxes.size === 0 ? 'it is not taxed' : 'it is not charged (-5)'
      for (const tax of missing) {
        const text = `rate ${key} names tax ${tax}, which is not in force: ${effect}`
        problems.add({ kind: 'missing_tax', collection, key, text })
      }
    }
  }
}

/** Checks that the default tax of the settings exists. */
export function checkDefaultTax(
  { defaultTax, taxes }: TaxContext,
  nowMs: number,
  problems: Problems,
): void {
  if (defaultTax === null || revisionAt(taxes.get(defaultTax), nowMs) !== null) return
  const text =
    `tax ${defaultTax} is the default, and is not in force: rates without a tax ` +
    'are not charged (-5)'
  problems.add({ kind: 'missing_default_tax', collection: 'taxes', key: defaultTax, text })
}

/** Returns false if the entity cannot be used at all. */
function reportBroken(
  collection: EntityCollection,
  document: RawDocument,
  names: Names | null,
  problems: Problems,
): boolean {
  const key = keyOf(document)
  const report = (kind: 'damaged' | 'reference', text: string) =>
    problems.add({ kind, collection, key, text: `${collection} ${key}: ${text}` })
  try {
    checkStored(collection, document)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    report('damaged', `cannot be used: ${error.message}`)
    return false
  }
  if (names === null) return true
  try {
    checkReferencedNames(collection, document, names)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    report('reference', error.message)
  }
  const { plan, type } = document
  if (type === 'subscriber' && !names.plans.has(String(plan))) {
    report('reference', `plan names a plan that does not exist: ${String(plan)}`)
  }
  return true
}

function keyOf(document: RawDocument): string {
  const { key, name, sid, aid, username, _id } = document
  return String(key ?? name ?? sid ?? aid ?? username ?? _id)
}

async function namesIn(
  catalog: Catalog,
  collection: 'rates' | 'services' | 'plans',
  field: 'key' | 'name',
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for await (const document of documentsIn(catalog, collection, { [field]: 1 })) {
    names.add(String(document[field]))
  }
  return names
}

async function* documentsIn(
  catalog: Catalog,
  collection: EntityCollection,
  projection: Record<string, 1> = {},
): AsyncGenerator<RawDocument> {
  const documents = catalog.reads[collection] as unknown as CollectionReads<RawDocument>
  let after: RawDocument['_id'] | undefined
  for (;;) {
    const behind = after === undefined ? {} : { _id: { $gt: after } }
    const page = (await documents
      .find({ ...behind, deleted: { $ne: true } } as object, { projection })
      .sort({ _id: 1 })
      .limit(PAGE)
      .toArray()) as RawDocument[]
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)?._id
  }
}

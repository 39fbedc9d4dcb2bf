/** Validates entities before they are written. */
import { ObjectId } from 'mongodb'
import type { Revision } from '../../domain/catalogue.ts'
import { FieldIssues, readAll } from '../../domain/field-errors.ts'
import { FieldError } from '../../domain/fields.ts'
import { type AdjustmentKind, compileTerms } from '../compile/discount.ts'
import {
  type CompileOptions,
  LENIENT,
  type RawDocument,
  revisionOf,
  STRICT,
} from '../compile/document.ts'
import { compilePlan, compileService } from '../compile/offer.ts'
import { compilePrepaidInclude } from '../compile/prepaid-include.ts'
import { compileAccount, compileSubscriber } from '../compile/profile.ts'
import { compileRate } from '../compile/rate.ts'
import { compileTax } from '../compile/tax.ts'
import type { Catalog } from '../connection.ts'
import { withDates } from '../dates.ts'
import { checkSchema, type EntityDefinition } from '../entities/entity.ts'
import { ENTITIES, type EntityCollection } from '../entities/entity-table.ts'
import { checkLoadedReferences, checkReferences, type ExistingReferences } from './references.ts'

export interface CheckOptions {
  /** `insert`: a new revision. `replace`: the revision with this `_id`, as a whole. */
  mode: 'insert' | 'replace'
  /** IANA time zone of dates given as text without an offset. */
  timeZone: string
}

/**
 * The validated document as it would be stored. Dates may be `YYYY-MM-DD HH:MM:SS` or ISO 8601
 * strings; without `to` the revision has no end. Rejects with `FieldError`, which has all invalid
 * fields, or `CatalogUnavailableError`.
 */
export async function checkedEntity(
  catalog: Catalog,
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: CheckOptions,
): Promise<RawDocument> {
  const prepared = prepare(definitionOf(collection, document), document, options)
  const issues = new FieldIssues()
  issues.attempt(() => COMPILERS[collection](prepared, STRICT))
  if (prepared['deleted'] !== true) {
    await issues.attemptAsync(() => checkReferences(catalog, collection, prepared))
  }
  issues.throwIfAny()
  return prepared
}

/**
 * As `checkedEntity`, with references read for many documents at once (`readReferences`). Throws
 * `FieldError`.
 */
export function checkedEntityWith(
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: CheckOptions,
  existing: ExistingReferences,
): RawDocument {
  const prepared = compiled(collection, document, options)
  if (prepared['deleted'] !== true) checkLoadedReferences(collection, prepared, existing)
  return prepared
}

/** Throws `FieldError` if a stored document is invalid. */
export function checkStored(collection: EntityCollection, document: RawDocument): void {
  COMPILERS[collection](document, LENIENT)
}

function compiled(
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: CheckOptions,
): RawDocument {
  const prepared = prepare(definitionOf(collection, document), document, options)
  COMPILERS[collection](prepared, STRICT)
  return prepared
}

function definitionOf(
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
): EntityDefinition {
  const [first, second] = ENTITIES[collection]
  const isAccount = collection === 'subscribers' && document['type'] === 'account'
  return (isAccount ? second : first) as EntityDefinition
}

const COMPILERS: Readonly<
  Record<EntityCollection, (document: RawDocument, options: CompileOptions) => Revision>
> = {
  subscribers: (document, options) =>
    document['type'] === 'account'
      ? compileAccount(document, options)
      : compileSubscriber(document, options),
  plans: compilePlan,
  services: compileService,
  rates: compileRate,
  taxes: compileTax,
  prepaidincludes: compilePrepaidInclude,
  prepaidgroups: schemaCompiler(ENTITIES.prepaidgroups),
  charges: schemaCompiler(ENTITIES.charges, termsCheck('conditional_charge')),
  discounts: schemaCompiler(ENTITIES.discounts, termsCheck('discount')),
  reports: schemaCompiler(ENTITIES.reports),
  users: schemaCompiler(ENTITIES.users),
  autorenew: schemaCompiler(ENTITIES.autorenew),
}

/**
 * Entities that charging does not read are not compiled: only the schema, their own check and the
 * dates are validated.
 */
function schemaCompiler(
  [definition]: readonly EntityDefinition[],
  check = definition?.check,
): (document: RawDocument) => Revision {
  const { schema } = definition as EntityDefinition
  return (document) => {
    readAll({ schema: () => checkSchema(schema, document), more: () => check?.(document) })
    return revisionOf(document as RawDocument & { from: Date; to: Date })
  }
}

function termsCheck(kind: AdjustmentKind): EntityDefinition['check'] {
  return (document) => compileTerms(kind, document, 'UTC')
}

function prepare(
  definition: EntityDefinition,
  document: Readonly<Record<string, unknown>>,
  { mode, timeZone }: CheckOptions,
): RawDocument {
  const { _id: id = mode === 'insert' ? new ObjectId() : undefined, rev } = document
  if (!(id instanceof ObjectId)) throw new FieldError('_id', 'must be an object id')
  if (rev !== undefined && typeof rev !== 'number') throw new FieldError('rev', 'must be a number')
  return { ...withDates(document, definition.dates, timeZone), _id: id, rev: rev ?? 0 }
}

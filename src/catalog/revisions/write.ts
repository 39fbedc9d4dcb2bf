/** Validates and writes entities such that every feed notices the write. */
import { type Collection, type Document, ObjectId } from 'mongodb'
import type { Revision } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
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
import { EntityConflictError } from '../errors.ts'
import type { ProfileOwner, RevisionWrite } from './lock-document.ts'
import { checkLoadedReferences, checkReferences, type ExistingReferences } from './references.ts'
import { storeSteps } from './store-steps.ts'

/**
 * Keeps charging from using the old profile after the write is acknowledged; implemented by the
 * ledger. `begin` marks the owner; `end` removes the mark and invalidates profiles read before.
 */
export interface ProfileFence {
  begin(owner: ProfileOwner): Promise<void>
  end(owner: ProfileOwner): Promise<void>
}

export interface WriteOptions {
  /** `insert`: a new revision. `replace`: the revision with this `_id`, as a whole. */
  mode: 'insert' | 'replace'
  /** IANA time zone of dates given as text without an offset. */
  timeZone: string
  /** Required for subscribers and accounts if charging may be running. */
  fence?: ProfileFence
}

/**
 * Writes one revision of an entity and returns the stored document. Dates may be `YYYY-MM-DD
 * HH:MM:SS` or ISO 8601 strings; without `to` the revision has no end. If a document to replace has
 * a `rev`, it must equal the stored one. Rejects with `FieldError` (invalid field),
 * `DuplicateEntityError`, `EntityConflictError` or `CatalogUnavailableError` (the write may have
 * been applied).
 */
export async function writeEntity(
  catalog: Catalog,
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: WriteOptions,
): Promise<RawDocument> {
  const definition = definitionOf(collection, document)
  const prepared = await checkedEntity(catalog, collection, document, options)
  const owner = ownerOf(collection, prepared)
  const write = () => store(catalog, collection, definition, prepared, options.mode)
  if (owner === null || options.fence === undefined) return write()
  await options.fence.begin(owner)
  try {
    return await write()
  } finally {
    // Also after a failure: a write that timed out may have been applied.
    await options.fence.end(owner)
  }
}

/**
 * The validated document as it would be stored. Rejects with `FieldError` or
 * `CatalogUnavailableError`.
 */
export async function checkedEntity(
  catalog: Catalog,
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: Pick<WriteOptions, 'mode' | 'timeZone'>,
): Promise<RawDocument> {
  const prepared = compiled(collection, document, options)
  if (prepared['deleted'] !== true) await checkReferences(catalog, collection, prepared)
  return prepared
}

/**
 * As `checkedEntity`, with references read for many documents at once (`readReferences`). Throws
 * `FieldError`.
 */
export function checkedEntityWith(
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: Pick<WriteOptions, 'mode' | 'timeZone'>,
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
  options: Pick<WriteOptions, 'mode' | 'timeZone'>,
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
  charges: schemaCompiler(ENTITIES.charges),
  discounts: schemaCompiler(ENTITIES.discounts),
  reports: schemaCompiler(ENTITIES.reports),
  users: schemaCompiler(ENTITIES.users),
  autorenew: schemaCompiler(ENTITIES.autorenew),
}

/**
 * Entities that charging does not read are not compiled: only the schema, their own check and the
 * dates are validated.
 */
function schemaCompiler([definition]: readonly EntityDefinition[]): (
  document: RawDocument,
) => Revision {
  const { schema, check } = definition as EntityDefinition
  return (document) => {
    checkSchema(schema, document)
    check?.(document)
    return revisionOf(document as RawDocument & { from: Date; to: Date })
  }
}

function prepare(
  definition: EntityDefinition,
  document: Readonly<Record<string, unknown>>,
  { mode, timeZone }: Pick<WriteOptions, 'mode' | 'timeZone'>,
): RawDocument {
  const { _id: id = mode === 'insert' ? new ObjectId() : undefined, rev } = document
  if (!(id instanceof ObjectId)) throw new FieldError('_id', 'must be an object id')
  if (rev !== undefined && typeof rev !== 'number') throw new FieldError('rev', 'must be a number')
  return { ...withDates(document, definition.dates, timeZone), _id: id, rev: rev ?? 0 }
}

/** The owner of the profile that the document is a part of; null if it is not part of one. */
export function ownerOf(
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
): ProfileOwner | null {
  if (collection !== 'subscribers') return null
  return { aid: Number(document['aid']), sid: Number(document['sid'] ?? 0) }
}

async function store(
  catalog: Catalog,
  collection: EntityCollection,
  { identity }: EntityDefinition,
  document: RawDocument,
  mode: WriteOptions['mode'],
): Promise<RawDocument> {
  const step: RevisionWrite =
    mode === 'insert' ? { mode, document } : { mode, document, expectedRev: document.rev || null }
  if (mode === 'replace') await checkIdentity(catalog, collection, identity, document)
  const [stored = false] = await storeSteps(catalog, collection, [step])
  if (stored === false) throw conflictOf(collection, identity, document)
  return stored
}

/** The identity of a revision must not change. */
async function checkIdentity(
  catalog: Catalog,
  collection: EntityCollection,
  identity: readonly string[],
  document: RawDocument,
): Promise<void> {
  const same = Object.fromEntries(identity.map((field) => [field, document[field]]))
  const documents = catalog[collection] as unknown as Collection<Document>
  const found = await catalog.run(`read ${collection}`, () =>
    documents.findOne({ _id: document._id, ...same }, { projection: { _id: 1 } }),
  )
  if (found === null) throw conflictOf(collection, identity, document)
}

function conflictOf(
  collection: EntityCollection,
  identity: readonly string[],
  { _id: id }: RawDocument,
): EntityConflictError {
  return new EntityConflictError(
    `${collection}: no revision ${id.toHexString()} with the same ` +
      `${identity.join(', ')} that nobody has changed meanwhile`,
  )
}

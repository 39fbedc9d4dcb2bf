/** Writing entities: checked to the last field, then written so that every feed learns of it. */
import { type Collection, type Document, ObjectId } from 'mongodb'
import type { Revision } from '../domain/catalogue.ts'
import { ENTITIES, type EntityCollection } from './collections.ts'
import { type CompileOptions, type RawDocument, revisionOf, WRITTEN } from './compile/document.ts'
import { compilePlan, compileService } from './compile/offer.ts'
import { compilePrepaidInclude } from './compile/prepaid-include.ts'
import { compileAccount, compileSubscriber } from './compile/profile.ts'
import { compileRate } from './compile/rate.ts'
import { compileTax } from './compile/tax.ts'
import type { Catalog } from './connection.ts'
import { withDates } from './dates.ts'
import { checkSchema, type EntityDefinition } from './entities/entity.ts'
import {
  CatalogUnavailableError,
  CompileError,
  DuplicateEntityError,
  EntityConflictError,
} from './errors.ts'
import { checkReferences } from './references.ts'
import { bump, isDuplicate, LATE_WRITES_MAX } from './revisions.ts'

/** An account or a subscriber; `sid` 0 for the account itself. */
export interface ProfileOwner {
  aid: number
  sid: number
}

/**
 * Keeps charging from using the old profile once the new one is acknowledged; the ledger has it.
 * `begin` marks the owner, `end` takes the mark away and makes what was read before void.
 */
export interface ProfileFence {
  begin(owner: ProfileOwner): Promise<void>
  end(owner: ProfileOwner): Promise<void>
}

export interface WriteOptions {
  /** `insert`: a new revision. `replace`: the one with this `_id`, whole. */
  mode: 'insert' | 'replace'
  /** IANA zone of dates that are given as text without an offset. */
  timeZone: string
  /** Required for subscribers and accounts wherever charging may run. */
  fence?: ProfileFence
}

/** A writer that is overtaken this often has lost to something that is no normal load. */
const ANNOUNCEMENTS_MAX = 16

/**
 * Writes one revision of an entity and returns it as stored. Dates may be `YYYY-MM-DD HH:MM:SS` or
 * ISO 8601 texts; without `to` it has no end. If a document to replace carries `rev`, that must
 * still be the stored one. Rejects with `CompileError` (a field cannot be used),
 * `DuplicateEntityError`, `EntityConflictError` or `CatalogUnavailableError` (then it may have been
 * written all the same).
 */
export async function writeEntity(
  catalog: Catalog,
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  options: WriteOptions,
): Promise<RawDocument> {
  const definition = definitionOf(collection, document)
  const prepared = prepare(definition, document, options)
  COMPILERS[collection](prepared, WRITTEN)
  if (prepared['deleted'] !== true) await checkReferences(catalog, collection, prepared)
  const owner = ownerOf(collection, prepared)
  const write = () => writeAnnounced(catalog, collection, definition, prepared, options)
  if (owner === null || options.fence === undefined) return write()
  await options.fence.begin(owner)
  try {
    return await write()
  } finally {
    // Also after a failure: a write that was given up may have arrived.
    await options.fence.end(owner)
  }
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
  prepaidgroups: plain(ENTITIES.prepaidgroups),
  charges: plain(ENTITIES.charges),
  discounts: plain(ENTITIES.discounts),
  reports: plain(ENTITIES.reports),
  users: plain(ENTITIES.users),
  autorenew: plain(ENTITIES.autorenew),
}

/** What charging does not read has no compiled form: its schema, its own check, dates in order. */
function plain([definition]: readonly EntityDefinition[]): (document: RawDocument) => Revision {
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
  { mode, timeZone }: WriteOptions,
): RawDocument {
  const { _id: id = mode === 'insert' ? new ObjectId() : undefined, rev } = document
  if (!(id instanceof ObjectId)) throw new CompileError('_id', 'must be an object id')
  if (rev !== undefined && typeof rev !== 'number')
    throw new CompileError('rev', 'must be a number')
  return { ...withDates(document, definition.dates, timeZone), _id: id, rev: rev ?? 0 }
}

function ownerOf(collection: EntityCollection, document: RawDocument): ProfileOwner | null {
  if (collection !== 'subscribers') return null
  return { aid: Number(document['aid']), sid: Number(document['sid'] ?? 0) }
}

/** bump, write, bump (revisions.ts says why). */
async function writeAnnounced(
  catalog: Catalog,
  collection: EntityCollection,
  definition: EntityDefinition,
  document: RawDocument,
  options: WriteOptions,
): Promise<RawDocument> {
  const stored = { ...document, rev: await bump(catalog, collection) }
  try {
    if (options.mode === 'insert') await insert(catalog, collection, stored)
    else await replace(catalog, collection, definition, stored, document.rev)
  } catch (error) {
    // It may have arrived although no answer did; if this fails too, the feeds' second look finds
    // it.
    await bump(catalog, collection).catch(() => {})
    throw error
  }
  return announce(catalog, collection, stored)
}

async function insert(
  catalog: Catalog,
  collection: EntityCollection,
  document: RawDocument,
): Promise<void> {
  await refusingDuplicates(collection, () =>
    catalog.run(`insert into ${collection}`, () =>
      documentsOf(catalog, collection).insertOne(document),
    ),
  )
}

async function replace(
  catalog: Catalog,
  collection: EntityCollection,
  { identity }: EntityDefinition,
  document: RawDocument,
  expectedRev: number,
): Promise<void> {
  const same = Object.fromEntries(identity.map((field) => [field, document[field]]))
  const filter = { _id: document._id, ...same, ...(expectedRev > 0 ? { rev: expectedRev } : {}) }
  const { matchedCount } = await refusingDuplicates(collection, () =>
    catalog.run(`replace in ${collection}`, () =>
      documentsOf(catalog, collection).replaceOne(filter, document),
    ),
  )
  if (matchedCount === 1) return
  throw new EntityConflictError(
    `${collection}: no revision ${document._id.toHexString()} with the same ` +
      `${identity.join(', ')} that nobody has changed meanwhile`,
  )
}

/**
 * Takes the second number, and gives the document a new one for as long as feeds may overlook it.
 */
async function announce(
  catalog: Catalog,
  collection: EntityCollection,
  document: RawDocument,
): Promise<RawDocument> {
  let stored = document
  for (let attempt = 0; attempt < ANNOUNCEMENTS_MAX; attempt += 1) {
    const number = await bump(catalog, collection)
    if (number - stored.rev <= LATE_WRITES_MAX) return stored
    const filter = { _id: stored._id, rev: stored.rev }
    const { matchedCount } = await catalog.run(`announce in ${collection}`, () =>
      documentsOf(catalog, collection).updateOne(filter, { $set: { rev: number } }),
    )
    // Somebody has written it again: their number is the one that counts.
    if (matchedCount === 0) return stored
    stored = { ...stored, rev: number }
  }
  throw new CatalogUnavailableError(`${collection}: too many others write to announce a change`)
}

async function refusingDuplicates<T>(
  collection: EntityCollection,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    const fields = Object.keys((error['keyPattern'] as Document | undefined) ?? {})
    throw new DuplicateEntityError(
      collection,
      fields.filter((field) => field !== 'deleted_at'),
    )
  }
}

function documentsOf(catalog: Catalog, collection: EntityCollection): Collection<Document> {
  return catalog[collection] as unknown as Collection<Document>
}

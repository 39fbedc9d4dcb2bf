/** Reads what credits need: rates, taxes, subscribers, plans and services, and the active cycle. */
import type { Collection } from '../../catalog/collections.ts'
import { type CompileOptions, LENIENT, type RawDocument } from '../../catalog/compile/document.ts'
import { compilePlan, compileService } from '../../catalog/compile/offer.ts'
import { compileRate } from '../../catalog/compile/rate.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { findProfiles } from '../../catalog/feed/profiles.ts'
import { readTaxContext } from '../../catalog/feed/stored-taxes.ts'
import type { InstalledTaxation } from '../../catalog/settings/money/taxation-settings.ts'
import { sharedRead } from '../../catalog/shared-read.ts'
import type { Catalogue, RateRevision, SubscriberProfile } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import type { TaxContext } from '../../rating/price.ts'
import type { CustomerLookup } from '../customer-lookup.ts'
import { keyAfter } from '../cycle/cycle-key.ts'
import { customerProfile } from './customer-profile.ts'

const NOT_DELETED = { deleted: { $ne: true } } as const

/** A period in which a subscriber has a revision. */
export interface Period {
  readonly aid: number
  readonly fromMs: number
  readonly toMs: number
}

export interface CreditData {
  readonly taxation: TaxContext
  /** Newest cycle that is closed for an account; null before the first one. */
  readonly lastKeys: LastKeys
  /** Documents of rates by key. */
  readonly rates: ReadonlyMap<string, readonly RawDocument[]>
  /** Periods of subscribers by `sid`. */
  readonly subscribers: ReadonlyMap<number, readonly Period[]>
  /** Accounts with a revision of their own or of a subscriber. */
  readonly accounts: ReadonlySet<number>
}

export interface CreditDataQuery {
  readonly rateKeys: readonly string[]
  readonly sids: readonly number[]
  /** Accounts that must exist. */
  readonly aids: readonly number[]
  readonly allAids: readonly number[]
}

interface Reader {
  readonly installed: InstalledTaxation
  read(query: CreditDataQuery): Promise<CreditData>
}

const readers = new WeakMap<Catalog, Reader>()

/**
 * Calls at the same time read together, and get what all of them want. Rejects with
 * `CatalogUnavailableError`, or `FieldError` if the stored taxation is invalid.
 */
export function readCreditData(
  catalog: Catalog,
  query: CreditDataQuery,
  installed: InstalledTaxation,
): Promise<CreditData> {
  let reader = readers.get(catalog)
  if (reader === undefined || reader.installed !== installed) {
    const read = sharedRead((all: readonly CreditDataQuery[]) => readAll(catalog, all, installed))
    reader = { installed, read }
    readers.set(catalog, reader)
  }
  return reader.read(query)
}

async function readAll(
  catalog: Catalog,
  queries: readonly CreditDataQuery[],
  installed: InstalledTaxation,
): Promise<CreditData> {
  const rateKeys = queries.flatMap((each) => each.rateKeys)
  const sids = queries.flatMap((each) => each.sids)
  const aids = queries.flatMap((each) => each.aids)
  const allAids = queries.flatMap((each) => each.allAids)
  const [taxation, lastKeys, rates, subscribers, accounts] = await Promise.all([
    readTaxContext(catalog, installed),
    readLastKeys(catalog, allAids),
    readByName(catalog, 'rates', 'key', rateKeys),
    readPeriods(catalog, sids),
    readAccounts(catalog, aids),
  ])
  return { taxation, lastKeys, rates, subscribers, accounts }
}

/** Newest closed cycle, by account. */
export type LastKeys = (aid: number) => string | null

/**
 * The newest cycle with invoices is closed, except for accounts whose invoice of its run is not
 * confirmed: it is computed again with their late lines.
 */
export async function readLastKeys(catalog: Catalog, aids: readonly number[]): Promise<LastKeys> {
  const last = await readLastKey(catalog)
  if (last === null) return () => null
  const run = await catalog.cycleruns.findOne({ key: last }, { projection: { _id: 1 } })
  if (run === null) return () => last
  const unconfirmed = await catalog.billrun
    .find(
      { aid: { $in: [...new Set(aids)] }, billrun_key: last, billed: { $nin: [1, 2] } },
      { projection: { aid: 1 } },
    )
    .toArray()
  const open = new Set(unconfirmed.map(({ aid }) => aid))
  return (aid) => (open.has(aid) ? keyAfter(last, -1) : last)
}

/** Newest cycle with invoices; keys of immediate invoices are longer. */
async function readLastKey(catalog: Catalog): Promise<string | null> {
  const [newest] = await catalog.billrun
    .find({ billrun_key: /^\d{6}$/ }, { projection: { billrun_key: 1 } })
    .sort({ billrun_key: -1 })
    .limit(1)
    .toArray()
  return newest?.billrun_key ?? null
}

/** The revision of a rate at an instant; null if it is absent or invalid. */
export function rateAt(
  documents: readonly RawDocument[],
  atMs: number,
  options: CompileOptions = LENIENT,
): RateRevision | null {
  const found = documents.find((each) => {
    const { from, to } = each as RawDocument & { from: Date; to: Date }
    return from.getTime() <= atMs && atMs < to.getTime()
  })
  return found === undefined ? null : compiledOrNull(() => compileRate(found, options))
}

/** Profile, plan and services of a subscriber, for the price of a usage. */
export interface PriceSubject {
  readonly profile: SubscriberProfile
  readonly catalogue: Pick<Catalogue, 'plans' | 'services'>
}

/**
 * Null if the subscriber has no valid revision at that instant. Rejects with `CustomerSystemError`.
 */
export async function readPriceSubject(
  { catalog, lookup }: { readonly catalog: Catalog; readonly lookup: CustomerLookup },
  sid: number,
  atMs: number,
  options: CompileOptions,
): Promise<PriceSubject | null> {
  const asked = await customerProfile(lookup, sid, atMs, options)
  const profile = asked === undefined ? await storedProfile(catalog, sid, atMs, options) : asked
  if (profile === null) return null
  const documents = await readByName(catalog, 'plans', 'name', [profile.plan])
  const plans = compiledEach(documents, (document) => compilePlan(document, options))
  const included = [...plans.values()].flat().flatMap(({ services }) => services)
  const held = [...profile.services, ...profile.accountServices].map(({ name }) => name)
  const services = compiledEach(
    await readByName(catalog, 'services', 'name', [...included, ...held]),
    (document) => compileService(document, options),
  )
  return { profile, catalogue: { plans, services } }
}

async function storedProfile(
  catalog: Catalog,
  sid: number,
  atMs: number,
  options: CompileOptions,
): Promise<SubscriberProfile | null> {
  const query = { key: 'sid', value: String(sid), atMs }
  const [found = null] = await findProfiles(catalog, [query], () => false, options)
  return found === null || found instanceof Error ? null : found.profile
}

/** The revisions of offers by name, oldest first. */
export async function readByName(
  catalog: Catalog,
  collection: 'rates' | 'plans' | 'services',
  field: 'key' | 'name',
  names: readonly string[],
): Promise<Map<string, RawDocument[]>> {
  const found = new Map<string, RawDocument[]>()
  const distinct = [...new Set(names)]
  if (distinct.length === 0) return found
  const stored = catalog[collection] as unknown as Collection<RawDocument>
  const documents = await stored
    .find({ [field]: { $in: distinct }, ...NOT_DELETED } as object)
    .sort({ from: 1 })
    .toArray()
  for (const document of documents as RawDocument[]) {
    const name = String(document[field])
    found.set(name, [...(found.get(name) ?? []), document])
  }
  return found
}

async function readPeriods(
  catalog: Catalog,
  sids: readonly number[],
): Promise<Map<number, Period[]>> {
  const found = new Map<number, Period[]>()
  const distinct = [...new Set(sids)]
  if (distinct.length === 0) return found
  const documents = await catalog.subscribers
    .find({ type: 'subscriber', sid: { $in: distinct }, ...NOT_DELETED } as never, {
      projection: { aid: 1, sid: 1, from: 1, to: 1 },
    })
    .sort({ from: 1 })
    .toArray()
  for (const { aid, sid, from, to } of documents as unknown as StoredPeriod[]) {
    const period = { aid, fromMs: from.getTime(), toMs: to.getTime() }
    found.set(sid, [...(found.get(sid) ?? []), period])
  }
  return found
}

interface StoredPeriod {
  readonly aid: number
  readonly sid: number
  readonly from: Date
  readonly to: Date
}

async function readAccounts(catalog: Catalog, aids: readonly number[]): Promise<Set<number>> {
  const distinct = [...new Set(aids)]
  if (distinct.length === 0) return new Set()
  const found = await catalog.subscribers.distinct('aid', {
    aid: { $in: distinct },
    ...NOT_DELETED,
  } as never)
  return new Set(found as number[])
}

function compiledEach<T>(
  documents: ReadonlyMap<string, readonly RawDocument[]>,
  compile: (document: RawDocument) => T,
): Map<string, T[]> {
  return new Map(
    [...documents].map(([name, all]) => [
      name,
      all.flatMap((document) => compiledOrNull(() => compile(document)) ?? []),
    ]),
  )
}

function compiledOrNull<T>(compile: () => T): T | null {
  try {
    return compile()
  } catch (error) {
    if (error instanceof FieldError) return null
    throw error
  }
}

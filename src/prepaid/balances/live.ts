/** Current balances as documents of the projection's format, from the ledger's state. */
import { ObjectId, type WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import {
  type BalanceDocument,
  balanceViewAt,
  debtBucket,
} from '../../catalog/records/usage/balance-document.ts'
import {
  type BalanceKey,
  balanceObjectId,
  isHashedBalanceId,
  parseBalanceId,
} from '../../catalog/records/usage/balance-id.ts'
import { type Bucket, debtOf, type OwnerState } from '../../domain/bucket.ts'
import { isClosed } from '../../domain/credit.ts'
import type { Ledger, SessionLocation } from '../../ledger/ledger.ts'
import type { Clock } from '../../runtime/clock.ts'

export interface BalanceStores {
  ledger: Ledger
  catalog: Catalog
  clock: Clock
}

export type LiveBalance = WithId<BalanceDocument>

/** A bucket with its owner. */
export interface OwnedBucket {
  owner: OwnerState
  bucket: Bucket
}

/** Owners per read of the ledger. */
const OWNERS_AT_ONCE = 200

/** States in the order of the request. Throws `CorruptValueError` or `StoreDownError`. */
export async function loadOwners(
  ledger: Ledger,
  locations: readonly SessionLocation[],
): Promise<OwnerState[]> {
  const owners: OwnerState[] = []
  for (let at = 0; at < locations.length; at += OWNERS_AT_ONCE) {
    const page = locations.slice(at, at + OWNERS_AT_ONCE)
    const loaded = await ledger.load(page.map(({ aid, sid }) => ({ aid, sid, sessionKeys: [] })))
    for (const one of loaded) {
      if (one instanceof Error) throw one
      owners.push(one.state)
    }
  }
  return owners
}

/**
 * All open balances of these owners, by owner and bucket. An owner with a debt and no open bucket
 * has one document for the debt.
 */
export async function liveBalances(
  stores: BalanceStores,
  locations: readonly SessionLocation[],
): Promise<LiveBalance[]> {
  const owners = await loadOwners(stores.ledger, locations)
  return documentsOf(stores, owners.flatMap(openBucketsOf))
}

function openBucketsOf(owner: OwnerState): OwnedBucket[] {
  const buckets = owner.buckets.filter((bucket) => !isClosed(bucket))
  if (buckets.length === 0 && debtOf(owner) > 0) buckets.push(debtBucket(owner))
  return buckets.map((bucket) => ({ owner, bucket }))
}

/** Documents of buckets in their current state, with the current names of their definitions. */
export async function documentsOf(
  { catalog, clock }: Omit<BalanceStores, 'ledger'>,
  ownedBuckets: readonly OwnedBucket[],
): Promise<LiveBalance[]> {
  const nowMs = clock.nowMs()
  const nameOf = await includeNames(
    catalog,
    ownedBuckets.map(({ bucket }) => bucket.prepaidIncludeId),
  )
  return ownedBuckets.map(({ owner, bucket }) => ({
    _id: balanceObjectId({ ...owner, bucketId: bucket.id }),
    ...balanceViewAt(owner, bucket, nameOf(bucket.prepaidIncludeId), nowMs),
  }))
}

/** Latest names of prepaid includes by `external_id`; empty for unknown ids. */
export async function includeNames(
  catalog: Catalog,
  ids: readonly number[],
): Promise<(id: number) => string> {
  const distinct = [...new Set(ids)].filter((id) => id !== 0)
  if (distinct.length === 0) return () => ''
  const found = await catalog.prepaidincludes
    .find({ external_id: { $in: distinct } })
    .sort({ from: 1 })
    .toArray()
  const names = new Map(found.map(({ external_id, name }) => [external_id, name]))
  return (id) => names.get(id) ?? ''
}

/** The open bucket of an id; null if it is closed or does not exist. */
export async function findBucket(stores: BalanceStores, id: string): Promise<OwnedBucket | null> {
  const location = await locateBalance(stores.catalog, id)
  return location === null ? null : bucketAt(stores.ledger, location)
}

/** The open bucket at a location; null if it is closed or does not exist. */
export async function bucketAt(ledger: Ledger, location: BalanceKey): Promise<OwnedBucket | null> {
  const [owner] = await loadOwners(ledger, [location])
  const bucket = owner?.buckets.find((one) => one.id === location.bucketId)
  if (owner === undefined || bucket === undefined || isClosed(bucket)) return null
  return { owner, bucket }
}

/** Location of the balance with this id, open or closed; null if the id is not one of a balance. */
export async function locateBalance(catalog: Catalog, id: string): Promise<BalanceKey | null> {
  if (!isHashedBalanceId(id)) return parseBalanceId(id)
  const filter = { _id: new ObjectId(id.toLowerCase()) }
  const found = await catalog.balances.findOne(filter)
  return found === null ? null : { aid: found.aid, sid: found.sid, bucketId: found.bucket_id }
}

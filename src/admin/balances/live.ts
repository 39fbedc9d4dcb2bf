/** Balances as they are now: documents as they are recorded, made of the ledger's state. */
import { type BalanceDocument, balanceDocument } from '../../catalog/balance-document.ts'
import {
  type BalancePlace,
  balanceObjectId,
  isHashedBalanceId,
  placeOfBalanceId,
} from '../../catalog/balance-id.ts'
import { ObjectId, type WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Bucket, OwnerState } from '../../domain/bucket.ts'
import { isClosed } from '../../domain/credit.ts'
import type { Home, Ledger } from '../../ledger/ledger.ts'

export interface BalanceStores {
  ledger: Ledger
  catalog: Catalog
}

export type LiveBalance = WithId<BalanceDocument>

/** A bucket, and the owner that has it. */
export interface HeldBucket {
  owner: OwnerState
  bucket: Bucket
}

/** Owners of one look at the ledger. */
const OWNERS_AT_ONCE = 200

/** States in the order wanted. Throws `CorruptValueError` or `StoreDownError`. */
export async function ownersOf(ledger: Ledger, homes: readonly Home[]): Promise<OwnerState[]> {
  const owners: OwnerState[] = []
  for (let at = 0; at < homes.length; at += OWNERS_AT_ONCE) {
    const wanted = homes.slice(at, at + OWNERS_AT_ONCE)
    const loaded = await ledger.load(wanted.map(({ aid, sid }) => ({ aid, sid, sessionKeys: [] })))
    for (const one of loaded) {
      if (one instanceof Error) throw one
      owners.push(one.state)
    }
  }
  return owners
}

/** All balances of these owners but closed ones, by owner and bucket. */
export async function liveBalances(
  { ledger, catalog }: BalanceStores,
  homes: readonly Home[],
): Promise<LiveBalance[]> {
  const owners = await ownersOf(ledger, homes)
  const held = owners.flatMap((owner) => owner.buckets.map((bucket) => ({ owner, bucket })))
  return documentsOf(
    catalog,
    held.filter(({ bucket }) => !isClosed(bucket)),
  )
}

/** Documents of buckets, with the names that their definitions have now. */
export async function documentsOf(
  catalog: Catalog,
  held: readonly HeldBucket[],
): Promise<LiveBalance[]> {
  const nameOf = await includeNames(
    catalog,
    held.map(({ bucket }) => bucket.prepaidIncludeId),
  )
  return held.map(({ owner, bucket }) => ({
    _id: balanceObjectId({ ...owner, bucketId: bucket.id }),
    ...balanceDocument(owner, bucket, nameOf(bucket.prepaidIncludeId)),
  }))
}

/** Names of prepaid includes by `external_id`, of each the newest; empty where there is none. */
export async function includeNames(
  catalog: Catalog,
  ids: readonly number[],
): Promise<(id: number) => string> {
  const wanted = [...new Set(ids)].filter((id) => id !== 0)
  if (wanted.length === 0) return () => ''
  const found = await catalog.run('read names of prepaid includes', () =>
    catalog.prepaidincludes
      .find({ external_id: { $in: wanted } })
      .sort({ from: 1 })
      .toArray(),
  )
  const names = new Map(found.map(({ external_id, name }) => [external_id, name]))
  return (id) => names.get(id) ?? ''
}

/** The bucket of an id, unless it is closed; null if there is none. */
export async function findHeld(stores: BalanceStores, id: string): Promise<HeldBucket | null> {
  const place = await placeOf(stores.catalog, id)
  return place === null ? null : heldAt(stores.ledger, place)
}

/** Likewise, by its place. */
export async function heldAt(ledger: Ledger, place: BalancePlace): Promise<HeldBucket | null> {
  const [owner] = await ownersOf(ledger, [place])
  const bucket = owner?.buckets.find((one) => one.id === place.bucketId)
  if (owner === undefined || bucket === undefined || isClosed(bucket)) return null
  return { owner, bucket }
}

/** Where the balance of an id is, or was; null for what is no id of a balance. */
export async function placeOf(catalog: Catalog, id: string): Promise<BalancePlace | null> {
  if (!isHashedBalanceId(id)) return placeOfBalanceId(id)
  const filter = { _id: new ObjectId(id.toLowerCase()) }
  const found = await catalog.run('find balance', () => catalog.balances.findOne(filter))
  return found === null ? null : { aid: found.aid, sid: found.sid, bucketId: found.bucket_id }
}

/** Finds balances by a filter: determines the possible owners, loads their state and filters it. */
import type { CustomerLookup } from '../../billing/customer-lookup.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { ReadLimits } from '../../catalog/guarded.ts'
import type { Fields } from '../../domain/fields.ts'
import { formatLocation, type SessionLocation } from '../../ledger/ledger.ts'
import { fieldRule } from '../../requests/errors.ts'
import { type BalanceStores, type LiveBalance, liveBalances, locateBalance } from './live.ts'
import { type BalanceFilter, compareValues, compileMatcher } from './matcher.ts'

export interface BalancePage {
  /** 1 ascending, -1 descending; ties are ordered by owner and bucket. */
  sort: Readonly<Record<string, 1 | -1>>
  skip: number
  limit: number
  /** Aborted when the client disconnects. */
  signal?: AbortSignal | undefined
}

export interface FoundBalances {
  balances: LiveBalance[]
  /** There are further results after the page. */
  hasMore: boolean
}

interface BalanceSources extends BalanceStores {
  lookup: CustomerLookup
}

/** Conditions of a filter on the owner; each list is a set of alternatives. */
interface Target {
  ids: readonly string[] | null
  aids: readonly number[] | null
  sids: readonly number[] | null
}

const OWNERS_MAX = 10_000
/** Rows of the projection that one request may read. */
const ROWS_MAX = 50_000
const ROWS_AT_ONCE = 500
const TIES = { aid: 1, sid: 1, bucket_id: 1 } as const

/**
 * Matching balances in their current state. `filter` is a MongoDB filter with cast values and
 * permitted fields. A filter without an owner is answered in the order of the projection. Throws
 * `EntityRuleError` for filters that cannot be answered, `CorruptValueError`, `StoreDownError`,
 * `CatalogUnavailableError` or `CustomerSystemError`.
 */
export async function findBalances(
  stores: BalanceSources,
  filter: Fields,
  page: BalancePage,
): Promise<FoundBalances> {
  const matches = compileMatcher(filter)
  const targets = targetsOf(filter)
  if (targets === null) return findByProjection(stores, filter, matches, page)
  const found = await liveBalances(stores, await targetOwners(stores, targets))
  const fitting = found.filter((one) => matches({ ...one })).sort(orderOf(page.sort))
  const end = page.skip + page.limit
  return { balances: fitting.slice(page.skip, end), hasMore: fitting.length > end }
}

function orderOf(sort: BalancePage['sort']): (one: LiveBalance, other: LiveBalance) => number {
  const fields = Object.entries({ ...sort, ...withoutKeys(TIES, sort) })
  return (one: Fields, other: Fields) => {
    for (const [field, direction] of fields) {
      const order = compareValues(one[field], other[field])
      if (order !== 0) return order * direction
    }
    return 0
  }
}

function withoutKeys<T extends object>(fields: T, keys: object): Partial<T> {
  const left = Object.entries(fields).filter(([field]) => !Object.hasOwn(keys, field))
  return Object.fromEntries(left) as Partial<T>
}

/** Null if the filter does not restrict the owner. */
function targetsOf(filter: Fields): Target[] | null {
  const demands = conjunctsOf(filter)
  const valuesOf = (field: string) => {
    const named = demands.flatMap((one) => (Object.hasOwn(one, field) ? [one[field]] : []))
    return named.map(equalities).find((values) => values !== null) ?? null
  }
  const ids = valuesOf('_id')?.map(String) ?? null
  if (ids !== null) return [{ ids, aids: null, sids: null }]
  const [aids, sids] = [numbersIn(valuesOf('aid')), numbersIn(valuesOf('sid'))]
  // Balances shared by an account (sid 0) cannot be found through a subscriber.
  if (aids !== null || (sids !== null && !sids.includes(0))) return [{ ids: null, aids, sids }]
  for (const { $or } of demands) {
    const branches = Array.isArray($or) ? $or.map((one) => targetsOf(one as Fields)) : [null]
    if (branches.every((one) => one !== null)) return branches.flat()
  }
  return null
}

/** The filter and its nested `$and` clauses. */
function conjunctsOf(filter: Fields): Fields[] {
  const { $and } = filter
  return [filter, ...(Array.isArray($and) ? ($and as Fields[]).flatMap(conjunctsOf) : [])]
}

/** The values of which the field must have one; null if the condition is no equality. */
function equalities(condition: unknown): readonly unknown[] | null {
  if (typeof condition !== 'object' || condition === null) return [condition]
  const { $eq, $in } = condition as Fields
  if ($eq !== undefined) return [$eq]
  if (Array.isArray($in)) return $in
  return 'toHexString' in condition ? [condition] : null
}

function numbersIn(values: readonly unknown[] | null): number[] | null {
  if (values === null) return null
  const isOwner = (value: unknown): value is number =>
    Number.isSafeInteger(value) && (value as number) >= 0
  return values.filter(isOwner)
}

async function targetOwners(
  sources: BalanceSources,
  targets: readonly Target[],
): Promise<SessionLocation[]> {
  const owners = new Map<string, SessionLocation>()
  for (const target of targets) {
    for (const { aid, sid } of await ownersOfTarget(sources, target)) {
      owners.set(formatLocation({ aid, sid }), { aid, sid })
      if (owners.size > OWNERS_MAX) throw fieldRule('query', `finds more than ${OWNERS_MAX} owners`)
    }
  }
  return [...owners.values()]
}

async function ownersOfTarget(
  sources: BalanceSources,
  { ids, aids, sids }: Target,
): Promise<SessionLocation[]> {
  const { catalog } = sources
  if (ids !== null) {
    const locations = await Promise.all(ids.map((id) => locateBalance(catalog, id)))
    return locations.filter((location) => location !== null)
  }
  if (aids !== null && sids !== null) {
    if (aids.length * sids.length > OWNERS_MAX) {
      throw fieldRule('query', `finds more than ${OWNERS_MAX} owners`)
    }
    return aids.flatMap((aid) => sids.map((sid) => ({ aid, sid })))
  }
  if (aids === null) return subscribersOf(sources, sids ?? [])
  const byAccount = { aid: { $in: aids } }
  // Includes balances that a subscriber has left behind in the account.
  const recorded = await recordedWhere(catalog, byAccount)
  const shared = aids.map((aid) => ({ aid, sid: 0 }))
  return [...shared, ...recorded, ...(await subscribersWhere(catalog, byAccount))]
}

/** Subscribers with all accounts that may hold a balance of them. */
async function subscribersOf(
  { catalog, clock, lookup }: BalanceSources,
  sids: readonly number[],
): Promise<SessionLocation[]> {
  const outside = await lookup.subscribers(sids, clock.nowMs())
  if (outside === null) return subscribersWhere(catalog, { sid: { $in: [...sids] } })
  const current = [...outside].map(([sid, fields]) => ({ aid: Number(fields['aid']), sid }))
  return [...(await recordedWhere(catalog, { sid: { $in: [...sids] } })), ...current]
}

async function recordedWhere(catalog: Catalog, filter: object): Promise<SessionLocation[]> {
  const fields = { projection: { _id: 0, aid: 1, sid: 1 } }
  return catalog.balances.find(filter, fields).toArray()
}

/** Subscribers with all accounts of their revision history. */
async function subscribersWhere(catalog: Catalog, filter: object): Promise<SessionLocation[]> {
  const query = { ...filter, type: 'subscriber' as const }
  const found = await catalog.subscribers
    .find(query, { projection: { _id: 0, aid: 1, sid: 1 } })
    .toArray()
  return (found as { aid?: unknown; sid?: unknown }[]).flatMap(({ aid, sid }) =>
    Number.isSafeInteger(aid) && Number.isSafeInteger(sid)
      ? [{ aid: aid as number, sid: sid as number }]
      : [],
  )
}

/** The projection provides existence and order; the ledger provides the current state. */
async function findByProjection(
  stores: BalanceStores,
  filter: Fields,
  matches: BalanceFilter,
  { sort, skip, limit, signal }: BalancePage,
): Promise<FoundBalances> {
  const { catalog } = stores
  // MongoDB's regular expressions may take unbounded time; the matcher's are bounded.
  const query = JSON.stringify(filter).includes('"$regex"') ? {} : filter
  const order = { ...sort, ...withoutKeys(TIES, sort) }
  const found: FoundBalances = { balances: [], hasMore: false }
  let toSkip = skip
  const take = async (rows: readonly BalanceRow[]) => {
    const owners = new Map(rows.map(({ aid, sid }) => [formatLocation({ aid, sid }), { aid, sid }]))
    const live = await liveBalances(stores, [...owners.values()])
    const byKey = new Map(live.map((one) => [rowKey(one), one]))
    for (const row of rows) {
      const one = byKey.get(rowKey(row))
      if (one === undefined || !matches({ ...one })) continue
      if (toSkip > 0) toSkip -= 1
      else if (found.balances.length < limit) found.balances.push(one)
      else found.hasMore = true
      if (found.hasMore) return
    }
  }
  const read = async (limits: ReadLimits) => {
    const options = { ...limits, sort: order, limit: ROWS_MAX, batchSize: ROWS_AT_ONCE }
    let scanned = 0
    let rows: BalanceRow[] = []
    for await (const row of catalog.unguarded.balances.find(query, {
      ...options,
      allowDiskUse: true,
    })) {
      scanned += 1
      rows.push(row)
      if (rows.length < ROWS_AT_ONCE) continue
      await take(rows)
      if (found.hasMore) return found
      rows = []
    }
    await take(rows)
    if (scanned < ROWS_MAX || found.hasMore) return found
    throw fieldRule('query', 'must name aid or sid: there are too many balances to look at')
  }
  return catalog.read('page over balances', read, { signal })
}

interface BalanceRow {
  aid: number
  sid: number
  bucket_id: number
}

function rowKey(one: BalanceRow): string {
  return `${one.aid}:${one.sid}:${one.bucket_id}`
}

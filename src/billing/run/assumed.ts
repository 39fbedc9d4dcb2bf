/**
 * A supposed change for a preview: revisions that replace or end stored ones, for the computation
 * only.
 */
import type { CollectionReads } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { withDates } from '../../catalog/dates.ts'
import { ENTITIES } from '../../catalog/entities/entity-table.ts'
import { checkedEntityWith } from '../../catalog/revisions/check.ts'
import { readReferences } from '../../catalog/revisions/references.ts'
import { dateAt, FieldError, type Fields, isObject, isUnset } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import type { StoredRevision } from '../cycle/compute.ts'
import type { HolderRevisions } from '../cycle/input.ts'
import type { AccountInput } from './read-accounts.ts'
import type { RunData } from './run-data.ts'

const KINDS = {
  account: { collection: 'subscribers', type: 'account', key: 'aid' },
  subscribers: { collection: 'subscribers', type: 'subscriber', key: 'sid' },
  plans: { collection: 'plans', type: null, key: 'name' },
  services: { collection: 'services', type: null, key: 'name' },
  discounts: { collection: 'discounts', type: null, key: 'key' },
  charges: { collection: 'charges', type: null, key: 'key' },
} as const

type Kind = keyof typeof KINDS

/** By kind and key of the entity, all its revisions with the change. */
export type Assumed = Readonly<Record<Kind, ReadonlyMap<string, readonly StoredRevision[]>>>

const REVISIONS_MAX = 1_000

/**
 * `change`: lists of revisions by kind. With `from` a revision replaces stored ones from then on,
 * fields that are not given are those of the revision in force; with only `to` the entity ends
 * then. Rejects with `FieldError` with the path, or with `CatalogUnavailableError`.
 */
export async function readAssumed(
  catalog: Catalog,
  change: unknown,
  timeZone: string,
): Promise<Assumed> {
  if (!isObject(change)) throw new FieldError('', 'must be an object with lists of revisions')
  const unknown = Object.keys(change).find((name) => !(name in KINDS))
  if (unknown !== undefined) {
    throw new FieldError(unknown, `is not one of ${Object.keys(KINDS).join(', ')}`, 'unknown')
  }
  const assumed = Object.fromEntries(
    Object.keys(KINDS).map((kind) => [kind, new Map<string, StoredRevision[]>()]),
  ) as Record<Kind, Map<string, StoredRevision[]>>
  const services = namesIn(change['services'])
  for (const kind of Object.keys(KINDS) as Kind[]) {
    for (const [index, item] of listAt(change[kind], kind).entries()) {
      const path = `${kind}.${index}`
      try {
        await assume(catalog, kind, item, { timeZone, services, found: assumed[kind] })
      } catch (error) {
        if (!(error instanceof FieldError)) throw error
        throw error.under(path)
      }
    }
  }
  return assumed
}

function listAt(value: unknown, path: string): readonly Fields[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > REVISIONS_MAX) {
    throw new FieldError(path, `must be a list of at most ${REVISIONS_MAX} revisions`)
  }
  return value.map((each: unknown, index) => {
    if (!isObject(each)) throw new FieldError(`${path}.${index}`, 'must be an object')
    return each
  })
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map((each) => String(isObject(each) ? each['name'] : '')) : []
}

interface Context {
  readonly timeZone: string
  /** Names of supposed services, which subscribers may have. */
  readonly services: readonly string[]
  readonly found: Map<string, StoredRevision[]>
}

async function assume(
  catalog: Catalog,
  kind: Kind,
  item: Fields,
  { timeZone, services, found }: Context,
): Promise<void> {
  const { collection, type, key } = KINDS[kind]
  const id = item[key]
  if (isUnset(id)) throw new FieldError(key, 'is missing', 'missing')
  const stored = found.get(String(id)) ?? (await readStored(catalog, kind, id))
  const isAccount = kind === 'account'
  const definition = isAccount ? ENTITIES.subscribers[1] : ENTITIES[collection][0]
  const { to: _, ...dated } = withDates(item, definition?.dates ?? [], timeZone)
  const from = dateAt(dated['from'], 'from')
  const to = isUnset(item['to']) ? null : dateAt(withDates(item, ['to'], timeZone)['to'], 'to')
  if (from === null) {
    if (to === null)
      throw new FieldError('from', 'is missing; to end the entity, give only to', 'missing')
    if (stored.length === 0) throw new FieldError(key, `is not stored: ${String(id)}`)
    found.set(String(id), endedAt(stored, to, kind))
    return
  }
  const base = stored.findLast((one) => one.from.getTime() <= from) ?? stored[0]
  const isNewPlan = base !== undefined && !isUnset(item['plan']) && item['plan'] !== base['plan']
  const end = to ?? stored.at(-1)?.to.getTime() ?? FOREVER_MS
  if (end <= from) throw new FieldError('to', 'must be after from')
  const whole = {
    ...(type !== null && { type }),
    ...base,
    ...(isNewPlan && { plan_activation: new Date(from) }),
    ...dated,
    from: new Date(from),
    to: new Date(end),
  }
  const existing = await readReferences(catalog, collection, [whole])
  const named = new Map([...existing.services, ...services.map((name) => [name, new Set()])] as [
    string,
    Set<string>,
  ][])
  const options = { mode: 'insert', timeZone } as const
  const references = { ...existing, services: named }
  const checked = checkedEntityWith(collection, whole, options, references)
  const revision = checked as unknown as StoredRevision
  found.set(String(id), withRevision(stored, revision))
}

async function readStored(catalog: Catalog, kind: Kind, id: unknown): Promise<StoredRevision[]> {
  const { collection, type, key } = KINDS[kind]
  const entities = catalog.reads[collection] as unknown as CollectionReads<StoredRevision>
  const ofType = type === null ? {} : { type }
  const filter = { [key]: id, ...ofType, deleted: { $ne: true } }
  return entities
    .find(filter as object)
    .sort({ from: 1 })
    .toArray() as Promise<StoredRevision[]>
}

function endedAt(stored: readonly StoredRevision[], endMs: number, kind: Kind): StoredRevision[] {
  const end = new Date(endMs)
  return stored
    .filter(({ from }) => from.getTime() < endMs)
    .map((one) => ({
      ...one,
      ...(kind === 'subscribers' && { deactivation_date: end }),
      to: one.to.getTime() > endMs ? end : one.to,
    }))
}

/** The stored revisions without the time of the supposed one, and that one. */
function withRevision(
  stored: readonly StoredRevision[],
  revision: StoredRevision,
): StoredRevision[] {
  const { from, to } = revision
  const before = stored.filter((one) => one.from < from)
  const after = stored.filter((one) => one.to > to)
  const cut = [
    ...before.map((one) => (one.to > from ? { ...one, to: from } : one)),
    ...after.map((one) => (one.from < to ? { ...one, from: to } : one)),
  ]
  return [...cut, revision].sort((a, b) => a.from.getTime() - b.from.getTime())
}

/** The data of a run with supposed plans, services, discounts and charges. */
export function assumedData(data: RunData, assumed: Assumed): RunData {
  const { catalogue } = data
  const merged = (kind: 'plans' | 'services' | 'discounts' | 'charges') =>
    new Map([...catalogue[kind], ...assumed[kind]])
  const offers = { plans: merged('plans'), services: merged('services') }
  const adjustments = { discounts: merged('discounts'), charges: merged('charges') }
  return { ...data, catalogue: { ...catalogue, ...offers, ...adjustments } }
}

/** Numbers of the accounts with supposed revisions of their own. */
export function assumedAccounts({ account, subscribers }: Assumed): number[] {
  const all = [...account.values(), ...subscribers.values()].flat()
  return [...new Set(all.map(({ aid }) => Number(aid)))]
}

/** The input of an account with the supposed revisions. */
export function withAssumed(read: AccountInput, assumed: Assumed | null): AccountInput {
  const { input } = read
  if (assumed === null || input instanceof Error) return read
  const { aid, periods } = input
  const supposed = { ...input, ...assumedRevisions(aid, input, assumed) }
  if (periods === undefined) return { ...read, input: supposed }
  const longer = { ...periods, ...assumedRevisions(aid, periods, assumed) }
  return { ...read, input: { ...supposed, periods: longer } }
}

/** Revisions of an account and its subscribers, with the supposed ones. */
function assumedRevisions(aid: number, read: HolderRevisions, assumed: Assumed): HolderRevisions {
  const supposed = [...assumed.subscribers.values()].flat()
  const own = supposed.filter((one) => Number(one['aid']) === aid)
  const isLeft = ({ sid }: StoredRevision) => !assumed.subscribers.has(String(sid))
  const subscribers = [...read.subscribers.filter(isLeft), ...own].sort(
    (a, b) => a.from.getTime() - b.from.getTime(),
  )
  const elsewhere = [
    ...(read.elsewhere ?? []).filter(isLeft),
    ...supposed.filter((one) => Number(one['aid']) !== aid),
  ]
  return { account: assumed.account.get(String(aid)) ?? read.account, subscribers, elsewhere }
}

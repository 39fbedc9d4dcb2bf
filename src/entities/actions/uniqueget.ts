/**
 * The action `uniqueget`: the current revision of each entity that matches the query. Sorted by
 * key, a single index scan is sufficient because revisions of an entity are adjacent. With any
 * other sort order, each candidate is compared with the other revisions of its entity. In both
 * cases each revision is read a bounded number of times.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { ReadLimits } from '../../catalog/guarded.ts'
import type { Fields } from '../../domain/fields.ts'
import type { ReadRequest, ReadResult } from '../requests/entity-request.ts'
import { unguardedOf } from '../revisions.ts'
import {
  currentRevision,
  currentRevisionsByKey,
  decidingRevisionsFilter,
  revisionStatesFilter,
  stateAt,
} from './current-revision.ts'
import { filterOf, keyBounds, projectionOf, sortOf } from './get.ts'

/** Number of candidates whose entities are read together. */
const BATCH_MAX = 500
/**
 * Rows read beyond a page, for the revisions of the last entity and for rows that the states
 * exclude.
 */
const SPARE = 8
/**
 * A scan has a limit so that a store that sorts in memory keeps few rows. If a scan was not enough,
 * the next limit is larger by this factor, so that all scans together cost only a few times the
 * last one.
 */
const GROWTH = 8
const WALK_MAX = 1_000_000_000

/** The fields that selection needs, or all fields of the response. */
type Candidate = Pick<RawDocument, '_id'> & Fields

interface UniquegetContext {
  catalog: Catalog
  request: ReadRequest
  nowMs: number
  limits: ReadLimits
}

export function uniqueget(
  catalog: Catalog,
  request: ReadRequest,
  nowMs: number,
): Promise<ReadResult> {
  const { definition, signal } = request
  const read = (limits: ReadLimits) => pageOf({ catalog, request, nowMs, limits })
  return catalog.read(`read ${definition.name}`, read, { signal })
}

async function pageOf(reading: UniquegetContext): Promise<ReadResult> {
  const { page, size, sort, definition } = reading.request
  const chosen = new PageCollector(page * size, size)
  const [first = definition.keyField] = Object.keys(sort)
  await (first === definition.keyField ? byKey(reading, chosen) : bySort(reading, chosen))
  return { rows: await projectedRows(reading, chosen.rows), hasMore: chosen.isFull }
}

interface CollectedRow {
  row: Candidate
  /** True if the row has all fields of the response. */
  isWhole: boolean
}

/** Collects the current revisions of one page; those of earlier pages are only counted. */
class PageCollector {
  readonly rows: CollectedRow[] = []
  /** Number of entities after which it is known that there is a next page. */
  readonly needed: number
  readonly #skipped: number
  #count = 0

  constructor(skipped: number, size: number) {
    this.#skipped = skipped
    this.needed = skipped + size + 1
  }

  get isFull(): boolean {
    return this.#count >= this.needed
  }

  add(row: Candidate, isWhole: boolean): void {
    this.#count += 1
    if (this.#count > this.#skipped && this.#count < this.needed) this.rows.push({ row, isWhole })
  }
}

async function byKey(reading: UniquegetContext, chosen: PageCollector): Promise<void> {
  const { request, nowMs } = reading
  const { definition, states } = request
  const { keyField } = definition
  const direction = request.sort[keyField] ?? 1
  const choose = (revisions: readonly Candidate[], isWhole: boolean) => {
    if (revisions.length === 0) return
    const best = currentRevision(revisions, nowMs)
    if (states.includes(stateAt(best, nowMs))) chosen.add(best, isWhole)
  }
  const deciding = decidingRevisionsFilter(states, nowMs)
  const sort = { [keyField]: direction, from: direction }
  let bounds = keyBounds(definition)
  for (let limit = firstLimit(chosen); ; limit = Math.min(limit * GROWTH, WALK_MAX)) {
    let count = 0
    let entity: Candidate[] = []
    const { rows, isWhole } = walk(reading, [...deciding, ...bounds], chosen, { sort, limit })
    for await (const one of rows) {
      count += 1
      if (entity.length > 0 && entity[0]?.[keyField] !== one[keyField]) {
        choose(entity, isWhole)
        if (chosen.isFull) return
        entity = []
      }
      entity.push(one)
    }
    if (count < limit) return choose(entity, isWhole)
    // The last entity may have further revisions, so the next scan starts with it again.
    bounds = [{ [keyField]: { [direction === 1 ? '$gte' : '$lte']: entity[0]?.[keyField] } }]
    if (direction === -1) bounds.push(...keyBounds(definition))
  }
}

async function bySort(reading: UniquegetContext, chosen: PageCollector): Promise<void> {
  const { request, nowMs } = reading
  const candidates = revisionStatesFilter(request.states, nowMs)
  const sort = sortOf(request)
  let skip = 0
  for (let limit = firstLimit(chosen); ; limit = Math.min(limit * GROWTH, WALK_MAX)) {
    let count = 0
    let batch: Candidate[] = []
    const { rows, isWhole } = walk(reading, candidates, chosen, { sort, limit, skip })
    for await (const one of rows) {
      count += 1
      batch.push(one)
      if (batch.length < BATCH_MAX) continue
      await collectFromBatch(reading, batch, chosen, isWhole)
      if (chosen.isFull) return
      batch = []
    }
    await collectFromBatch(reading, batch, chosen, isWhole)
    if (chosen.isFull || count < limit) return
    skip += count
  }
}

/** Collects the candidates of a batch that are the current revisions of their entities. */
async function collectFromBatch(
  reading: UniquegetContext,
  batch: readonly Candidate[],
  chosen: PageCollector,
  isWhole: boolean,
): Promise<void> {
  const { nowMs, request } = reading
  const { keyField } = request.definition
  // An entity has at most one active revision, and it always takes precedence.
  const others = batch.filter((one) => stateAt(one, nowMs) !== 0)
  const best = currentRevisionsByKey(await siblingsOf(reading, others), keyField, nowMs)
  for (const one of batch) {
    const isBest = stateAt(one, nowMs) === 0 || best.get(one[keyField])?._id.equals(one._id)
    if (isBest) chosen.add(one, isWhole)
    if (chosen.isFull) return
  }
}

function firstLimit({ needed }: PageCollector): number {
  return Math.min(needed + SPARE, WALK_MAX)
}

/** Reads revisions in the requested sort order. */
function walk(
  { catalog, request, limits }: UniquegetContext,
  parts: readonly Fields[],
  chosen: PageCollector,
  { sort, limit, skip = 0 }: { sort: Record<string, 1 | -1>; limit: number; skip?: number },
): { rows: AsyncIterable<Candidate>; isWhole: boolean } {
  const { page, definition } = request
  // Nearly all revisions of a first page are returned, so they are read with all fields.
  const isWhole = page === 0 && limit <= firstLimit(chosen)
  const rows = unguardedOf(catalog, definition).find(filterOf(request, parts) as object, {
    ...limits,
    projection: isWhole ? wholeProjection(request) : keyProjection(request),
    sort,
    skip,
    limit,
    batchSize: Math.min(limit, 1000),
    allowDiskUse: true,
  })
  return { rows, isWhole }
}

/** Projection of all returned fields and the fields that selection needs; empty for all fields. */
function wholeProjection(request: ReadRequest): Record<string, 0 | 1> {
  const { projection } = projectionOf(request)
  const needed = { ...keyProjection(request), _id: 1 } as const
  // An exclusion of fields that selection needs is applied after the read.
  if (!Object.values(projection ?? {}).includes(1)) {
    const left = Object.entries(projection ?? {}).filter(([name]) => !Object.hasOwn(needed, name))
    return Object.fromEntries(left)
  }
  return { ...projection, ...needed }
}

function keyProjection({ definition }: ReadRequest): Record<string, 1> {
  return { [definition.keyField]: 1, from: 1, to: 1 }
}

/** All revisions of the same entities that match the query. */
async function siblingsOf(
  { catalog, request, limits }: UniquegetContext,
  batch: readonly Candidate[],
): Promise<Candidate[]> {
  const { definition } = request
  const keys = [...new Set(batch.map((one) => one[definition.keyField]))]
  if (keys.length === 0) return []
  const filter = filterOf(request, [{ [definition.keyField]: { $in: keys } }])
  const found = unguardedOf(catalog, definition).find(filter as object, {
    ...limits,
    projection: keyProjection(request),
  })
  return found.toArray() as Promise<Candidate[]>
}

async function projectedRows(
  reading: UniquegetContext,
  chosen: readonly CollectedRow[],
): Promise<Fields[]> {
  const { request } = reading
  const { projection } = projectionOf(request)
  const isProjected = request.project !== null
  const read = await readRest(reading, chosen)
  return chosen.flatMap(({ row, isWhole }) => {
    const one = isWhole ? row : read.get(row._id.toHexString())
    return one === undefined ? [] : [projected(one, projection, isProjected)]
  })
}

/** Reads the rows that were scanned without all fields, by id. */
async function readRest(
  { catalog, request, limits }: UniquegetContext,
  chosen: readonly CollectedRow[],
): Promise<ReadonlyMap<string, Candidate>> {
  const ids = chosen.flatMap(({ row, isWhole }) => (isWhole ? [] : [row._id]))
  if (ids.length === 0) return new Map()
  const found = await unguardedOf(catalog, request.definition)
    .find({ _id: { $in: ids } } as object, { ...limits, projection: wholeProjection(request) })
    .toArray()
  return new Map(found.map((one) => [one._id.toHexString(), one]))
}

function projected(
  row: Fields,
  projection: Readonly<Record<string, 0 | 1>> | undefined,
  isProjected: boolean,
): Fields {
  if (!isProjected || projection === undefined) return row
  const isListed = Object.values(projection).includes(1)
  const roots = new Set(Object.keys(projection).map((name) => name.split('.')[0]))
  const isShown = (name: string) => {
    if (name === '_id') return projection['_id'] !== 0
    return isListed ? roots.has(name) : projection[name] !== 0
  }
  return Object.fromEntries(Object.entries(row).filter(([name]) => isShown(name)))
}

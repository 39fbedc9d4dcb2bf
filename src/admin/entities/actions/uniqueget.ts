/**
 * `uniqueget`: of each entity the revision that represents it (spec/entity-api.md 2.3). Of those
 * that fit the query: the active one, else the last future one, else the last expired one.
 */
import type { ObjectId } from '../../../catalog/collections.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import type { ReadRequest, ReadResult } from '../entity-request.ts'
import { type Fields, fromOf, toOf } from '../timeline/draft.ts'
import { filterOf, projectionOf, sortOf } from './get.ts'
import { documentsOf } from './revisions.ts'

export const STATE = { active: 0, future: 1, expired: 2 } as const

/** Candidates that are looked at together. */
const BATCH_MAX = 500

export function stateAt(revision: Fields, nowMs: number): 0 | 1 | 2 {
  if (toOf(revision) <= nowMs) return STATE.expired
  return fromOf(revision) > nowMs ? STATE.future : STATE.active
}

/** Enough of a revision to choose by. */
type Candidate = Pick<RawDocument, '_id'> & Fields

export async function uniqueget(
  catalog: Catalog,
  request: ReadRequest,
  nowMs: number,
): Promise<ReadResult> {
  const { page, size } = request
  // Nearly every revision of the first page is shown: it is read whole at once.
  if (page === 0) return firstPage(catalog, request, nowMs)
  const chosen = await representatives(catalog, request, nowMs, page * size + size + 1)
  const shown = chosen.slice(page * size, page * size + size)
  const rows = await read(
    catalog,
    request,
    shown.map(({ _id: id }) => id),
  )
  return { rows, hasMore: chosen.length > (page + 1) * size }
}

async function firstPage(
  catalog: Catalog,
  request: ReadRequest,
  nowMs: number,
): Promise<ReadResult> {
  const { size, definition, project } = request
  const { keyField } = definition
  const { projection } = projectionOf(request)
  // What is chosen by has to be read, too; an exclusion that leaves it out is done here.
  const isListed = Object.values(projection ?? {}).includes(1)
  const always = new Set([keyField, 'from', 'to', '_id'])
  const left = Object.entries(projection ?? {}).filter(([name]) => !always.has(name))
  const chosenBy = { [keyField]: 1, from: 1, to: 1, _id: 1 } as const
  const needed = isListed ? { ...projection, ...chosenBy } : Object.fromEntries(left)
  const chosen = await representatives(catalog, request, nowMs, size + 1, needed)
  const rows = chosen.slice(0, size).map((row) => projected(row, projection, project !== null))
  return { rows, hasMore: chosen.length > size }
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

/**
 * In the order that is asked for, so many at most. `projection`: of what is read of them, which
 * holds the key, the period and the id; empty for all.
 */
async function representatives(
  catalog: Catalog,
  request: ReadRequest,
  nowMs: number,
  wanted: number,
  projection: Readonly<Record<string, 0 | 1>> = chosenBy(request),
): Promise<Candidate[]> {
  const { definition, states } = request
  const filter = { $and: [filterOf(request), ...periodOf(states, nowMs)] }
  const chosen: Candidate[] = []
  const atOnce = Math.min(BATCH_MAX, wanted)
  for (let skip = 0; ; skip += atOnce) {
    const batch = (await catalog.run(`read ${definition.name}`, () =>
      documentsOf(catalog, definition)
        .find(filter as object, {
          projection: { ...projection },
          sort: sortOf(request),
          skip,
          limit: atOnce,
        })
        .toArray(),
    )) as Candidate[]
    const isAll = skip === 0 && batch.length < atOnce && !states.includes(STATE.expired)
    const others = isAll ? batch : await siblingsOf(catalog, request, batch)
    const best = bestByKey(others, definition.keyField, nowMs)
    for (const one of batch) {
      const isBest = best.get(one[definition.keyField])?._id.equals(one._id) === true
      if (isBest && states.includes(stateAt(one, nowMs))) chosen.push(one)
      if (chosen.length === wanted) return chosen
    }
    if (batch.length < atOnce) return chosen
  }
}

function chosenBy({ definition }: ReadRequest): Record<string, 1> {
  return { [definition.keyField]: 1, from: 1, to: 1 }
}

/** What can be in none of the states need not be looked at. */
function periodOf(states: readonly number[], nowMs: number): Fields[] {
  const now = new Date(nowMs)
  if (states.includes(STATE.expired)) return []
  const open = [{ to: { $gt: now } }]
  return states.includes(STATE.future) ? open : [...open, { from: { $lte: now } }]
}

/** All revisions of the same entities that fit the query. */
async function siblingsOf(
  catalog: Catalog,
  request: ReadRequest,
  batch: readonly Candidate[],
): Promise<Candidate[]> {
  const { definition } = request
  const keys = [...new Set(batch.map((one) => one[definition.keyField]))]
  if (keys.length === 0) return []
  const filter = { $and: [{ [definition.keyField]: { $in: keys } }, filterOf(request)] }
  const projection = chosenBy(request)
  return catalog.run(`read ${definition.name}`, () =>
    documentsOf(catalog, definition)
      .find(filter as object, { projection })
      .toArray(),
  ) as Promise<Candidate[]>
}

function bestByKey(
  revisions: readonly Candidate[],
  keyField: string,
  nowMs: number,
): ReadonlyMap<unknown, Candidate> {
  const best = new Map<unknown, Candidate>()
  for (const one of revisions) {
    const other = best.get(one[keyField])
    if (other === undefined || isBefore(one, other, nowMs)) best.set(one[keyField], one)
  }
  return best
}

function isBefore(one: Candidate, other: Candidate, nowMs: number): boolean {
  const difference = stateAt(one, nowMs) - stateAt(other, nowMs)
  return difference === 0 ? toOf(one) > toOf(other) : difference < 0
}

async function read(
  catalog: Catalog,
  request: ReadRequest,
  ids: readonly ObjectId[],
): Promise<Fields[]> {
  const { definition } = request
  if (ids.length === 0) return []
  const found = await catalog.run(`read ${definition.name}`, () =>
    documentsOf(catalog, definition)
      .find({ _id: { $in: [...ids] } } as object, withId(projectionOf(request)))
      .toArray(),
  )
  const byId = new Map(found.map((one) => [one._id.toHexString(), one]))
  const isIdShown = request.project?.['_id'] !== 0
  return ids.flatMap((id) => {
    const one = byId.get(id.toHexString())
    if (one === undefined) return []
    const { _id, ...rest } = one
    return [isIdShown ? one : rest]
  })
}

/** Rows are put in order by it. */
function withId({ projection }: ReturnType<typeof projectionOf>) {
  return projection === undefined ? {} : { projection: { ...projection, _id: 1 as const } }
}

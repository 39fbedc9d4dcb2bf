import { BSONRegExp, MaxKey, MinKey } from 'bson'
import { isOperatorDoc } from '../query/matcher.ts'
import type { SortField } from '../query/sort.ts'
import { equalValues, typeClass } from '../values/compare.ts'
import { type Doc, isArray, isDoc, type Value } from '../values/document.ts'
import { encodeKey } from '../values/key-encoding.ts'
import { arrayIndex } from '../values/path.ts'
import type { Collection, Index } from './catalog.ts'
import { type Bounds, entriesBelow, entriesBetween } from './index-keys.ts'
import type { Range } from './storage.ts'

/**
 * How the candidates for a filter are found; the filter itself is evaluated on each of them. Ranges
 * are disjoint and ascending.
 */
export type Plan =
  | { readonly kind: 'scan' }
  | {
      readonly kind: 'index'
      readonly index: Index
      readonly ranges: readonly Range[]
      readonly reverse: boolean
      /** Whether the documents are returned in the requested order. */
      readonly sorted: boolean
    }
  | { readonly kind: 'union'; readonly plans: readonly Plan[] }

/** Maximum number of ranges that combinations of several `$in` may create. */
const RANGES_MAX = 4096

/** The constraint of a filter on one field, as far as an index can use it. */
type Constraint = { points?: Value[]; from?: Limit; to?: Limit }
type Limit = { readonly value: Value; readonly inclusive: boolean }
type Constraints = Map<string, Constraint>

/** Chooses an index by the constraints of the filter and the sort, without statistics. */
export function planQuery(
  collection: Collection,
  filter: Doc,
  sort: readonly SortField[] = [],
): Plan {
  const constraints: Constraints = new Map()
  collectConstraints(filter, constraints)
  let best: { plan: Plan; score: number } | undefined
  for (const index of collection.indexes) {
    if (!isUsable(index, filter, constraints)) continue
    const found = planIndex(index, constraints, sort)
    if (found && (!best || found.score > best.score)) best = found
  }
  if (best && best.score >= SCORES.range) return best.plan
  return planUnion(collection, filter) ?? best?.plan ?? { kind: 'scan' }
}

/** A top-level `$or` uses an index per clause, if each clause has one. */
function planUnion(collection: Collection, filter: Doc): Plan | undefined {
  const clauses = filter['$or']
  if (!isArray(clauses)) return undefined
  const plans: Plan[] = []
  for (const clause of clauses) {
    const plan = isDoc(clause) ? planQuery(collection, clause) : undefined
    if (!plan || plan.kind === 'scan') return undefined
    plans.push(plan)
  }
  return { kind: 'union', plans }
}

function collectConstraints(filter: Doc, constraints: Constraints): void {
  for (const path of Object.keys(filter)) {
    const operand = filter[path]
    if (path === '$and' && isArray(operand)) {
      for (const clause of operand) if (isDoc(clause)) collectConstraints(clause, constraints)
    } else if (!path.startsWith('$')) {
      const constraint = constraints.get(path) ?? {}
      addConstraint(constraint, operand)
      constraints.set(path, constraint)
    }
  }
}

function addConstraint(constraint: Constraint, operand: Value): void {
  if (!isOperatorDoc(operand)) {
    addPoints(constraint, [operand])
    return
  }
  for (const name of Object.keys(operand)) {
    const value = operand[name]
    if (name === '$eq') addPoints(constraint, [value])
    else if (name === '$in' && isArray(value)) addPoints(constraint, value)
    else if (isOrdered(value)) addLimit(constraint, name, value)
  }
}

/** Keeps the shortest of several lists of points; the filter checks the others. */
function addPoints(constraint: Constraint, values: readonly Value[]): void {
  if (!values.every(isPoint)) return
  if (constraint.points && constraint.points.length <= values.length) return
  constraint.points = [...values]
}

/**
 * Null also matches missing fields, an array its elements, a pattern many values: an index does not
 * find all of them.
 */
function isPoint(value: Value): boolean {
  return value !== null && value !== undefined && !isArray(value) && !(value instanceof BSONRegExp)
}

function isOrdered(value: Value): boolean {
  return isPoint(value) && !(value instanceof MinKey) && !(value instanceof MaxKey)
}

function addLimit(constraint: Constraint, name: string, value: Value): void {
  const inclusive = name === '$gte' || name === '$lte'
  if (name === '$gt' || name === '$gte') constraint.from ??= { value, inclusive }
  if (name === '$lt' || name === '$lte') constraint.to ??= { value, inclusive }
}

/** Whether the index contains all documents that can match. */
function isUsable(index: Index, filter: Doc, constraints: Constraints): boolean {
  if (index.fields.some(({ parts }) => parts.some((part) => arrayIndex(part) !== undefined))) {
    return false
  }
  if (index.sparse && !index.fields.some(({ path }) => requiresField(constraints.get(path))))
    return false
  return !index.partial || implies(filter, index.partial)
}

/** Whether only an existing field can satisfy the constraint. */
function requiresField(constraint: Constraint | undefined): boolean {
  return (
    constraint?.points !== undefined ||
    constraint?.from !== undefined ||
    constraint?.to !== undefined
  )
}

/** Recognises only identical conditions, which is sufficient for the partial indexes in use. */
function implies(filter: Doc, partial: Doc): boolean {
  return Object.keys(partial).every((path) => {
    const condition = filter[path]
    return condition !== undefined && equalValues(condition, partial[path])
  })
}

const SCORES = { unique: 10_000, point: 100, points: 60, range: 40, sorted: 30 } as const

type ScoredPlan = { readonly plan: Plan; readonly score: number }

function planIndex(
  index: Index,
  constraints: Constraints,
  sort: readonly SortField[],
): ScoredPlan | undefined {
  let prefixes: Buffer[] = [Buffer.alloc(0)]
  let score = 0
  let fixed = 0
  let used = 0
  let bounds: Bounds | undefined
  for (const field of index.fields) {
    const constraint = constraints.get(field.path)
    const points = constraint?.points
    if (points && prefixes.length * points.length <= RANGES_MAX) {
      const keys = sortedKeys(points, field.descending)
      prefixes = prefixes.flatMap((prefix) => keys.map((key) => Buffer.concat([prefix, key])))
      if (points.length === 1 && fixed === used) fixed += 1
      score += points.length === 1 ? SCORES.point : SCORES.points
      used += 1
      continue
    }
    bounds = constraint && boundsOf(constraint, field.descending, index.multikey)
    if (bounds) score += SCORES.range + (constraint?.from && constraint.to ? 1 : 0)
    break
  }
  // Each point is one document at most.
  if (index.unique && used === index.fields.length) score += SCORES.unique
  const order = orderOf(index, fixed, sort)
  if (order !== undefined && sort.length > 0) score += SCORES.sorted
  if (score === 0) return undefined
  const ranges = prefixes
    .map((prefix) => (bounds ? entriesBetween(index, prefix, bounds) : entriesBelow(index, prefix)))
    // Long values that begin with the same bytes have the same range.
    .filter(({ start }, i, all) => i === 0 || !start.equals(all[i - 1]!.start))
  const reverse = order ?? false
  const sorted = order !== undefined
  return { plan: { kind: 'index', index, ranges, reverse, sorted }, score }
}

function sortedKeys(values: readonly Value[], descending: boolean): Buffer[] {
  const keys = values.map((value) => encodeKey(value, descending)).sort(Buffer.compare)
  return keys.filter((key, i) => i === 0 || !key.equals(keys[i - 1]!))
}

/** Bounds of the entries with the operand's type class within the limits. */
function boundsOf(
  constraint: Constraint,
  descending: boolean,
  multikey: boolean,
): Bounds | undefined {
  const { from } = constraint
  // Different elements of an array may satisfy the two limits: only one limit can be used.
  const to = multikey && from ? undefined : constraint.to
  const value = (from ?? to)?.value
  if (value === undefined) return undefined
  if (from && to && typeClass(from.value) !== typeClass(to.value)) return undefined
  const kind = typeClass(value)
  const first = descending ? ~kind & 0xff : kind
  const lowest = { key: Buffer.from([first]), inclusive: true }
  const highest = { key: Buffer.from([first + 1]), inclusive: false }
  const bound = (limit: Limit) => ({
    key: encodeKey(limit.value, descending),
    inclusive: limit.inclusive,
  })
  if (!descending) return { from: from ? bound(from) : lowest, to: to ? bound(to) : highest }
  return { from: to ? bound(to) : lowest, to: from ? bound(from) : highest }
}

/**
 * Order of the entries after `fixed` equal components, compared with the sort: false if it is the
 * same, true if it is reversed, undefined otherwise.
 */
function orderOf(index: Index, fixed: number, sort: readonly SortField[]): boolean | undefined {
  if (sort.length === 0) return false
  // An array has an entry for each of its elements and sorts by one of them, which may not be the
  // one that was found.
  if (index.multikey) return undefined
  const constant = new Set(index.fields.slice(0, fixed).map(({ path }) => path))
  const requested = sort.filter(({ path }) => !constant.has(path))
  if (requested.length === 0) return false
  const available = index.fields.slice(fixed)
  const [first] = available
  if (!first || requested.length > available.length) return undefined
  const reverse = requested[0]!.descending !== first.descending
  const isSame = requested.every(({ path, descending }, i) => {
    const field = available[i]!
    return field.path === path && (field.descending !== descending) === reverse
  })
  return isSame ? reverse : undefined
}

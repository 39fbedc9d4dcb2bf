/** Conditions of rules: compiled from the stored configuration, and tested on a changed balance. */
import { FieldError } from '../fields.ts'
import { type ChangedBalance, groupOf } from './balance.ts'
import { type AmountKind, type Constant, constantFrom, reportedAmount } from './constant.ts'
import { reachedConstant, reachedMultiple, reachedPercentage } from './crossings.ts'
import {
  type AmountPath,
  compilePath,
  compileSubscriberPath,
  kindAt,
  sumAt,
  type UsingSubscriber,
  type ValuePath,
} from './paths.ts'
import {
  type BalanceCondition,
  CONDITION_TYPES,
  type ConditionPath,
  type ConditionType,
  type ConditionValue,
} from './rule-documents.ts'

/** A path for which a condition is met, and the reported values. */
export interface PathMatch {
  path: ConditionPath
  before: ReportedValue
  after: ReportedValue
  basedOn: 'monetary' | 'usage'
  groupTotal?: number
  reached?: number
  percentage?: number
}

export type ReportedValue = number | string | boolean | null

/** The change that a condition is tested on. */
export interface BalanceChange {
  balance: ChangedBalance
  subscriber: UsingSubscriber
  /** Usage types of the request. */
  usagets: readonly string[]
}

export interface CompiledPath {
  document: ConditionPath
  value: ValuePath
  /** Whether a comparison reads the state before the request. */
  isBefore: boolean
  total: AmountPath | null
}

export interface CompiledCondition {
  type: ConditionType
  /**
   * Whether it tests a movement; otherwise it holds for a state, and is met again while it lasts.
   */
  isMovement: boolean
  paths: readonly CompiledPath[]
  /** Values to compare with. */
  expected: readonly Expected[]
  /** The same as numbers, in ascending order; empty if they are not numbers. */
  constants: readonly Constant[]
  /** Each group of the balance that the request changed is a path. */
  allGroups: Pick<BalanceCondition, 'usaget' | 'which'> | null
}

export interface Expected {
  text: string
  constant: Constant | null
}

const NO_VALUE: readonly ConditionType[] = ['has_changed']
const MOVEMENTS: readonly ConditionType[] = [
  'reached_constant',
  'reached_constant_recurring',
  'reached_percentage',
  'has_changed',
  'has_changed_to',
  'has_changed_from',
]
/** Types whose value may be a list. */
const OF_LISTS: readonly ConditionType[] = ['in', 'reached_constant', 'reached_percentage']
const OF_NUMBERS: readonly ConditionType[] = [
  'is_less_than',
  'is_less_than_or_equal',
  'is_greater_than',
  'is_greater_than_or_equal',
  'reached_constant',
  'reached_constant_recurring',
  'reached_percentage',
]

/**
 * Throws `FieldError` for a path or value that has no meaning; `at` is the path of the condition.
 */
export function compileCondition(document: BalanceCondition, at: string): CompiledCondition {
  // The text of this file: comparing it with the others is faster than with one from a document.
  const type = CONDITION_TYPES.find((known) => known === document.type)
  if (type === undefined) throw new FieldError(`${at}.type`, 'is not known', 'unknown')
  const expected = compileExpected(document, at)
  const allGroups = document.all_groups === true ? document : null
  const paths = allGroups === null ? compilePaths(document, at) : []
  const constants = expected.flatMap(({ constant }) => constant ?? [])
  return { type, isMovement: MOVEMENTS.includes(type), paths, expected, constants, allGroups }
}

function compilePaths(document: BalanceCondition, at: string): CompiledPath[] {
  const { path, paths = [], which } = document
  const list: [ConditionPath, string][] = paths.map((one, index) => [one, `${at}.paths.${index}`])
  if (path !== undefined) list.push([{ path }, at])
  if (list.length === 0) throw new FieldError(`${at}.paths`, 'is missing', 'missing')
  return list.map(([one, where]) => compileConditionPath(document.type, one, which, where))
}

function compileConditionPath(
  type: ConditionType,
  document: ConditionPath,
  which: BalanceCondition['which'],
  at: string,
): CompiledPath {
  const { path, total_path: totalPath, entity_type: entity = 'balance' } = document
  if (entity !== 'balance' && entity !== 'subscriber') {
    throw new FieldError(`${at}.entity_type`, 'must be balance or subscriber')
  }
  const value =
    entity === 'balance'
      ? compilePath(path, `${at}.path`)
      : compileSubscriberPath(path, `${at}.path`)
  const isAmount = value.kind === 'amount'
  if (!isAmount && OF_NUMBERS.includes(type) && MOVEMENTS.includes(type)) {
    throw new FieldError(`${at}.path`, 'is not an amount, which could reach a constant')
  }
  const isBefore = (document.which ?? which) === 'before'
  const total = totalOf(type, path, totalPath, at)
  return { document, value, isBefore, total }
}

/** Groups and postpaid credit have a total; other amounts must name one for percentages. */
function totalOf(
  type: ConditionType,
  path: string,
  totalPath: string | undefined,
  at: string,
): AmountPath | null {
  const named = totalPath ?? usualTotalPath(path)
  if (named === null) {
    if (type !== 'reached_percentage') return null
    throw new FieldError(
      `${at}.total_path`,
      'is missing: the amount of which it is a percentage',
      'missing',
    )
  }
  const total = compilePath(named, `${at}.total_path`)
  if (total.kind === 'amount') return total
  throw new FieldError(`${at}.total_path`, 'is not an amount')
}

function usualTotalPath(path: string): string | null {
  if (path === 'balance.cost') return 'balance.credit_limit'
  const [, group] = /^(balance\.groups\..+)\.(?:usagev|cost|left|total)$/.exec(path) ?? []
  return group === undefined ? null : `${group}.total`
}

function compileExpected({ type, value }: BalanceCondition, at: string): Expected[] {
  if (NO_VALUE.includes(type)) return []
  if (value === undefined) throw new FieldError(`${at}.value`, 'is missing', 'missing')
  const texts = textsOf(value, OF_LISTS.includes(type))
  const expected = texts.map((text): Expected => ({ text, constant: constantFrom(text) }))
  if (!OF_NUMBERS.includes(type)) return expected
  for (const { constant } of expected) {
    if (constant === null) {
      const list = OF_LISTS.includes(type) ? ', or several with commas between them' : ''
      throw new FieldError(`${at}.value`, `must be a number${list}`)
    }
    const isCounted = type === 'reached_constant_recurring' || type === 'reached_percentage'
    if (isCounted && !constant.isPositive) throw new FieldError(`${at}.value`, 'must be above 0')
  }
  return expected.sort((a, b) => order(a.constant as Constant, b.constant as Constant))
}

function textsOf(value: ConditionValue, isList: boolean): string[] {
  if (typeof value === 'object') return value.map(String)
  const text = String(value)
  return isList ? text.split(',').map((each) => each.trim()) : [text.trim()]
}

function order(a: Constant, b: Constant): number {
  const scale = Math.max(a.decimal.scale, b.decimal.scale)
  const scaled = ({ decimal }: Constant) => decimal.digits * 10n ** BigInt(scale - decimal.scale)
  return scaled(a) < scaled(b) ? -1 : 1
}

/** The paths of the balance for which the condition is met. */
export function matchesOf(
  condition: CompiledCondition,
  change: BalanceChange,
): readonly PathMatch[] {
  let found: PathMatch[] = NO_MATCHES
  for (const path of pathsIn(condition, change)) {
    const match = matchOf(condition, path, change)
    if (match === null) continue
    if (found === NO_MATCHES) found = [match]
    else found.push(match)
  }
  return found
}

const NO_MATCHES: PathMatch[] = []

/** The paths that a condition tests on a changed balance. */
export function pathsIn(
  condition: CompiledCondition,
  change: BalanceChange,
): readonly CompiledPath[] {
  const { allGroups } = condition
  if (allGroups === null) return condition.paths
  const { usaget = '', which } = allGroups
  if (usaget !== '' && !change.usagets.includes(usaget)) return []
  return groupPaths(condition.type, which, change.balance)
}

function groupPaths(
  type: ConditionType,
  which: BalanceCondition['which'],
  { changed }: ChangedBalance,
): CompiledPath[] {
  const paths = new Set<string>()
  for (const { counter, kind } of changed) {
    const name = groupOf(counter)?.name
    if (name !== undefined)
      paths.add(`balance.groups.${name}.${kind === 'units' ? 'usagev' : 'cost'}`)
  }
  return [...paths].map((path) => compileConditionPath(type, { path }, which, ''))
}

/** Null if the condition is not met for the path; most are not, and then nothing is allocated. */
export function matchOf(
  condition: CompiledCondition,
  path: CompiledPath,
  { balance, subscriber }: BalanceChange,
): PathMatch | null {
  const { type, expected, constants, isMovement } = condition
  const { value, document, isBefore, total } = path
  if (value.kind === 'field') {
    const read = value.read(balance, subscriber)
    if (read === undefined || !isFieldMet(type, read, expected)) return null
    return { path: document, before: read, after: read, basedOn: basedOn(document, null) }
  }
  const before = sumAt(value, balance.before)
  const after = sumAt(value, balance.after)
  if (isMovement && before === after) return null
  const kind = kindAt(value, balance)
  if (kind === null) return null
  const totalAmount = total === null ? undefined : sumAt(total, balance.after)
  let reached: Reached | null = NOTHING_REACHED
  if (reachesConstants(type)) {
    reached = reachedIn(type, before ?? 0, after ?? 0, kind, totalAmount, constants)
  } else if (!isAmountMet(type, before, after, kind, isBefore, expected)) return null
  if (reached === null) return null
  return {
    path: document,
    before: reportedAmount(before ?? 0, kind),
    after: reportedAmount(after ?? 0, kind),
    basedOn: basedOn(document, kind),
    ...(totalAmount === undefined || value.group === null
      ? {}
      : { groupTotal: reportedAmount(totalAmount, kind) }),
    ...reached,
  }
}

function basedOn({ path }: ConditionPath, kind: AmountKind | null): PathMatch['basedOn'] {
  return kind === 'money' || path.includes('cost') ? 'monetary' : 'usage'
}

type Reached = Pick<PathMatch, 'reached' | 'percentage'>

const NOTHING_REACHED: Reached = {}

export function reachesConstants(type: ConditionType): boolean {
  return (
    type === 'reached_constant' ||
    type === 'reached_constant_recurring' ||
    type === 'reached_percentage'
  )
}

function reachedIn(
  type: ConditionType,
  before: number,
  after: number,
  kind: AmountKind,
  total: number | undefined,
  constants: readonly Constant[],
): Reached | null {
  if (type === 'reached_constant_recurring') {
    const reached = reachedMultiple(before, after, kind, constants[0] as Constant)
    return reached === null ? null : { reached }
  }
  if (type === 'reached_constant') {
    const constant = reachedConstant(before, after, kind, constants)
    return constant === null ? null : { reached: constant.reported }
  }
  if (total === undefined) return null
  const percentage = reachedPercentage(before, after, total, constants)
  if (percentage === null) return null
  return { reached: percentage.share(total, kind), percentage: percentage.reported }
}

export function isAmountMet(
  type: ConditionType,
  before: number | undefined,
  after: number | undefined,
  kind: AmountKind,
  isBefore: boolean,
  expected: readonly Expected[],
): boolean {
  const state = isBefore ? before : after
  const equals = (amount: number | undefined) =>
    amount !== undefined && expected.some(({ constant }) => constant?.compare(amount, kind) === 0)
  switch (type) {
    case 'has_changed':
      return before !== after
    case 'has_changed_to':
      return before !== after && equals(after)
    case 'has_changed_from':
      return before !== after && equals(before)
    case 'is':
    case 'in':
      return equals(state)
    case 'is_not':
      return !equals(state)
    default:
      return state !== undefined && isOrdered(type, expected, (one) => one.compare(state, kind))
  }
}

/** `before` and `after` are the same: a field never changes. */
export function isFieldMet(
  type: ConditionType,
  value: string | number | boolean,
  expected: readonly Expected[],
): boolean {
  const compare = (one: Constant) => (typeof value === 'number' ? one.compare(value, 'units') : 1)
  const equals = expected.some(({ text, constant }) =>
    typeof value === 'number'
      ? constant !== null && compare(constant) === 0
      : text === String(value),
  )
  switch (type) {
    case 'is':
    case 'in':
      return equals
    case 'is_not':
      return !equals
    default:
      return typeof value === 'number' && isOrdered(type, expected, compare)
  }
}

function isOrdered(
  type: ConditionType,
  [first]: readonly Expected[],
  compare: (constant: Constant) => number,
): boolean {
  const constant = first?.constant ?? null
  if (constant === null) return false
  const order = compare(constant)
  switch (type) {
    case 'is_less_than':
      return order < 0
    case 'is_less_than_or_equal':
      return order <= 0
    case 'is_greater_than':
      return order > 0
    case 'is_greater_than_or_equal':
      return order >= 0
    default:
      return false
  }
}

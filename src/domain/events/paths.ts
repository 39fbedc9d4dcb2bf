/** Paths of conditions: the values of a balance that rules may name. */
import type { Bucket } from '../bucket.ts'
import { CREDIT, UNLIMITED_TOTAL, usageTotal } from '../counters.ts'
import { FieldError } from '../fields.ts'
import { amountOf, type ChangedBalance, groupOf } from './balance.ts'
import type { AmountKind } from './constant.ts'
import { MEASURES, type Measure, type UsageTotal } from './usage-totals.ts'

/** The subscriber whose usage is settled. */
export interface UsingSubscriber {
  aid: number
  sid: number
  plan: string
}

/** A value that usage changes: the sum over the matching buckets of a balance. */
export interface AmountPath {
  kind: 'amount'
  matches(bucket: Bucket): boolean
  /** Undefined if the bucket has no such value, as an unlimited one has no total. */
  read(bucket: Bucket): number | undefined
  /** Whether usage lowers the value. */
  falls: boolean
  /** The group with this name; null if it is not a path of a group. */
  group: string | null
  /** The total that has to be kept for the path; null if the ledger has it anyway. */
  total: UsageTotal | null
}

/** A value that usage does not change. */
export interface FieldPath {
  kind: 'field'
  read(balance: ChangedBalance, subscriber: UsingSubscriber): string | number | boolean | undefined
}

export type ValuePath = AmountPath | FieldPath

/** The sum over the matching buckets; undefined without one. */
export function sumAt(path: AmountPath, buckets: readonly Bucket[]): number | undefined {
  let sum: number | undefined
  for (const bucket of buckets) {
    if (!path.matches(bucket)) continue
    const amount = path.read(bucket)
    if (amount !== undefined) sum = (sum ?? 0) + amount
  }
  return sum
}

/** Units, or money; null if no bucket of the balance matches. */
export function kindAt(path: AmountPath, { after }: ChangedBalance): AmountKind | null {
  for (const bucket of after) {
    if (path.matches(bucket)) return bucket.kind === 'units' ? 'units' : 'money'
  }
  return null
}

/** Throws `FieldError` at `at` if the path is not a value of a balance. */
export function compilePath(path: string, at: string): ValuePath {
  const found =
    compileField(path) ?? compileCredit(path) ?? compileTotals(path) ?? compileGroup(path)
  if (found === null) throw new FieldError(at, `is not a value of a balance: ${KNOWN}`)
  return found
}

/** The path of an entity other than the balance. */
export function compileSubscriberPath(path: string, at: string): FieldPath {
  if (path === 'aid' || path === 'sid' || path === 'plan') {
    return { kind: 'field', read: (_, subscriber) => subscriber[path] }
  }
  throw new FieldError(at, 'is not a value of a subscriber: aid, sid, plan')
}

const KNOWN =
  'balance.cost, balance.credit_limit, balance.totals.USAGET.usagev, .cost, .over_group.usagev ' +
  'or .out_group.usagev, balance.groups.GROUP.usagev, .cost, .left or .total, spent, credited, ' +
  'connection_type, pp_includes_external_id, charging_by, charging_by_usaget, priority, ' +
  'service_name, service_id, shared, aid, sid'

const CHARGING = { units: 'usagev', cost: 'cost', totalCost: 'total_cost' } as const

const FIELDS: Readonly<Record<string, (balance: ChangedBalance) => ReturnType<FieldPath['read']>>> =
  {
    aid: ({ aid }) => aid,
    sid: ({ sid }) => sid,
    connection_type: ({ isPrepaid }) => (isPrepaid ? 'prepaid' : 'postpaid'),
    pp_includes_external_id: ({ isPrepaid, bucket }) =>
      isPrepaid ? bucket.prepaidIncludeId : undefined,
    charging_by: ({ isPrepaid, bucket }) => (isPrepaid ? CHARGING[bucket.kind] : undefined),
    charging_by_usaget: ({ isPrepaid, bucket }) => {
      if (!isPrepaid) return undefined
      return bucket.kind === 'totalCost' ? 'total_cost' : bucket.usaget
    },
    priority: ({ isPrepaid, bucket }) => (isPrepaid ? bucket.priority : undefined),
    service_name: (balance) => serviceOf(balance)?.holder,
    service_id: (balance) => serviceOf(balance)?.serviceId,
    shared: ({ sid }) => sid === 0,
  }

/** The service of a balance of its own. */
function serviceOf({ bucket }: ChangedBalance) {
  const group = groupOf(bucket.counter)
  return group !== null && group.serviceId > 0 ? group : undefined
}

function compileField(path: string): ValuePath | null {
  const read = Object.hasOwn(FIELDS, path) ? FIELDS[path] : undefined
  return read === undefined ? null : { kind: 'field', read }
}

/** One place that creates them, so that all have one hidden class. */
function amountPath(
  matches: AmountPath['matches'],
  read: AmountPath['read'],
  group: string | null = null,
  total: UsageTotal | null = null,
  falls = false,
): AmountPath {
  return { kind: 'amount', matches, read, falls, group, total }
}

const isPrepaid = ({ counter }: Bucket) => counter === ''
const limited = (amount: number, { limit }: Bucket) =>
  limit >= UNLIMITED_TOTAL ? undefined : Math.max(0, amount)

/** Amounts that are not of a usage type or group. */
function compileCredit(path: string): AmountPath | null {
  switch (path) {
    case 'spent':
      return amountPath(isPrepaid, ({ spent }) => spent)
    case 'credited':
      return amountPath(isPrepaid, ({ credited }) => credited)
    case 'balance.cost':
      return amountPath(
        ({ counter, kind }) => counter === CREDIT || (counter === '' && kind === 'totalCost'),
        amountOf,
      )
    case 'balance.credit_limit':
      return amountPath(
        ({ counter }) => counter === CREDIT,
        (bucket) => limited(bucket.limit, bucket),
      )
    default:
      return null
  }
}

const TOTALS = /^balance\.totals\.([\w-]+)\.(usagev|cost|over_group\.usagev|out_group\.usagev)$/

/** Prepaid credit of the usage type, or its usage of the cycle. */
function compileTotals(path: string): AmountPath | null {
  const [, usaget, field = ''] = TOTALS.exec(path) ?? []
  if (usaget === undefined) return null
  const measure = MEASURES.find((name) => field.startsWith(name)) as Measure
  const name = usageTotal(usaget, measure)
  const kind = measure === 'usagev' ? 'units' : measure === 'cost' ? 'cost' : null
  return amountPath(
    (bucket) =>
      bucket.counter === ''
        ? bucket.kind === kind && bucket.usaget === usaget
        : bucket.counter === name,
    amountOf,
    null,
    { usaget, measure },
  )
}

const GROUPS = /^balance\.groups\.(.+)\.(usagev|cost|left|total)$/

/** Counters of one group name, of the plan or of services that it includes, are added up. */
function compileGroup(path: string): AmountPath | null {
  const [, name, field] = GROUPS.exec(path) ?? []
  if (name === undefined) return null
  return amountPath(
    ({ counter, kind }) =>
      groupOf(counter)?.name === name &&
      (field === 'usagev' ? kind === 'units' : field !== 'cost' || kind !== 'units'),
    (bucket) => {
      if (field === 'total') return limited(bucket.limit, bucket)
      return field === 'left' ? limited(bucket.limit - bucket.spent, bucket) : bucket.spent
    },
    name,
    null,
    field === 'left',
  )
}

/** Sums of the lines of subscribers within a window, added up by MongoDB. */
import { Exact, storedAmount } from '../../catalog/records/money/exact-amount.ts'
import type { FraudRule, FraudWindow, SumField, SumThreshold } from '../../domain/events/fraud.ts'
import type { Fields } from '../../domain/fields.ts'

/** A subscriber, and the latest line of it that was reported. */
export interface ReportedSubscriber {
  readonly _id: Subscriber
  readonly max_urt: Date
}

export interface Subscriber {
  readonly aid: number
  readonly sid: number
}

/** Exact sums of the lines of a subscriber in a window, as MongoDB returns decimals. */
export interface WindowSums extends Readonly<Record<SumField, unknown>> {
  readonly _id: Subscriber
  readonly max_urt: Date
}

/** The subscribers whose number has this remainder. */
export interface SubscriberShare {
  readonly divisor: number
  readonly remainder: number
}

export const ALL_SUBSCRIBERS: SubscriberShare = { divisor: 1, remainder: 0 }

const PARTS = 8
const DIVISOR_MAX = PARTS ** 6

/** Smaller shares that add up to this one; none if it is small already. */
export function partsOf({ divisor, remainder }: SubscriberShare): SubscriberShare[] {
  if (divisor >= DIVISOR_MAX) return []
  return Array.from({ length: PARTS }, (_, index) => {
    return { divisor: divisor * PARTS, remainder: remainder + divisor * index }
  })
}

/** Selects the numbers of a share; 0 is the account. */
export function sidsIn({ divisor, remainder }: SubscriberShare): Fields {
  return { $gt: 0, ...(divisor > 1 && { $mod: [divisor, remainder] }) }
}

/** Selects the lines of subscribers. */
export function linesOf(subscribers: readonly Pick<ReportedSubscriber, '_id'>[]): Fields {
  const each = subscribers.map(({ _id: { aid, sid } }) => ({ aid, sid }))
  return { sid: { $in: each.map(({ sid }) => sid) }, $or: each }
}

/** Selects the lines of subscribers after those that were reported. */
export function linesAfter(reported: readonly ReportedSubscriber[]): Fields {
  const each = reported.map(({ _id: { aid, sid }, max_urt: last }) => {
    return { aid, sid, urt: { $gt: last } }
  })
  return { sid: { $in: each.map(({ sid }) => sid) }, $or: each }
}

/**
 * The pipeline of a window: subscribers that meet the thresholds of the rule, by those lines that
 * `selected` (a filter without `urt` and `$and`) matches. `fields`: sums that are returned.
 */
export function fraudPipeline(
  rule: FraudRule,
  { fromMs, toMs }: FraudWindow,
  selected: Fields,
  fields: readonly SumField[],
): Fields[] {
  const urt = { $gte: new Date(fromMs), $lt: new Date(toMs) }
  const { conditions, thresholds } = rule
  const lines = conditions.map((all) => ({
    $and: all.map(({ field, op, values }) => ({ [field]: { [`$${op}`]: values } })),
  }))
  const all = thresholds.flat()
  const nameOf = (threshold: SumThreshold) =>
    threshold.usagets === null ? threshold.field : `t${all.indexOf(threshold)}`
  const compared = all.map((one) => [nameOf(one), sumOf(one.field, one.usagets)] as const)
  return [
    { $match: { ...selected, urt, ...(lines.length > 0 && { $and: [{ $or: lines }] }) } },
    {
      $group: {
        _id: { aid: '$aid', sid: '$sid' },
        max_urt: { $max: '$urt' },
        ...Object.fromEntries(fields.map((field) => [field, sumOf(field, null)])),
        ...Object.fromEntries(compared),
      },
    },
    {
      $match: {
        $or: thresholds.map((set) => ({
          $and: set.map((threshold) => ({ [nameOf(threshold)]: comparison(threshold) })),
        })),
      },
    },
    { $project: { max_urt: 1, ...Object.fromEntries(fields.map((field) => [field, 1])) } },
  ]
}

/** Money may be stored as binary fractions; its decimals are added exactly. */
function sumOf(field: SumField, usagets: readonly string[] | null): Fields {
  const decimal = { $convert: { input: `$${field}`, to: 'decimal', onError: null, onNull: null } }
  if (usagets === null) return { $sum: decimal }
  return { $sum: { $cond: [{ $in: ['$usaget', usagets] }, decimal, null] } }
}

function comparison({ op, values }: SumThreshold): Fields {
  const decimals = values.map((text) => storedAmount(new Exact(text)))
  return { [`$${op}`]: op === 'in' || op === 'nin' ? decimals : decimals[0] }
}

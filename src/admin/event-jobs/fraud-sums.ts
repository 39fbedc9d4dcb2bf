/** Sums of the lines of subscribers within a window, added up by MongoDB. */
import { Exact, storedAmount } from '../../catalog/records/exact-amount.ts'
import {
  type FraudRule,
  type FraudWindow,
  SUM_FIELDS,
  type SumField,
  type Threshold,
} from '../../domain/events/fraud.ts'
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

/** What a window has of a subscriber: exact sums, as MongoDB returns decimals. */
export interface SubscriberSums extends Readonly<Record<SumField, unknown>> {
  readonly _id: Subscriber
  readonly max_urt: Date
}

/**
 * The pipeline of a window: subscribers that meet the thresholds of the rule. With `reported` only
 * these, by their lines after those that were reported.
 */
export function fraudPipeline(
  rule: FraudRule,
  { fromMs, toMs }: FraudWindow,
  reported?: readonly ReportedSubscriber[],
): Fields[] {
  const urt = { $gte: new Date(fromMs), $lt: new Date(toMs) }
  const { conditions, thresholds } = rule
  const subscribers = reported === undefined ? { sid: { $gt: 0 } } : afterReported(reported)
  const lines = conditions.map((all) => ({
    $and: all.map(({ field, op, values }) => ({ [field]: { [`$${op}`]: values } })),
  }))
  const all = thresholds.flat()
  const nameOf = (threshold: Threshold) =>
    threshold.usagets === null ? threshold.field : `t${all.indexOf(threshold)}`
  const ofUsagets = all.flatMap((threshold) => {
    const { field, usagets } = threshold
    return usagets === null ? [] : [[nameOf(threshold), sumOf(field, usagets)] as const]
  })
  return [
    { $match: { urt, ...subscribers, ...(lines.length > 0 && { $and: [{ $or: lines }] }) } },
    {
      $group: {
        _id: { aid: '$aid', sid: '$sid' },
        max_urt: { $max: '$urt' },
        ...Object.fromEntries(SUM_FIELDS.map((field) => [field, sumOf(field, null)])),
        ...Object.fromEntries(ofUsagets),
      },
    },
    {
      $match: {
        $or: thresholds.map((set) => ({
          $and: set.map((threshold) => ({ [nameOf(threshold)]: comparison(threshold) })),
        })),
      },
    },
    { $project: { max_urt: 1, ...Object.fromEntries(SUM_FIELDS.map((field) => [field, 1])) } },
  ]
}

function afterReported(reported: readonly ReportedSubscriber[]): Fields {
  const sids = reported.map(({ _id }) => _id.sid)
  const each = reported.map(({ _id: { aid, sid }, max_urt: last }) => {
    return { aid, sid, urt: { $gt: last } }
  })
  return { sid: { $in: sids }, $or: each }
}

/** Money may be stored as binary fractions; its decimals are added exactly. */
function sumOf(field: SumField, usagets: readonly string[] | null): Fields {
  const decimal = { $convert: { input: `$${field}`, to: 'decimal', onError: null, onNull: null } }
  if (usagets === null) return { $sum: decimal }
  return { $sum: { $cond: [{ $in: ['$usaget', usagets] }, decimal, null] } }
}

function comparison({ op, values }: Threshold): Fields {
  const decimals = values.map((text) => storedAmount(new Exact(text)))
  return { [`$${op}`]: op === 'in' || op === 'nin' ? decimals : decimals[0] }
}

/**
 * Funding sources of units that no group covers: prepaid buckets, or the credit of a postpaid
 * cycle.
 */
import { fraction } from '../../domain/fraction.ts'
import { instantOf } from './calendar.ts'
import type { BucketDocument, PrepaidIncludeDocument, QuoteCase } from './case.ts'
import { exact, leastOf, MICROS, product } from './exact.ts'
import { isFree, type ModelTariff, payableSteps, priceOf } from './price.ts'

export interface ModelBucket {
  include: PrepaidIncludeDocument
  /** 0 for the account. */
  sid: number
  id: number
  fromMs: number
  toMs: number
  /** Steps, or micros. */
  free: bigint
}

/** The paid units, and their funding sources. */
export interface Payment {
  steps: bigint
  /** The steps with a price. */
  priced: bigint
  taken: { bucket: ModelBucket; amount: bigint }[]
}

export function modelBuckets(
  testCase: QuoteCase,
  zone: string,
  stepsPerUnit: bigint,
): ModelBucket[] {
  const buckets: ModelBucket[] = []
  const subscribers = testCase.subscribers ?? (testCase.subscriber ? [testCase.subscriber] : [])
  for (const { sid: owner = 1, buckets: documents = [] } of subscribers) {
    for (const document of documents) {
      const include = testCase.catalogue.prepaidincludes!.find(
        ({ external_id }) => external_id === document.pp_includes_external_id,
      )!
      const sid = include.shared ? 0 : owner
      const id = buckets.filter((other) => other.sid === sid).length + 1
      buckets.push({ ...modelBucket(document, include, zone, stepsPerUnit), sid, id })
    }
  }
  return buckets
}

function modelBucket(
  { value, from, to }: BucketDocument,
  include: PrepaidIncludeDocument,
  zone: string,
  stepsPerUnit: bigint,
): Omit<ModelBucket, 'sid' | 'id'> {
  const scale = include.charging_by === 'usagev' ? stepsPerUnit : MICROS
  const { over, under } = product(exact(value), fraction(scale))
  const isEndless = include.unlimited || to === undefined
  return {
    include,
    fromMs: from === undefined ? Number.NEGATIVE_INFINITY : instantOf(from, zone),
    toMs: isEndless ? Number.POSITIVE_INFINITY : instantOf(to, zone),
    free: over / under,
  }
}

export interface Purchase {
  sid: number
  plan: string
  rateKey: string
  usaget: string
  atMs: number
}

/** High priority first, then the earliest end, then the id, then the own before the account's. */
export function bucketsInOrder(buckets: readonly ModelBucket[], purchase: Purchase): ModelBucket[] {
  return buckets
    .filter((bucket) => mayPay(bucket, purchase))
    .sort((one, other) => {
      const priorities = other.include.priority - one.include.priority
      if (priorities !== 0) return priorities
      if (one.toMs !== other.toMs) return one.toMs < other.toMs ? -1 : 1
      return one.id - other.id || other.sid - one.sid
    })
}

function mayPay({ include, sid, fromMs, toMs }: ModelBucket, purchase: Purchase): boolean {
  if (sid !== 0 && sid !== purchase.sid) return false
  if (purchase.atMs < fromMs || purchase.atMs >= toMs) return false
  const usagets = [include.charging_by_usaget, ...(include.additional_charging_usaget ?? [])]
  const isMeant = include.charging_by === 'total_cost' || usagets.includes(purchase.usaget)
  const allowed = include.allowed_in?.[purchase.plan] ?? include.allowed_in?.['BASE']
  return isMeant && (allowed === undefined || allowed.includes(purchase.rateKey))
}

/**
 * Bucket after bucket: units pay units; money, together with the rest of all money before it, pays
 * the units that it can buy. Free units need no bucket.
 */
export function paidByBuckets(
  order: readonly ModelBucket[],
  tariff: ModelTariff,
  asked: bigint,
): Payment {
  const taken: Payment['taken'] = []
  let left = asked
  let pool = 0n
  let priced = 0n
  const buy = () => {
    const reached = payableSteps(tariff, true, { from: priced, upTo: priced + left }, pool)
    left -= reached - priced
    priced = reached
  }
  if (isFree(tariff)) buy()
  for (const bucket of order) {
    if (bucket.include.charging_by === 'usagev') {
      const amount = leastOf(left, bucket.free)
      left -= amount
      taken.push({ bucket, amount })
    } else {
      pool += bucket.free
      buy()
    }
  }
  buy()
  let cost = priceOf(tariff, priced, true)
  for (const bucket of order) {
    if (bucket.include.charging_by === 'usagev') continue
    const amount = leastOf(cost, bucket.free)
    cost -= amount
    taken.push({ bucket, amount })
  }
  if (cost !== 0n) throw new Error('the model grants what no bucket can pay')
  return { steps: asked - left, priced, taken }
}

/** As many units as every limit allows; null if there is no limit. */
export function paidByCredit(
  limits: readonly (bigint | null)[],
  tariff: ModelTariff,
  asked: bigint,
): Payment {
  const range = { from: 0n, upTo: asked }
  let steps = asked
  for (const limit of limits) {
    if (limit === null) continue
    steps = leastOf(steps, payableSteps(tariff, true, range, limit > 0n ? limit : 0n))
  }
  return { steps, priced: steps, taken: [] }
}

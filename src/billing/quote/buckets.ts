/** Opens the initial buckets of a case. */
import { emptyOwner, type OwnerState } from '../../domain/bucket.ts'
import {
  type Catalogue,
  type PrepaidInclude,
  revisionAt,
  type SubscriberProfile,
} from '../../domain/catalogue.ts'
import { BalanceRangeError, credit } from '../../domain/credit.ts'
import { FieldError } from '../../domain/fields.ts'
import { MICROS_DIGITS, toScale } from '../../domain/money.ts'
import { FOREVER_MS, parseInstant } from '../../domain/time.ts'
import type { CaseBucket, QuoteCase } from './case.ts'

/**
 * Owners by `aid:sid`; shared buckets have sid 0. `profiles` are in the order of the case. Throws
 * `FieldError` with the path in the case.
 */
export function openBuckets(
  { subscribers, settings }: QuoteCase,
  catalogue: Catalogue,
  profiles: readonly SubscriberProfile[],
  unitDigits: number,
): Map<string, OwnerState> {
  const owners = new Map<string, OwnerState>()
  for (const [index, { aid, sid }] of profiles.entries()) {
    for (const bucket of subscribers[index]?.buckets ?? []) {
      const period = periodOf(bucket, settings.timeZone)
      const include = includeOf(catalogue, bucket, period.fromMs)
      const owner = include.shared ? 0 : sid
      const key = `${aid}:${owner}`
      const amount = amountOf(bucket, include, unitDigits)
      const toMs = include.unlimited ? FOREVER_MS : period.toMs
      const operation = { include, amount, fromMs: period.fromMs, toMs, mode: 'new' } as const
      const before = owners.get(key) ?? emptyOwner(aid, owner)
      owners.set(
        key,
        opened(bucket, () => credit(before, operation, 0).owner),
      )
    }
  }
  return owners
}

function periodOf({ path, from, to }: CaseBucket, timeZone: string) {
  const instant = (value: unknown, name: string, otherwise: number) => {
    if (value === undefined) return otherwise
    const atMs = typeof value === 'string' ? parseInstant(value, timeZone) : null
    if (atMs !== null) return Math.min(atMs, FOREVER_MS)
    const suffix = typeof value === 'string' ? `, is '${value}'` : ''
    throw new FieldError(`${path}.${name}`, `must be a date${suffix}`)
  }
  const period = { fromMs: instant(from, 'from', 0), toMs: instant(to, 'to', FOREVER_MS) }
  if (period.toMs > period.fromMs) return period
  throw new FieldError(`${path}.to`, 'must be after from')
}

function includeOf(catalogue: Catalogue, bucket: CaseBucket, atMs: number): PrepaidInclude {
  const revisions = catalogue.prepaidIncludes.get(bucket.includeId)
  const include = revisionAt(revisions, atMs) ?? revisions?.[0]
  if (include !== undefined) return include
  const why = `is not in catalogue.prepaidincludes: ${bucket.includeId}`
  throw new FieldError(`${bucket.path}.pp_includes_external_id`, why)
}

function amountOf({ path, value }: CaseBucket, { kind }: PrepaidInclude, unitDigits: number) {
  const amount = toScale(value, kind === 'units' ? unitDigits : MICROS_DIGITS)
  if (amount === null) throw new FieldError(`${path}.value`, 'is too large')
  return amount
}

function opened<T>({ path }: CaseBucket, open: () => T): T {
  try {
    return open()
  } catch (error) {
    if (error instanceof BalanceRangeError) throw new FieldError(`${path}.value`, 'is too large')
    throw error
  }
}

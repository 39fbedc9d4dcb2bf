/** Resolves a request to load balances: owner, bucket, amount and expiry. */
import { type CustomerSource, subscriberAt } from '../../billing/customer-lookup.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { compilePrepaidInclude } from '../../catalog/compile/prepaid-include.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Config } from '../../config/schema.ts'
import { flipCreditSign } from '../../domain/balance-sign.ts'
import type { BucketKind, OwnerState } from '../../domain/bucket.ts'
import { type PrepaidInclude, revisionAt } from '../../domain/catalogue.ts'
import {
  BalanceRangeError,
  BalanceRefusal,
  type Credit,
  type CreditedInclude,
  credit,
  InsufficientBalanceError,
} from '../../domain/credit.ts'
import { decimalOf, shortened } from '../../domain/fields.ts'
import { MICROS_DIGITS, toScale } from '../../domain/money.ts'
import type { Ledger, SessionLocation } from '../../ledger/ledger.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { loadOwners } from './live.ts'

/** Dependencies of balance operations. */
export interface BalanceDeps extends CustomerSource {
  ledger: Ledger
  clock: Clock
  config: Pick<Config, 'rating' | 'billing' | 'ledger' | 'secrets' | 'data'>
}

export type LoadOperation = Credit['mode']

/** Credit for one bucket of an owner. */
export interface Load {
  owner: SessionLocation
  /** Name of the prepaid include. */
  name: string
  credit: Credit
}

/** Account and subscriber of a request. */
export interface BalanceTarget {
  sid: number | null
  /** As given in the request. */
  aid: number | null
  /** The subscriber's current account; without a subscriber the account of the request. */
  account: number | null
  /** The subscriber's current plan; empty without a subscriber. */
  plan: string
}

/** Looks up the subscriber's account. Rejects with `EntityRuleError`, and as `subscriberAt`. */
export async function resolveTarget(
  source: CustomerSource,
  request: { aid?: unknown; sid?: unknown },
  nowMs: number,
): Promise<BalanceTarget> {
  const aid = ownerAt(request.aid, 'aid')
  const sid = ownerAt(request.sid, 'sid')
  if (sid === null) return { sid, aid, account: aid, plan: '' }
  const found = await subscriberAt(source, sid, nowMs)
  if (found === null)
    throw new EntityRuleError(`there is no subscriber ${sid} now`, { path: 'sid' })
  const { aid: account, plan } = found
  if (aid !== null && aid !== account) {
    throw new EntityRuleError(`subscriber ${sid} belongs to account ${account}, not ${aid}`, {
      path: 'aid',
    })
  }
  return { sid, aid, account, plan }
}

/** 0 denotes a shared balance: it names no subscriber. */
function ownerAt(value: unknown, field: string): number | null {
  if (value === undefined || value === null || value === '' || Number(value) === 0) return null
  const number = typeof value === 'string' ? Number(value) : value
  if (Number.isSafeInteger(number) && (number as number) > 0) return number as number
  throw fieldRule(field, 'must be a positive integer')
}

/** Owner of a bucket with this definition. Throws `EntityRuleError`. */
export function ownerFor(
  { name, shared }: PrepaidInclude,
  { sid, aid, account }: BalanceTarget,
): SessionLocation {
  if (shared) {
    if (aid === null)
      throw new EntityRuleError(`${name} is shared by an account: aid is missing`, {
        path: 'aid',
        code: 'missing',
      })
    return { aid, sid: 0 }
  }
  if (sid === null || account === null) {
    throw new EntityRuleError(`${name} belongs to a subscriber: sid is missing`, {
      path: 'sid',
      code: 'missing',
    })
  }
  return { aid: account, sid }
}

/** The definition in force, by id, name or both. Throws `EntityRuleError`. */
export async function includeOf(
  catalog: Catalog,
  { externalId, name }: { externalId?: unknown; name?: unknown },
  nowMs: number,
): Promise<PrepaidInclude> {
  const byId = isGiven(externalId) ? { external_id: Number(externalId) } : null
  const byName = isGiven(name) ? { name: String(name) } : null
  const filter = { ...(byId ?? byName ?? {}), deleted: { $ne: true } } as const
  const documents = await catalog.prepaidincludes.find(filter).toArray()
  const revisions = documents.map((document) => compilePrepaidInclude(document as RawDocument))
  const include = revisionAt(
    revisions.sort((a, b) => a.fromMs - b.fromMs),
    nowMs,
  )
  const requested = String(byId?.external_id ?? byName?.name)
  if (include === null)
    throw new EntityRuleError(`there is no prepaid include ${requested} now`, 'refused')
  if (byName !== null && include.name !== byName.name) {
    throw new EntityRuleError(
      `prepaid include ${requested} is ${include.name}, not ${byName.name}`,
      'refused',
    )
  }
  return include
}

/** Whether a value is given: clients send omitted fields as null or ''. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

/**
 * Converts an amount of the API, where credit is negative, to one of the ledger: units or micros,
 * credit positive. Throws `EntityRuleError` with the field.
 */
export function creditOf(value: unknown, kind: BucketKind, field: string): number {
  const decimal = decimalOf(value)
  const digits = kind === 'units' ? 0 : MICROS_DIGITS
  const amount = decimal === null ? null : toScale(decimal, digits)
  if (amount !== null) return flipCreditSign(amount)
  const expected =
    kind === 'units' ? 'an integer' : 'a decimal with at most 6 digits after the point'
  const text = shortened(value)
  throw fieldRule(field, `must be ${expected}, is ${text}`)
}

/**
 * Maximum credit that a plan allows in a bucket, units or micros: `pp_threshold` by `external_id`,
 * negative like balances. Undefined if there is no limit. Throws `EntityRuleError` for an invalid
 * amount.
 */
export async function thresholdOf(
  catalog: Catalog,
  plan: string,
  { externalId, kind, unlimited }: CreditedInclude,
  nowMs: number,
): Promise<number | undefined> {
  if (plan === '' || unlimited) return undefined
  const at = new Date(nowMs)
  const filter = {
    name: plan,
    from: { $lte: at },
    to: { $gt: at },
    deleted: { $ne: true },
  } as const
  const [found] = await catalog.plans.find(filter).sort({ from: -1 }).limit(1).toArray()
  const thresholds = found?.pp_threshold as Readonly<Record<string, unknown>> | null | undefined
  const value = thresholds?.[String(externalId)]
  if (!isGiven(value)) return undefined
  const most = creditOf(value, kind, `pp_threshold.${externalId} of plan ${plan}`)
  return most > 0 ? most : undefined
}

/**
 * Whether the loads, in sequence, would deduct more than is available or exceed the plan's limit.
 * Throws `EntityRuleError` for a bucket that cannot be loaded at all.
 */
export async function isRefused(
  ledger: Ledger,
  loads: readonly Load[],
  nowMs: number,
): Promise<boolean> {
  const states = new Map<number, OwnerState>()
  for (const { owner: location, credit: requested } of loads) {
    const [read] = states.has(location.sid) ? [] : await loadOwners(ledger, [location])
    const state = states.get(location.sid) ?? (read as OwnerState)
    try {
      const { owner, normalized } = credit(state, requested, nowMs)
      if (normalized > 0) return true
      states.set(location.sid, owner)
    } catch (error) {
      if (error instanceof InsufficientBalanceError) return true
      throw toEntityError(error)
    }
  }
  return false
}

/** Converts refusals of the ledger to errors of the API; returns other errors unchanged. */
export function toEntityError(error: unknown): unknown {
  if (error instanceof BalanceRangeError) return fieldRule('value', 'is out of range')
  return error instanceof BalanceRefusal ? new EntityRuleError(error.message, 'refused') : error
}

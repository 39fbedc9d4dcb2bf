/**
 * Converts recorded documents back to ledger values, to rebuild a lost ledger. Returns null if
 * values are missing or invalid; nothing is guessed.
 */
import { flipCreditSign } from '../../../domain/balance-sign.ts'
import { type Bucket, type BucketKind, EMPTY_LIMIT } from '../../../domain/bucket.ts'
import type { OperationLine } from '../../../domain/line.ts'
import { MICROS_PER_UNIT } from '../../../domain/money.ts'
import { type BalanceDocument, CHARGING_OF_KIND, TOTAL_COST } from './balance-document.ts'
import type { BalanceLineDocument } from './documents.ts'

/** The bucket at the version of its projection. */
export function bucketOf(document: BalanceDocument): Bucket | null {
  const { bucket_id: id, credited, spent, reserved, limit, priority } = document
  const kind = kindOf(document.charging_by)
  const [fromMs, toMs] = [millisOf(document.from), millisOf(document.to)]
  const amounts = [id, credited, spent, reserved, limit, priority, fromMs, toMs]
  const include = document.pp_includes_external_id
  if (kind === null || ![...amounts, include].every(Number.isSafeInteger)) return null
  // Documents recorded before counters were introduced do not have the field.
  const counter: unknown = document.counter ?? ''
  if (typeof counter !== 'string') return null
  if (spent < 0 || reserved < 0 || limit < (counter === '' ? 0 : EMPTY_LIMIT)) return null
  return {
    id,
    prepaidIncludeId: include,
    kind,
    priority,
    fromMs,
    toMs,
    usaget: kind === 'totalCost' ? '' : document.charging_by_usaget,
    credited,
    spent,
    reserved,
    free: credited - spent - reserved,
    limit,
    counter,
  }
}

function kindOf(chargingBy: unknown): BucketKind | null {
  const found = Object.entries(CHARGING_OF_KIND).find(([, name]) => name === chargingBy)
  return found === undefined ? null : (found[0] as BucketKind)
}

/** NaN if it is not a date. */
function millisOf(date: unknown): number {
  return date instanceof Date ? date.getTime() : Number.NaN
}

/** The operation line of the ledger. */
export function operationLineOf(document: BalanceLineDocument): OperationLine | null {
  const { aid, sid, stamp, operation, usagev, aprice_micros, charging_usaget: usaget } = document
  const isUnits = usagev !== undefined
  const change = flipCreditSign(usagev ?? aprice_micros ?? Number.NaN)
  // Exact: a double represents six decimals of amounts below 2^51.
  const scaledBefore = document.balance_before * (isUnits ? 1 : MICROS_PER_UNIT)
  const before = flipCreditSign(Math.round(scaledBefore))
  const numbers = {
    aid,
    sid,
    bucketId: document.bucket_id,
    prepaidIncludeId: document.pp_includes_external_id,
    amount: change + document.repaid_micros + (document.counted ?? 0),
    before,
    after: before + change,
    repaid: document.repaid_micros,
    version: document.owner_v,
    priority: document.priority,
    fromMs: millisOf(document.from),
    toMs: millisOf(document.to),
    atMs: millisOf(document.urt),
  }
  if (!Object.values(numbers).every(Number.isSafeInteger)) return null
  return {
    stamp,
    operation,
    operationId: document.operation_id,
    kind: isUnits ? 'units' : 'money',
    usaget: usaget === TOTAL_COST ? '' : usaget,
    ...numbers,
    ...optionalFields(document, isUnits),
  }
}

/** A repeated operation must return its original result. */
function optionalFields(document: BalanceLineDocument, isUnits: boolean): Partial<OperationLine> {
  const { asked, counter, limit, counted, source, source_ref, parent_ref } = document
  const { additional, mended } = document
  const normalized = Math.round(document.balance_normalized * (isUnits ? 1 : MICROS_PER_UNIT))
  const isApi = source === 'billapi'
  return {
    ...(Number.isSafeInteger(asked) ? { asked: asked as number } : {}),
    ...(normalized > 0 ? { normalized } : {}),
    ...(typeof counter === 'string' ? { counter, limit: limit ?? 0, counted: counted ?? 0 } : {}),
    ...(isApi ? { chargingType: document.charging_type } : {}),
    ...(source_ref === undefined ? {} : { sourceRef: source_ref }),
    ...(parent_ref === undefined ? {} : { parentRef: parent_ref }),
    ...(additional === undefined ? {} : { additional }),
    ...(mended === undefined ? {} : { mended }),
  }
}

/**
 * Carries the balances of a subscriber to another account. Each bucket is taken out there and put
 * in here under ids that tell the bucket: after a stop between any two steps the same transfer,
 * done again, finishes it, and no unit is lost or doubled.
 *
 * Debt stays in the account in which it was incurred, and so does what sessions hold: they go on
 * there. A counter counts on in the new account from what it has counted.
 */

import { BucketReservedError } from '../../domain/balance-operations.ts'
import type { Bucket } from '../../domain/bucket.ts'
import { type BucketTerms, isClosed, UnknownBucketError } from '../../domain/credit.ts'
import type { OperationLine } from '../../domain/line.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { creditBucket, type OperationSettings } from '../../ledger/operations.ts'
import { loadOwners } from './live.ts'

export interface TransferRequest {
  sid: number
  fromAid: number
  toAid: number
  /** Repeat the transfer under the same, within the time that results are kept. */
  operationId: string
}

/** Plain JSON: a caller may note it down before anything is done. */
export interface TransferPlan extends TransferRequest {
  buckets: TransferredBucket[]
}

export interface TransferredBucket extends BucketTerms {
  bucketId: number
}

/** What arrives, one line per bucket. */
export interface Transferred {
  lines: OperationLine[]
}

/** Lists what would be carried. Throws `CorruptValueError` or `StoreDownError`. */
export async function planTransfer(ledger: Ledger, asked: TransferRequest): Promise<TransferPlan> {
  const { sid, fromAid, toAid, operationId } = asked
  const buckets = await bucketsOf(ledger, asked)
  const open = buckets.filter((bucket) => !isClosed(bucket))
  return { sid, fromAid, toAid, operationId, buckets: open.map(termsOf) }
}

/**
 * Carries what the plan lists and nothing else: done again much later, it must not take what has
 * come back since. Throws `OperationReusedError`, `ContentionError`, `BalanceRangeError`,
 * `CorruptValueError` or `StoreDownError`: doing it again goes on where it has stopped.
 */
export async function runTransfer(
  ledger: Ledger,
  plan: TransferPlan,
  settings: OperationSettings,
  nowMs: number,
): Promise<Transferred> {
  if (plan.fromAid === plan.toAid) return { lines: [] }
  const current = await bucketsOf(ledger, plan)
  const lines: OperationLine[] = []
  for (const terms of plan.buckets) {
    const step = { ledger, plan, terms, settings, nowMs }
    const bucket = current.find(({ id }) => id === terms.bucketId)
    const line =
      terms.counter === '' ? await transferBalance(step) : await transferCounter(step, bucket)
    if (line !== null) lines.push(line)
  }
  return { lines }
}

async function bucketsOf(ledger: Ledger, { fromAid, sid }: TransferRequest): Promise<Bucket[]> {
  const [owner] = await loadOwners(ledger, [{ aid: fromAid, sid }])
  return owner?.buckets ?? []
}

function termsOf(bucket: Bucket): TransferredBucket {
  const { id: bucketId, prepaidIncludeId, kind, usaget, priority } = bucket
  const { fromMs, toMs, limit, counter } = bucket
  return { bucketId, prepaidIncludeId, kind, usaget, priority, fromMs, toMs, limit, counter }
}

interface Step {
  ledger: Ledger
  plan: TransferPlan
  terms: TransferredBucket
  settings: OperationSettings
  nowMs: number
}

/** Out, in, and where nothing is left the old one is closed. Null: there was nothing to carry. */
async function transferBalance({
  ledger,
  plan,
  terms,
  settings,
  nowMs,
}: Step): Promise<OperationLine | null> {
  const { sid, fromAid, operationId } = plan
  const { bucketId } = terms
  const from = { aid: fromAid, sid, bucketId }
  const outId = `${operationId}.out.${bucketId}`
  // What has ended stays, unless it had been taken out before it ended.
  const isOver = terms.toMs <= nowMs
  if (isOver && (await ledger.findOperation(fromAid, outId)) === null) return null
  const out = { ...from, mode: 'transfer_out', operationId: outId } as const
  const taken = await nullIfGone(creditBucket(ledger, out, settings, nowMs))
  if (taken === null) return null
  const amount = 0 - taken.amount
  const arrived =
    amount === 0 ? null : await creditTarget({ ledger, plan, terms, settings, nowMs }, amount)
  const endId = `${operationId}.end.${bucketId}`
  const end = { ...from, mode: 'close', isEmptied: true, operationId: endId } as const
  await nullIfGone(creditBucket(ledger, end, settings, nowMs))
  return arrived
}

function creditTarget(step: Step, amount: number, counted = 0): Promise<OperationLine> {
  const { ledger, plan, terms, settings, nowMs } = step
  const { sid, toAid, operationId } = plan
  const into = {
    mode: 'transfer_in',
    terms,
    amount,
    counted,
    aid: toAid,
    sid,
    operationId: `${operationId}.in.${terms.bucketId}`,
  } as const
  return creditBucket(ledger, into, settings, nowMs)
}

/** Null for a bucket that was deleted meanwhile, or that sessions still hold a part of. */
async function nullIfGone(line: Promise<OperationLine>): Promise<OperationLine | null> {
  try {
    return await line
  } catch (error) {
    if (error instanceof UnknownBucketError || error instanceof BucketReservedError) return null
    throw error
  }
}

/** Nothing is taken out: its lines are those of the old account. */
async function transferCounter(
  step: Step,
  bucket: Bucket | undefined,
): Promise<OperationLine | null> {
  if (bucket === undefined || bucket.spent === 0 || step.terms.toMs <= step.nowMs) return null
  return creditTarget(step, 0, bucket.spent)
}

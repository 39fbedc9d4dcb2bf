/**
 * Transfers the balances of a subscriber to another account. Each bucket is debited and credited
 * under operation ids derived from the bucket: after a crash between any two steps, repeating the
 * transfer completes it, and no unit is lost or duplicated. Debt stays in the account in which it
 * was incurred. Reserved units stay as well: sessions continue in the old account. A counter
 * continues in the new account from its current value.
 */
import { BucketReservedError } from '../../domain/balance-operations.ts'
import type { Bucket } from '../../domain/bucket.ts'
import { type BucketTerms, isClosed, UnknownBucketError } from '../../domain/credit.ts'
import type { OperationLine } from '../../domain/line.ts'
import type { TransferRequest } from '../../entities/follow-ups.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { creditBucket, type OperationSettings } from '../../ledger/operations.ts'
import { loadOwners } from './live.ts'

/** Stored before it is executed. */
export interface TransferPlan extends TransferRequest {
  buckets: TransferredBucket[]
}

export interface TransferredBucket extends BucketTerms {
  bucketId: number
}

/** One line per credited bucket. */
export interface Transferred {
  lines: OperationLine[]
}

/** Lists what would be transferred. Throws `CorruptValueError` or `StoreDownError`. */
export async function planTransfer(
  ledger: Ledger,
  request: TransferRequest,
): Promise<TransferPlan> {
  const { sid, fromAid, toAid, operationId } = request
  const buckets = await bucketsOf(ledger, request)
  const open = buckets.filter((bucket) => !isClosed(bucket))
  return { sid, fromAid, toAid, operationId, buckets: open.map(termsOf) }
}

/**
 * Transfers only what the plan lists: a late repetition must not transfer balances that have been
 * added since. Throws `OperationReusedError`, `ContentionError`, `BalanceRangeError`,
 * `CorruptValueError` or `StoreDownError`; repeating it continues where it stopped.
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

interface TransferStep {
  ledger: Ledger
  plan: TransferPlan
  terms: TransferredBucket
  settings: OperationSettings
  nowMs: number
}

/**
 * Debits the old bucket, credits the new one and closes the old one if it is empty. Null if there
 * was nothing to transfer.
 */
async function transferBalance({
  ledger,
  plan,
  terms,
  settings,
  nowMs,
}: TransferStep): Promise<OperationLine | null> {
  const { sid, fromAid, operationId } = plan
  const { bucketId } = terms
  const from = { aid: fromAid, sid, bucketId }
  const outId = `${operationId}.out.${bucketId}`
  // An expired bucket is not transferred, unless it was debited before it expired.
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

function creditTarget(step: TransferStep, amount: number, counted = 0): Promise<OperationLine> {
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

/** Null if the bucket was deleted in the meantime or has reservations. */
async function nullIfGone(line: Promise<OperationLine>): Promise<OperationLine | null> {
  try {
    return await line
  } catch (error) {
    if (error instanceof UnknownBucketError || error instanceof BucketReservedError) return null
    throw error
  }
}

/** Nothing is debited: the old account's lines stay unchanged. */
async function transferCounter(
  step: TransferStep,
  bucket: Bucket | undefined,
): Promise<OperationLine | null> {
  if (bucket === undefined || bucket.spent === 0 || step.terms.toMs <= step.nowMs) return null
  return creditTarget(step, 0, bucket.spent)
}

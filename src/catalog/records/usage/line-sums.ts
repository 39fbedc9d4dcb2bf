/**
 * Sums of the lines of an owner, including the lines that retention has removed, so that they can
 * still be compared with the ledger. Pure.
 */
import { amountsOfLine, type LineDocument } from './documents.ts'
import { amountsOfPayment, debtsOfLine } from './line-document.ts'

/** Sums of one bucket, in units or micros. */
export interface BucketSums {
  /** Paid for usage, or for debt from a top-up. */
  spent: number
  credited: number
  /** Whether it is a counter, which the ledger deletes after its cycle. */
  isCounter: boolean
}

/** Sums of the lines of one owner; `buckets` by bucket id. */
export interface OwnerSums {
  lines: number
  buckets: Map<number, BucketSums>
  /** Unpaid usage, and debt repaid by top-ups, in micros. */
  owed: number
  repaid: number
}

export function emptySums(): OwnerSums {
  return { lines: 0, buckets: new Map(), owed: 0, repaid: 0 }
}

/**
 * Adds a line to the sums of its owner. Payments of shared buckets and debt of the account are
 * added to the sums of the account.
 */
export function addLine(line: LineDocument, owner: OwnerSums, shared: OwnerSums): void {
  owner.lines += 1
  if (line.type === 'balance') {
    const { mended } = line
    owner.owed += mended?.owed ?? 0
    owner.repaid += mended?.repaid ?? line.repaid_micros
    // The head line of several operations, or an operation on the owner alone.
    if (line.bucket_id === 0) return
    const { change, counted } = amountsOfLine(line)
    const sums = sumsOf(owner, line.bucket_id)
    sums.isCounter ||= line.counter !== undefined
    if (mended !== undefined) {
      sums.credited += mended.credited
      sums.spent += mended.spent
      return
    }
    sums.credited += change + line.repaid_micros + counted
    sums.spent += line.repaid_micros + counted
    return
  }
  // Only lines of charging have payments; other systems may write lines as well.
  if (line.type !== 'realtime') return
  const debts = debtsOfLine(line)
  owner.owed += debts.subscriber
  shared.owed += debts.account
  for (const payment of line.payments) {
    const payer = payment.owner === 'account' ? shared : owner
    const sums = sumsOf(payer, payment.bucket_id)
    const { spent, credited } = amountsOfPayment(payment)
    sums.spent += spent
    sums.credited += credited
    sums.isCounter ||= payment.counter !== undefined
  }
}

function sumsOf({ buckets }: OwnerSums, id: number): BucketSums {
  let sums = buckets.get(id)
  if (sums === undefined) {
    sums = { spent: 0, credited: 0, isCounter: false }
    buckets.set(id, sums)
  }
  return sums
}

/** Stored sums of one bucket. */
export interface CarriedBucket extends BucketSums {
  id: number
}

export interface CarriedSums {
  buckets: CarriedBucket[]
  owed: number
  repaid: number
}

/** Sums of the removed lines of one owner; a single document, so that updates are atomic. */
export interface CarriedDocument {
  /** Account and subscriber: `17/18`. */
  _id: string
  aid: number
  sid: number
  /** Unique per change of the sums. */
  rev: number
  /** Number of removed lines. */
  lines: number
  own: CarriedSums
  /** The share of these lines in the shared buckets and the debt of the account. */
  shared: CarriedSums
}

export function carriedId({ aid, sid }: { aid: number; sid: number }): string {
  return `${aid}/${sid}`
}

/** Adds the sums of removed lines to the sums of the remaining ones. */
export function addCarried(
  { own, shared }: Pick<CarriedDocument, 'own' | 'shared'>,
  owner: OwnerSums,
  account: OwnerSums,
): void {
  addSums(own, owner)
  addSums(shared, account)
}

function addSums({ buckets, owed, repaid }: CarriedSums, into: OwnerSums): void {
  into.owed += owed
  into.repaid += repaid
  for (const { id, spent, credited, isCounter } of buckets) {
    const sums = sumsOf(into, id)
    sums.spent += spent
    sums.credited += credited
    sums.isCounter ||= isCounter
  }
}

export function carriedSums({ buckets, owed, repaid }: OwnerSums): CarriedSums {
  return { buckets: [...buckets].map(([id, sums]) => ({ id, ...sums })), owed, repaid }
}

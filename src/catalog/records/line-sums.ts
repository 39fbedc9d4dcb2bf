/**
 * What the lines of an owner come to, and the sums of lines that retention has removed: with them
 * the lines that are left still say what the ledger says. Pure.
 */
import { amountsOfLine, type LineDocument } from './documents.ts'
import { amountsOfPayment, debtsOfLine } from './line-document.ts'

/** What lines say of one bucket, units or micros. */
export interface BucketSums {
  /** Paid for usage, or for debt out of a top-up. */
  spent: number
  credited: number
  /** A counter, which the ledger drops once its cycle is over. */
  isCounter: boolean
}

/** What the lines of one owner say; `buckets` by bucket id. */
export interface OwnerSums {
  lines: number
  buckets: Map<number, BucketSums>
  /** Usage that no bucket paid, and debt that top-ups repaid; micros. */
  owed: number
  repaid: number
}

export function emptySums(): OwnerSums {
  return { lines: 0, buckets: new Map(), owed: 0, repaid: 0 }
}

/**
 * Adds a line to the sums of its owner, and to those of its account what a shared bucket paid and
 * what the account owes.
 */
export function addLine(line: LineDocument, owner: OwnerSums, shared: OwnerSums): void {
  owner.lines += 1
  if (line.type === 'balance') {
    const { mended } = line
    owner.owed += mended?.owed ?? 0
    owner.repaid += mended?.repaid ?? line.repaid_micros
    // The head of several operations, and what concerns the owner alone.
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
  // Others may write lines, too; only charging pays out of buckets.
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

/** Of one bucket, as it is stored. */
export interface CarriedBucket extends BucketSums {
  id: number
}

export interface CarriedSums {
  buckets: CarriedBucket[]
  owed: number
  repaid: number
}

/** What the removed lines of one owner said; one document, so that it changes as a whole. */
export interface CarriedDocument {
  /** Account and subscriber: `17/18`. */
  _id: string
  aid: number
  sid: number
  /** Another one with each change of the sums. */
  rev: number
  /** Lines in the sums. */
  lines: number
  own: CarriedSums
  /** Of what these lines say of the shared buckets and the debt of the account. */
  shared: CarriedSums
  /** Stamps of lines that are in the sums already, and are being removed. */
  pending: string[]
}

export function carriedId({ aid, sid }: { aid: number; sid: number }): string {
  return `${aid}/${sid}`
}

/** Adds what was removed to sums of what is left. */
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

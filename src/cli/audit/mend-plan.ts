/**
 * Plans how an account is reconciled after Redis has lost its last writes. Pure. Recorded lines
 * were acknowledged, so they are charged and credited; what the ledger has beyond them is kept and
 * gets a line. Lines of current segments follow their session from then on.
 */
import { projectedBuckets } from '../../catalog/records/usage/balance-document.ts'
import {
  amountsOfPayment,
  debtsOfLine,
  paymentDocument,
} from '../../catalog/records/usage/line-document.ts'
import type { PaymentDocument } from '../../catalog/records/usage/line-schemas.ts'
import type { BucketSums } from '../../catalog/records/usage/line-sums.ts'
import { bucketOf } from '../../catalog/records/usage/recorded-values.ts'
import { type Bucket, copyOwner, type OwnerState } from '../../domain/bucket.ts'
import { parseUsageTotal } from '../../domain/counters.ts'
import type { MendedSums } from '../../domain/line.ts'
import type { AccountEvidence, LedgerSession, OwnerEvidence, SegmentLine } from './evidence.ts'
import { followingSessions } from './mend-sessions.ts'

/** Change of one bucket; amounts are units or micros. */
export interface BucketPlan {
  before: Bucket
  after: Bucket
  /** By how much recorded lines have spent and credited more than the ledger; negative if less. */
  spentAhead: number
  creditedAhead: number
  /** The part of the charge that exceeds the credit: units are written off, money becomes debt. */
  unpaid: number
  mended: MendedSums
}

export interface OwnerPlan {
  /** State as read. */
  owner: OwnerState
  /** New state, with a version above all recorded versions. */
  after: OwnerState
  buckets: BucketPlan[]
  /** Correction of the debt, which belongs to no bucket. */
  debt: MendedSums
  /** Sessions whose lines have to be recorded again. */
  sessions: LedgerSession[]
}

export interface AccountPlan {
  owners: OwnerPlan[]
  /** Texts of the differences that need a manual correction. */
  unsettled: string[]
}

const NO_SUMS: BucketSums = { spent: 0, credited: 0, isCounter: false }

export function planMend(evidence: AccountEvidence): AccountPlan {
  const unsettled: string[] = []
  const owners = evidence.owners.flatMap((owner) => planOwner(evidence, owner, unsettled) ?? [])
  return { owners, unsettled }
}

function planOwner(
  { aid, different, later }: AccountEvidence,
  evidence: OwnerEvidence,
  unsettled: string[],
): OwnerPlan | null {
  const { state, sums, projected } = evidence
  if (!isConserved(state)) {
    unsettled.push(`account ${aid}, subscriber ${state.sid}: damaged in the ledger itself`)
    return null
  }
  const deltas = new Deltas(different, state.sid)
  const after = copyOwner(state)
  const buckets: BucketPlan[] = []
  for (const before of bucketsOf(evidence, unsettled)) {
    if (parseUsageTotal(before.counter) !== null) continue
    const plan = planBucket(before, sums.buckets.get(before.id) ?? NO_SUMS, deltas)
    if (plan !== null) buckets.push(plan)
    const { id } = before
    after.buckets = [...after.buckets.filter((one) => one.id !== id), plan?.after ?? before]
    after.nextBucketId = Math.max(after.nextBucketId, id + 1)
  }
  after.buckets.sort((a, b) => a.id - b.id)
  const debt = planDebt(after, buckets, evidence, deltas)
  const sessions = followingSessions(evidence, different, later)
  const versions = projected.map(({ v }) => v)
  const isBehind = projected.some((document) => differsFromState(document, state))
  const isDebtSame = isZero(debt) && after.owed === state.owed && after.repaid === state.repaid
  const isSettled = buckets.length === 0 && sessions.length === 0 && isDebtSame
  const isMissing = projectedBuckets(state).some(({ id }) =>
    projected.every((one) => one.bucket_id !== id),
  )
  if (isSettled && !isBehind && !isMissing) return null
  after.version = Math.max(state.version, ...versions) + 1
  return { owner: state, after, buckets, debt, sessions }
}

/** Buckets of the ledger, and empty buckets for those that only MongoDB has. */
function bucketsOf({ state, sums, projected }: OwnerEvidence, unsettled: string[]): Bucket[] {
  const known = new Set(state.buckets.map(({ id }) => id))
  const recorded = new Map(projected.map((document) => [document.bucket_id, document]))
  const ids = new Set([...sums.buckets.keys(), ...recorded.keys()])
  const lost = [...ids]
    .filter((id) => !known.has(id))
    .flatMap((id) => {
      const document = recorded.get(id)
      const isCounter = sums.buckets.get(id)?.isCounter === true || (document?.counter ?? '') !== ''
      // The ledger drops a counter after its cycle has ended.
      if (isCounter && id < state.nextBucketId) return []
      const bucket = document === undefined ? null : bucketOf(document)
      if (bucket === null) {
        const { aid, sid } = state
        unsettled.push(
          `account ${aid}, subscriber ${sid}, bucket ${id}: its terms are not on record`,
        )
        return []
      }
      return { ...bucket, credited: 0, spent: 0, reserved: 0, free: 0 }
    })
  return [...state.buckets, ...lost]
}

function planBucket(before: Bucket, sums: BucketSums, deltas: Deltas): BucketPlan | null {
  const usage = deltas.spent(before.id)
  const refunds = deltas.credited(before.id)
  const onLines = { spent: sums.spent - usage.all, credited: sums.credited - refunds.all }
  const spent = before.spent + usage.lost + Math.max(0, onLines.spent - before.spent)
  const credited = before.credited + refunds.lost + Math.max(0, onLines.credited - before.credited)
  const spentAhead = sums.spent - before.spent
  const creditedAhead = sums.credited - before.credited
  const missing = before.limit === 0 ? spent + before.reserved - credited : 0
  const unpaid = Math.max(0, missing)
  const isUnits = before.kind === 'units'
  const after = {
    ...before,
    spent: spent - (isUnits ? 0 : unpaid),
    credited: credited + (isUnits ? unpaid : 0),
  }
  after.free = after.credited - after.spent - after.reserved
  const mended = {
    credited: after.credited - onLines.credited,
    spent: after.spent - onLines.spent,
    owed: isUnits ? 0 : unpaid,
    repaid: 0,
  }
  const isSame = after.spent === before.spent && after.credited === before.credited
  if (isSame && isZero(mended)) return null
  return { before, after, spentAhead, creditedAhead, unpaid, mended }
}

/** Sets the debt of the owner and returns the further correction of debt, beyond the buckets. */
function planDebt(
  after: OwnerState,
  buckets: readonly BucketPlan[],
  { state, sums }: OwnerEvidence,
  deltas: Deltas,
): MendedSums {
  const { lost, all } = deltas.debt
  const onLines = sums.owed - all
  const unpaid = buckets.reduce((sum, { mended }) => sum + mended.owed, 0)
  const owed = state.owed + lost + Math.max(0, onLines - state.owed)
  after.repaid = Math.max(state.repaid, sums.repaid)
  after.owed = Math.max(owed + unpaid, after.repaid)
  return {
    credited: 0,
    spent: 0,
    owed: after.owed - unpaid - onLines,
    repaid: after.repaid - sums.repaid,
  }
}

/** `lost` counts only positive differences, that is lines that exceed their segment. */
interface Excess {
  lost: number
  all: number
}

/** By how much recorded lines exceed the segments that they belong to. */
class Deltas {
  readonly debt: Excess = { lost: 0, all: 0 }
  readonly #spent = new Map<number, Excess>()
  /** Credited by refunds. */
  readonly #credited = new Map<number, Excess>()

  constructor(different: readonly SegmentLine[], sid: number) {
    for (const { ledgerLine, recorded } of different) this.#add(ledgerLine, recorded, sid)
  }

  spent(bucketId: number): Excess {
    return this.#spent.get(bucketId) ?? { lost: 0, all: 0 }
  }

  credited(bucketId: number): Excess {
    return this.#credited.get(bucketId) ?? { lost: 0, all: 0 }
  }

  #add(standing: SegmentLine['ledgerLine'], recorded: SegmentLine['recorded'], sid: number): void {
    const spent = new Map<number, number>()
    const credited = new Map<number, number>()
    const isOurs = (isShared: boolean) => (isShared ? sid === 0 : standing.session.sid === sid)
    const take = (payment: PaymentDocument, sign: 1 | -1) => {
      if (!isOurs(payment.owner === 'account')) return
      const { bucket_id: id } = payment
      const amounts = amountsOfPayment(payment)
      spent.set(id, (spent.get(id) ?? 0) + sign * amounts.spent)
      credited.set(id, (credited.get(id) ?? 0) + sign * amounts.credited)
    }
    for (const payment of standing.counts.payments) take(paymentDocument(payment), -1)
    for (const payment of recorded?.payments ?? []) take(payment, 1)
    for (const [id, amount] of spent) this.#spent.set(id, addExcess(this.spent(id), amount))
    for (const [id, amount] of credited)
      this.#credited.set(id, addExcess(this.credited(id), amount))
    if (!isOurs(sid === 0)) return
    const { debt, accountDebt } = standing.counts
    const onRecord = recorded === null ? { subscriber: 0, account: 0 } : debtsOfLine(recorded)
    const owed =
      sid === 0 ? onRecord.account - accountDebt : onRecord.subscriber - (debt - accountDebt)
    Object.assign(this.debt, addExcess(this.debt, owed))
  }
}

function addExcess({ lost, all }: Excess, amount: number): Excess {
  return { lost: lost + Math.max(0, amount), all: all + amount }
}

function differsFromState(
  document: OwnerEvidence['projected'][number],
  state: OwnerState,
): boolean {
  const bucket = projectedBuckets(state).find(({ id }) => id === document.bucket_id)
  if (bucket === undefined)
    return document.counter === '' || document.bucket_id >= state.nextBucketId
  const { v, credited, spent, reserved, free, owner } = document
  const same: [number, number][] = [
    [v, state.version],
    [credited, bucket.credited],
    [spent, bucket.spent],
    [reserved, bucket.reserved],
    [free, bucket.free],
    [owner.owed_micros, state.owed],
    [owner.repaid_micros, state.repaid],
  ]
  return same.some(([found, expected]) => found !== expected)
}

function isConserved({ buckets }: OwnerState): boolean {
  return buckets.every(
    ({ credited, spent, reserved, free }) => credited === spent + reserved + free,
  )
}

function isZero({ credited, spent, owed, repaid }: MendedSums): boolean {
  return credited === 0 && spent === 0 && owed === 0 && repaid === 0
}

import type { MoneyFormat } from '../../billing/currency.ts'
import type { Bucket, OwnerState } from '../../domain/bucket.ts'
import { decimalText } from '../../domain/money.ts'

/** Two amounts that should be equal and are not. */
export interface Difference {
  aid: number
  /** 0 for the account's shared buckets. */
  sid: number
  /** Undefined if the difference concerns the owner and not a single bucket. */
  bucket?: number
  /** Text that names the compared amount. */
  what: string
  expected: number | null
  found: number | null
  /** The two are micros of money; absent for units and other values. */
  isMoney?: true
}

/** The place of amounts in a bucket. */
export function inBucket({ aid, sid }: OwnerState, { id, kind }: Bucket): DifferencePlace {
  return { aid, sid, bucket: id, ...(kind !== 'units' && { isMoney: true }) }
}

type DifferencePlace = Pick<Difference, 'aid' | 'sid' | 'bucket' | 'isMoney'>

/** Compares two amounts; null stands for a missing amount. */
export function compare(
  where: DifferencePlace,
  what: string,
  expected: number | null,
  found: number | null,
): Difference[] {
  return expected === found ? [] : [{ ...where, what, expected, found }]
}

export function differenceText(
  { aid, sid, bucket, what, expected, found, isMoney }: Difference,
  money: MoneyFormat,
): string {
  const owner = sid === 0 ? `account ${aid}` : `account ${aid}, subscriber ${sid}`
  const where = bucket === undefined ? owner : `${owner}, bucket ${bucket}`
  const text = (value: number | null) => {
    if (value === null) return 'nothing'
    return isMoney ? money(decimalText(value)) : String(value)
  }
  return `${where}: ${what}: ${text(expected)} expected, ${text(found)} found`
}

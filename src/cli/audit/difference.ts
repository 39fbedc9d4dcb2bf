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
}

/** Compares two amounts; null stands for a missing amount. */
export function compare(
  where: Pick<Difference, 'aid' | 'sid' | 'bucket'>,
  what: string,
  expected: number | null,
  found: number | null,
): Difference[] {
  return expected === found ? [] : [{ ...where, what, expected, found }]
}

export function differenceText({ aid, sid, bucket, what, expected, found }: Difference): string {
  const owner = sid === 0 ? `account ${aid}` : `account ${aid}, subscriber ${sid}`
  const where = bucket === undefined ? owner : `${owner}, bucket ${bucket}`
  return `${where}: ${what}: ${expected ?? 'nothing'} expected, ${found ?? 'nothing'} found`
}

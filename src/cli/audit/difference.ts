/** What does not come out even. */
export interface Difference {
  aid: number
  /** 0 for what the account shares. */
  sid: number
  /** Undefined if it concerns the owner and not one bucket. */
  bucket?: number
  /** What was compared, in words. */
  what: string
  expected: number | null
  found: number | null
}

/** Compares two amounts; an absent one is null. */
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

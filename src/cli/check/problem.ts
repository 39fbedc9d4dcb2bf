/** What `tollgate check` finds. */

export interface CheckProblem {
  /** One word for programs. */
  kind:
    | 'settings'
    | 'damaged'
    | 'reference'
    | 'duplicate_identifier'
    | 'rate_without_tax'
    | 'missing_tax'
    | 'missing_default_tax'
  collection: string
  /** Whose it is: a key, a number or a value. */
  key: string
  text: string
}

/** Problems of each kind that are listed; of all others only the number is told. */
const LISTED_MAX = 1000

export class Problems {
  readonly listed: CheckProblem[] = []
  readonly counts: Partial<Record<CheckProblem['kind'], number>> = {}

  add(problem: CheckProblem): void {
    const count = (this.counts[problem.kind] ?? 0) + 1
    this.counts[problem.kind] = count
    if (count <= LISTED_MAX) this.listed.push(problem)
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0)
  }
}

/** Problems found by `tollgate check`. */

export interface CheckProblem {
  /** Machine-readable kind. */
  kind:
    | 'settings'
    | 'damaged'
    | 'reference'
    | 'duplicate_identifier'
    | 'number'
    | 'rate_without_tax'
    | 'missing_tax'
    | 'missing_default_tax'
  collection: string
  /** Key, number or value that identifies the entity. */
  key: string
  text: string
}

/** Problems listed per kind; further ones are only counted. */
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

import type { Wrong } from '../domain/field-errors.ts'
import { type FieldIssue, issuesOf, issueUnder } from '../domain/field-errors.ts'
/** A request that billing refuses; nothing was written. The text is part of the interface. */
export class BillingError extends Error {
  override name = 'BillingError'
  readonly issues: readonly FieldIssue[]

  constructor(message: string, wrong: Wrong, options?: ErrorOptions) {
    super(message, options)
    this.issues = issuesOf(message, wrong)
  }
}

/** The result of a check of a part of the parameters; what it refuses is below `parent`. */
export function within<T>(parent: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof BillingError)) throw error
    const issues = error.issues.map((issue) => issueUnder(parent, issue))
    throw new BillingError(error.message, issues)
  }
}

/** The results of a check of each member of a list. */
export function withinEach<T, U>(
  name: string,
  members: readonly T[],
  check: (member: T) => U,
): U[] {
  return members.map((member, index) => within(`${name}.${index}`, () => check(member)))
}

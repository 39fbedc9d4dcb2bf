/** Values of earlier rows of an import that are not in the store yet. */
import { valueName } from '../actions/uniqueness.ts'
import { overlap, type RevisionSpan } from '../timeline/spans.ts'

export interface ValueClaim extends RevisionSpan {
  label: string
}

export class PendingValues {
  readonly #byValue = new Map<string, ValueClaim[]>()

  /**
   * Label of the row that has the value in an overlapping period, or in any period if `isAlways`.
   */
  holderOf(
    field: string,
    value: unknown,
    period: ValueClaim,
    isAlways = false,
  ): string | undefined {
    const claims = this.#byValue.get(nameOf(field, value)) ?? []
    return claims.find((claim) => isAlways || overlap(claim, period))?.label
  }

  add(field: string, value: unknown, claim: ValueClaim): void {
    const name = nameOf(field, value)
    const claims = this.#byValue.get(name)
    if (claims === undefined) this.#byValue.set(name, [claim])
    else claims.push(claim)
  }
}

function nameOf(field: string, value: unknown): string {
  return JSON.stringify([field, valueName(value)])
}

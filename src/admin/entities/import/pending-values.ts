/** Values that rows of an import want for themselves: the store does not have them yet. */
import { valueName } from '../actions/uniqueness.ts'
import { overlap, type Span } from '../timeline/spans.ts'

export interface ValueClaim extends Span {
  label: string
}

export class PendingValues {
  readonly #byValue = new Map<string, ValueClaim[]>()

  /** The row that has the value at a time at which `wanted` holds; of `always` at any time. */
  holderOf(
    field: string,
    value: unknown,
    wanted: ValueClaim,
    isAlways = false,
  ): string | undefined {
    const claims = this.#byValue.get(nameOf(field, value)) ?? []
    return claims.find((claim) => isAlways || overlap(claim, wanted))?.label
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

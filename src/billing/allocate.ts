/** Which payments cover which bills. */
import type { Exact } from '../catalog/records/money/exact-amount.ts'
import { least, ZERO } from './amount.ts'

/** The open part of a bill: what is owed and not covered, or what is paid and not used. */
export interface OpenPart<T> {
  readonly bill: T
  /** Unique; decides between bills of the same time. */
  readonly id: string
  readonly urtMs: number
  /** Above zero. */
  readonly open: Exact
}

export interface Covering<T> {
  readonly debt: T
  readonly credit: T
  readonly amount: Exact
}

/**
 * Covers debts by credits, both oldest first: a debt takes the oldest credit if that is exactly its
 * amount; otherwise a credit of the same second that is; otherwise as much of the oldest one as
 * there is. Of two open parts at the end, none is left: either all debts are covered or all credits
 * are used. Does not depend on the order of the lists.
 */
export function allocate<T>(
  debts: readonly OpenPart<T>[],
  credits: readonly OpenPart<T>[],
): Covering<T>[] {
  const allocations: Covering<T>[] = []
  const rest = oldestFirst(credits).map((credit) => ({ ...credit }))
  for (const debt of oldestFirst(debts)) {
    let { open } = debt
    while (open.greaterThan(0)) {
      const credit = creditFor(open, rest)
      if (credit === undefined) return allocations
      const amount = least(open, credit.open)
      allocations.push({ debt: debt.bill, credit: credit.bill, amount })
      open = open.minus(amount)
      credit.open = credit.open.minus(amount)
      if (credit.open.lessThanOrEqualTo(ZERO)) rest.splice(rest.indexOf(credit), 1)
    }
  }
  return allocations
}

interface Rest<T> extends Omit<OpenPart<T>, 'open'> {
  open: Exact
}

function creditFor<T>(amount: Exact, rest: readonly Rest<T>[]): Rest<T> | undefined {
  const [oldest] = rest
  if (oldest === undefined || oldest.open.equals(amount)) return oldest
  const second = secondOf(oldest)
  return rest.find((credit) => secondOf(credit) === second && credit.open.equals(amount)) ?? oldest
}

function secondOf({ urtMs }: { readonly urtMs: number }): number {
  return Math.floor(urtMs / 1000)
}

function oldestFirst<T>(parts: readonly OpenPart<T>[]): OpenPart<T>[] {
  return [...parts].sort((a, b) => a.urtMs - b.urtMs || (a.id < b.id ? -1 : 1))
}

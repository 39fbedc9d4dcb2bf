/**
 * Finds lines whose price depends on an order of use that is not recorded: two that overlap, and
 * may use the same included units, when these run out. Otherwise any order has the same prices.
 */
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import { isGroupCounter, type RequiredCounter } from '../../domain/counters.ts'
import type { Counts } from '../../domain/counts.ts'
import { groupUnits } from '../../domain/lines.ts'

/** A line that later ones may overlap. */
interface Placed {
  readonly beginMs: number
  readonly endMs: number
  /** The counters that may include it, in order of use. */
  readonly eligible: readonly string[]
  /** The counter that includes all of it; empty if none includes any; null for everything else. */
  readonly includedBy: string | null
}

export class RerateOrder {
  #placed: Placed[] = []

  /**
   * Takes the lines of an account by time. False if the order of this one and an earlier one
   * matters.
   */
  admit(
    { sid, urt, last_urt }: Pick<RealtimeLineDocument, 'sid' | 'urt' | 'last_urt'>,
    counts: Counts,
    groups: readonly RequiredCounter[],
  ): boolean {
    const beginMs = urt.getTime()
    const name = (counter: string, owner: number) => `${owner === 0 ? sid : 0}/${counter}`
    const eligible = groups.map(({ counter, owner }) => name(counter, owner))
    const used = counts.payments.flatMap(({ counter, owner }) =>
      isGroupCounter(counter) ? [name(counter, owner)] : [],
    )
    const line = {
      beginMs,
      endMs: last_urt.getTime(),
      eligible,
      includedBy: included(counts, used),
    }
    this.#placed = this.#placed.filter((one) => one.endMs > beginMs || one.beginMs === beginMs)
    const isFree = this.#placed.every((one) => isIndependent(one, line))
    if (eligible.length > 0) this.#placed.push(line)
    return isFree
  }
}

function included(counts: Counts, used: readonly string[]): string | null {
  const { inGroup } = groupUnits(counts)
  if (inGroup === 0 && used.length === 0) return ''
  return inGroup === counts.used && used.length === 1 ? (used[0] ?? null) : null
}

function isIndependent(one: Placed, other: Placed): boolean {
  if (!one.eligible.some((counter) => other.eligible.includes(counter))) return true
  if (one.includedBy === null || other.includedBy === null) return false
  if (one.includedBy === other.includedBy) return true
  return [one, other].every(({ includedBy, eligible }) => includedBy === eligible[0])
}

/**
 * Finds lines whose price depends on another order of use than that of their times: two that
 * overlap, and may use the same included units, when these run out; and usage that was charged
 * when they had run out, before other usage that they included. Otherwise any order has the same
 * prices.
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
  /** The first line that a counter did not include, though it may include such usage. */
  readonly #ranOut = new Map<string, RanOut>()
  /** Included units of counters, as of the last line with them. */
  readonly #totals = new Map<string, unknown>()

  /**
   * Takes the lines of an account by time. False if the order of this one and an earlier one
   * matters.
   */
  admit(before: ChargedLine, counts: Counts, groups: readonly RequiredCounter[]): boolean {
    const { sid, urt, last_urt } = before
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
    const hasRunOut = totalsOf(before).some(([counter, total]) => {
      const former = this.#ranOut.get(counter)
      this.#totals.set(counter, total)
      // More may be included since then.
      const isSame = former?.total === undefined || former.total === total
      return former !== undefined && former.endMs < beginMs && isSame
    })
    for (const each of before.over_group > 0 ? eligible : []) {
      if (this.#ranOut.has(each)) continue
      this.#ranOut.set(each, { endMs: line.endMs, total: this.#totals.get(each) })
    }
    return isFree && !hasRunOut
  }
}

type ChargedLine = Pick<
  RealtimeLineDocument,
  'sid' | 'urt' | 'last_urt' | 'payments' | 'over_group' | 'arategroups'
>

interface RanOut {
  readonly endMs: number
  /** Undefined if no line had used the counter. */
  readonly total: unknown
}

/** The counters that have included a part of a line, with their totals. */
function totalsOf({ sid, payments, arategroups }: ChargedLine): [string, unknown][] {
  return arategroups.flatMap(({ balance_ref: ref, total }) => {
    const payment = payments.find(({ owner, bucket_id }) => {
      return bucket_id === ref.bucket_id && (owner === 'account' ? 0 : sid) === ref.sid
    })
    return payment?.counter === undefined ? [] : [[`${ref.sid}/${payment.counter}`, total]]
  })
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

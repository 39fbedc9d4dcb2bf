/**
 * Limits of discounts and conditional charges in a run: `limit` and `simultaneous_limit` are for
 * charges in arrears, corrected charges and charges ahead together. Pure.
 */
import type { AdjustmentKind, AdjustmentTerms } from '../../../catalog/compile/discount.ts'
import { Exact } from '../../../catalog/records/money/exact-amount.ts'
import { least, ZERO } from '../../amount.ts'

/** Money and lines, granted or allowed; `Infinity` without a limit. */
export interface Grants {
  readonly money: Exact
  readonly lines: number
}

/** By `grantKey`. */
export type GrantsByKey = ReadonlyMap<string, Grants>

const NOTHING: Grants = { money: ZERO, lines: 0 }
const UNLIMITED = new Exact(Number.POSITIVE_INFINITY)

/** `key`: of the definition, as lines have it. */
export function grantKey(kind: AdjustmentKind, key: string): string {
  return `${kind}/${key}`
}

/** Counts a line of the amount. */
export function addGrant(grants: Map<string, Grants>, id: string, amount: Exact): void {
  grants.set(id, sum(grants.get(id) ?? NOTHING, { money: amount, lines: 1 }))
}

export interface Limits {
  left(terms: AdjustmentTerms, key: string): Grants
  /** Counts a line of the amount. */
  use(terms: AdjustmentTerms, key: string, amount: Exact): void
}

/** Grants of an earlier run, on charges that are corrected now and on others. */
export interface FormerGrants {
  readonly granted: GrantsByKey
  /** Grants on other charges; null if they are not known. */
  readonly otherGrants: GrantsByKey | null
}

/** The limits of one run. */
export class RunLimits implements Limits {
  readonly #used = new Map<string, Grants>()

  left(terms: AdjustmentTerms, key: string): Grants {
    return rest(limitOf(terms), this.#used.get(grantKey(terms.kind, key)) ?? NOTHING)
  }

  use(terms: AdjustmentTerms, key: string, amount: Exact): void {
    addGrant(this.#used, grantKey(terms.kind, key), amount)
  }

  /**
   * For corrected charges. Their grants counted in the run that charged them: they are corrected as
   * that run would have granted them, and only what exceeds them counts in this run.
   */
  corrections({ granted, otherGrants }: FormerGrants): Limits {
    const corrected = new Map<string, Grants>()
    const grantsOf = (id: string) => ({
      before: granted.get(id) ?? NOTHING,
      now: corrected.get(id) ?? NOTHING,
    })
    return {
      left: (terms, key) => {
        const id = grantKey(terms.kind, key)
        const { before, now } = grantsOf(id)
        const others = otherGrants === null ? null : (otherGrants.get(id) ?? NOTHING)
        const ofFormerRun = rest(formerLimit(limitOf(terms), before, others), now)
        return smaller(ofFormerRun, sum(this.left(terms, key), rest(before, now)))
      },
      use: (terms, key, amount) => {
        const id = grantKey(terms.kind, key)
        const { before, now } = grantsOf(id)
        addGrant(corrected, id, amount)
        const more = rest(rest(grantsOf(id).now, before), rest(now, before))
        this.#used.set(id, sum(this.#used.get(id) ?? NOTHING, more))
      },
    }
  }
}

function limitOf({ limit, linesMax }: AdjustmentTerms): Grants {
  return { money: limit ?? UNLIMITED, lines: linesMax ?? Number.POSITIVE_INFINITY }
}

/**
 * The most that an earlier run could have granted on the corrected charges. Its grants are not
 * taken back because of a limit; if its other grants are unknown, they are not raised either.
 */
function formerLimit(limit: Grants, before: Grants, others: Grants | null): Grants {
  const possible = others === null ? NOTHING : rest(limit, others)
  const money = Exact.max(possible.money, before.money)
  const lines = Math.max(possible.lines, before.lines)
  return smaller(limit, {
    money: limit.money.isFinite() ? money : UNLIMITED,
    lines: Number.isFinite(limit.lines) ? lines : Number.POSITIVE_INFINITY,
  })
}

function sum(one: Grants, other: Grants): Grants {
  return { money: one.money.plus(other.money), lines: one.lines + other.lines }
}

/** At least 0. */
function rest(one: Grants, other: Grants): Grants {
  return {
    money: Exact.max(ZERO, one.money.minus(other.money)),
    lines: Math.max(0, one.lines - other.lines),
  }
}

function smaller(one: Grants, other: Grants): Grants {
  return { money: least(one.money, other.money), lines: Math.min(one.lines, other.lines) }
}

/**
 * Charges whose plan or service gets another price within the charged period: by which rule they
 * are priced, and what the other rule (`price_change` of the plan) would charge. Pure.
 */
import type { CycleLineDocument } from '../../catalog/records/money/cycle-line.ts'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import type { CycleCatalogue, RevisionsByKey, StoredRevision } from '../cycle/compute.ts'

const RULES = ['at_end', 'by_day'] as const
type PriceRule = (typeof RULES)[number]

/** Amounts before tax and discounts, as decimal text. */
export interface PriceChange {
  readonly sid: number
  readonly kind: 'plan' | 'service'
  readonly name: string
  /** Key of the charged cycle. */
  readonly cycle: string
  /** Since when the other price is in force. */
  readonly since: string
  readonly rule: PriceRule
  readonly amount: string
  /** By the other rule; null for a service, which has only `at_end`. */
  readonly other_amount: string | null
}

interface Charge {
  readonly sid: number
  readonly type: 'flat' | 'service'
  readonly name: string
  readonly cycle: string
  readonly startMs: number
  readonly endMs: number
  readonly amount: Exact
}

/** The catalogue with the other rule for all plans. */
export function withOtherRule(catalogue: CycleCatalogue): CycleCatalogue {
  const other = (revision: StoredRevision): StoredRevision => ({
    ...revision,
    price_change: ruleOf(revision) === 'by_day' ? 'at_end' : 'by_day',
  })
  const plans = new Map([...catalogue.plans].map(([name, all]) => [name, all.map(other)]))
  return { ...catalogue, plans }
}

/** `computeOther`: the lines by the other rule, computed only if a plan is concerned. */
export function priceChangesOf(
  lines: readonly CycleLineDocument[],
  catalogue: CycleCatalogue,
  computeOther: () => readonly CycleLineDocument[],
): PriceChange[] {
  let others: readonly Charge[] | null = null
  return chargesOf(lines).flatMap((charge): PriceChange[] => {
    const { sid, type, name, cycle, startMs, endMs, amount } = charge
    const isPlan = type === 'flat'
    const all = isPlan ? catalogue.plans : catalogue.services
    const change = changeWithin(all, name, startMs, endMs)
    if (change === null) return []
    if (isPlan) others ??= chargesOf(computeOther())
    const other = others?.find((one) => isSame(one, charge))?.amount ?? new Exact(0)
    return [
      {
        sid,
        kind: isPlan ? 'plan' : 'service',
        name,
        cycle,
        since: change.from.toISOString(),
        rule: isPlan ? ruleOf(change) : 'at_end',
        amount: amount.toString(),
        other_amount: isPlan ? other.toString() : null,
      },
    ]
  })
}

function ruleOf({ price_change: rule }: StoredRevision): PriceRule {
  return rule === 'by_day' ? 'by_day' : 'at_end'
}

/** Lines of one charge together: by day, and by tier, it has several. */
function chargesOf(lines: readonly CycleLineDocument[]): Charge[] {
  const charges: Charge[] = []
  for (const line of lines) {
    if ((line.type !== 'flat' && line.type !== 'service') || line.charge_op !== 'charge') continue
    const { sid, type, name, charged_billrun: cycle } = line
    const amount = new Exact(line.charge_amount)
    const own = { sid, type, name, cycle, amount }
    const charge = { ...own, startMs: line.start.getTime(), endMs: line.end.getTime() }
    const at = charges.findIndex((one) => isSame(one, charge))
    const found = charges[at]
    if (found === undefined) charges.push(charge)
    else {
      charges[at] = {
        ...found,
        startMs: Math.min(found.startMs, charge.startMs),
        endMs: Math.max(found.endMs, charge.endMs),
        amount: found.amount.plus(amount),
      }
    }
  }
  return charges
}

function isSame(a: Charge, b: Charge): boolean {
  return a.sid === b.sid && a.type === b.type && a.name === b.name && a.cycle === b.cycle
}

/** The last revision that begins within the time, with another price than the one before it. */
function changeWithin(
  all: RevisionsByKey,
  name: string,
  startMs: number,
  endMs: number,
): StoredRevision | null {
  const revisions = all.get(name) ?? []
  const found = revisions.findLast(({ from, ...revision }, index) => {
    const before = revisions[index - 1]
    const isWithin = from.getTime() > startMs && from.getTime() < endMs
    if (!isWithin || before === undefined) return false
    return JSON.stringify(before['price']) !== JSON.stringify(revision['price'])
  })
  return found ?? null
}

/** Many runs of one account, each of which knows what the earlier ones have written. */
import { computeAccount } from '../../../src/billing/cycle/compute.ts'
import { type BillingCalendar, keyAfter } from '../../../src/billing/cycle/cycle-key.ts'
import type { StoredRevision } from '../../../src/billing/cycle/input.ts'
import type { CycleLineDocument } from '../../../src/catalog/records/money/cycle-line.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { Exact } from '../../../src/rating/line-tax.ts'
import { accountCycle, type Given } from './account-cycle.ts'

export const UTC: BillingCalendar = { zone: 'UTC', cycleDay: 1 }
export const FOREVER = new Date(FOREVER_MS)

/** The revisions of the subscriber that are known when a cycle is run. */
export type Knowledge = (key: string) => readonly StoredRevision[]

/** All lines of the runs from one key to another, each of which knows the earlier ones. */
export function runs(first: string, last: string, given: Omit<Given, 'key'>, known: Knowledge) {
  const lines: CycleLineDocument[] = []
  const done: string[] = []
  for (let key = first; key <= last; key = keyAfter(key)) {
    const all = known(key)
    const base = accountCycle({ ...given, key })
    const { account, cycle, next } = base
    const input = {
      ...base,
      subscribers: all.filter(({ from, to }) => +from < next.endMs && +to > cycle.startMs),
      prior: fieldsOf(lines.filter(({ billrun }) => billrun === keyAfter(key, -1))),
      periods: { account, subscribers: all, prior: fieldsOf(lines), runs: [...done] },
      hasPreviousRun: key !== first,
    }
    lines.push(...(computeAccount(input)?.lines ?? []))
    done.push(key)
  }
  return lines
}

function fieldsOf(lines: readonly CycleLineDocument[]) {
  return lines.map((line) => ({ ...line }) as Record<string, unknown>)
}

export function sum(lines: readonly CycleLineDocument[], isCharge = true): number {
  return lines
    .filter(({ type }) => (type !== 'credit') === isCharge)
    .reduce((all, line) => all.plus(line.charge_amount), new Exact(0))
    .toNumber()
}

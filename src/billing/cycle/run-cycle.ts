/** The cycle of a run: its key, its invoicing day and its spans. Pure. */
import { type BillingCalendar, cycleSpan, keyAfter } from './cycle-key.ts'
import type { CycleSpan } from './lines.ts'

/** Identifies a run: of a cycle, or of the accounts of one invoicing day in it. */
export interface RunName {
  readonly key: string
  /** Null unless accounts have different invoicing days. */
  readonly invoicingDay: number | null
}

export interface RunCycle extends RunName {
  readonly id: string
  /** Day of the cycles of accounts without an invoicing day. */
  readonly installedDay: number
  /** With the invoicing day as day of the cycle. */
  readonly calendar: BillingCalendar
  readonly cycle: CycleSpan
  /** The cycle after it. */
  readonly next: CycleSpan
}

export function runIdOf({ key, invoicingDay }: RunName): string {
  return invoicingDay === null ? key : `${key}/${invoicingDay}`
}

export function runCycleOf(name: RunName, installed: BillingCalendar): RunCycle {
  const { key, invoicingDay } = name
  const calendar = { ...installed, cycleDay: invoicingDay ?? installed.cycleDay }
  return {
    ...name,
    id: runIdOf(name),
    installedDay: installed.cycleDay,
    calendar,
    cycle: cycleSpan(key, calendar),
    next: cycleSpan(keyAfter(key), calendar),
  }
}

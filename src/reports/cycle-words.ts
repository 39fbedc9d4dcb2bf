/** Words for billing cycles in reports. */
import {
  type BillingCalendar,
  keyAfter,
  keyAt,
  keyEndMs,
  keyStartMs,
} from '../billing/cycle/cycle-key.ts'

export type CycleWord = 'current' | 'first_unconfirmed' | 'last_confirmed' | 'confirmed'

export interface CycleWords {
  keys(word: CycleWord): readonly string[]
  /** Null if there is no such cycle. */
  edge(word: Exclude<CycleWord, 'confirmed'>, edge: 'start' | 'end'): Date | null
}

/** Confirmed cycles are compared by a list of their keys. */
const CONFIRMED_MONTHS = 240

/** `last`: key of the last confirmed cycle. The first unconfirmed one follows it. */
export function cycleWords(
  last: string | null,
  nowMs: number,
  calendar: BillingCalendar,
): CycleWords {
  const current = keyAt(nowMs, calendar)
  const single = {
    current,
    first_unconfirmed: last === null ? current : keyAfter(last),
    last_confirmed: last,
  }
  return {
    keys(word) {
      if (word !== 'confirmed') return single[word] === null ? [] : [single[word]]
      if (last === null) return []
      return Array.from({ length: CONFIRMED_MONTHS }, (_, index) => keyAfter(last, -index))
    },
    edge(word, edge) {
      const key = single[word]
      if (key === null) return null
      return new Date(edge === 'start' ? keyStartMs(key, calendar) : keyEndMs(key, calendar))
    },
  }
}

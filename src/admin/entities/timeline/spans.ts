/** Half-open periods [fromMs, toMs) and their differences. Pure. */
import type { Fields } from '../../../domain/fields.ts'
import { fromOf, toOf } from './draft.ts'

export interface Span {
  fromMs: number
  toMs: number
}

export function spanOf(revision: Fields): Span {
  return { fromMs: fromOf(revision), toMs: toOf(revision) }
}

export function overlap(a: Span, b: Span): boolean {
  return a.fromMs < b.toMs && b.fromMs < a.toMs
}

/** The parts of a span that none of the others covers, sorted by start. */
export function uncovered(span: Span, others: readonly Span[]): Span[] {
  let remaining = [span]
  for (const other of others) {
    remaining = remaining.flatMap(({ fromMs, toMs }) =>
      [
        { fromMs, toMs: Math.min(toMs, other.fromMs) },
        { fromMs: Math.max(fromMs, other.toMs), toMs },
      ].filter((part) => part.fromMs < part.toMs),
    )
  }
  return remaining.sort((a, b) => a.fromMs - b.fromMs)
}

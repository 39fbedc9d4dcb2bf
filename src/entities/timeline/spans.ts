/** Half-open periods [fromMs, toMs) and their differences. Pure. */
import type { Fields } from '../../domain/fields.ts'
import { fromOf, toOf } from './draft.ts'

export interface RevisionSpan {
  fromMs: number
  toMs: number
}

export function spanOf(revision: Fields): RevisionSpan {
  return { fromMs: fromOf(revision), toMs: toOf(revision) }
}

export function overlap(a: RevisionSpan, b: RevisionSpan): boolean {
  return a.fromMs < b.toMs && b.fromMs < a.toMs
}

/** The parts of a span that none of the others covers, sorted by start. */
export function uncovered(span: RevisionSpan, others: readonly RevisionSpan[]): RevisionSpan[] {
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

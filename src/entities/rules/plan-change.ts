/** Changes of the plan or account of a subscriber within a day. Pure. */
import { instantOf, localTime } from '../../domain/time.ts'
import { dateText } from '../timeline/dates.ts'
import { type Draft, fromOf, toOf } from '../timeline/draft.ts'

/**
 * Warnings about new changes within a day: invoices count that day for both plans, and what is kept
 * with another account for the former account.
 */
export function planChangeWarnings(draft: Draft, zone: string): string[] {
  const known = new Set(draft.before().map(fromOf))
  const revisions = draft.revisions()
  return revisions.flatMap((revision, index) => {
    const before = revisions[index - 1]
    const atMs = fromOf(revision)
    const isNew = before !== undefined && toOf(before) === atMs && !known.has(atMs)
    if (!isNew || isDayStart(atMs, zone)) return []
    const changed = (field: string) => before[field] !== revision[field]
    const within = `changes within a day, at ${dateText(atMs, zone)}: invoices count that day`
    const plans = `plans ${before['plan']} and ${revision['plan']}`
    return [
      ...(changed('plan') ? [`the plan ${within} for ${plans}`] : []),
      ...(changed('aid')
        ? [`the account ${within} of what is kept for account ${before['aid']} only`]
        : []),
    ]
  })
}

/** Not every day has a midnight. */
function isDayStart(atMs: number, zone: string): boolean {
  const { year, month, day } = localTime(zone, atMs)
  return instantOf(zone, { year, month, day, hour: 0, minute: 0, second: 0 }) === atMs
}

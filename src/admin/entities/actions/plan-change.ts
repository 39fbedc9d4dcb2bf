/** Changes of the plan of a subscriber that do not begin at midnight. Pure. */
import { dateText } from '../timeline/dates.ts'
import { type Draft, fromOf, toOf } from '../timeline/draft.ts'

const MIDNIGHT = /^\d{4}-\d{2}-\d{2}$/

/** Warnings about new changes within a day: invoices count that day for both plans. */
export function planChangeWarnings(draft: Draft, zone: string): string[] {
  const known = new Set(draft.before().map(fromOf))
  const revisions = draft.revisions()
  return revisions.flatMap((revision, index) => {
    const before = revisions[index - 1]
    const atMs = fromOf(revision)
    const text = dateText(atMs, zone)
    const isNew = before !== undefined && toOf(before) === atMs && !known.has(atMs)
    if (!isNew || before['plan'] === revision['plan'] || MIDNIGHT.test(text)) return []
    const plans = `plans ${before['plan']} and ${revision['plan']}`
    return [`the plan changes within a day, at ${text}: invoices count that day for ${plans}`]
  })
}

/** Start of the plan of subscribers without a `plan_activation`. */
import { FOREVER_MS } from '../../domain/time.ts'
import type { Collection } from '../collections.ts'
import { type PlanSpan, planStart } from '../compile/profile.ts'
import type { Catalog } from '../connection.ts'
import type { SubscriberDocument } from '../entities/subscriber.ts'
import { type FoundRevision, readInParts } from './subscribers.ts'

/**
 * Returns the starts by position, with a single read for all subscribers that need their earlier
 * revisions.
 */
export async function planStarts(
  catalog: Catalog,
  revisions: readonly FoundRevision[],
): Promise<number[]> {
  const withoutStart = revisions.filter(({ hasPlanStart }) => !hasPlanStart)
  const spans = await spansOf(catalog, [...new Set(withoutStart.map(({ profile }) => profile.sid))])
  return revisions.map(({ profile, hasPlanStart }) =>
    hasPlanStart ? profile.planFromMs : planStart(profile, spans.get(profile.sid) ?? []),
  )
}

type Span = Pick<SubscriberDocument, 'sid' | 'plan' | 'from' | 'to' | 'plan_activation'>

async function spansOf(
  catalog: Catalog,
  sids: readonly number[],
): Promise<ReadonlyMap<number, PlanSpan[]>> {
  const spans = new Map<number, PlanSpan[]>()
  if (sids.length === 0) return spans
  const subscribers = catalog.subscribers as unknown as Collection<SubscriberDocument>
  const documents = await readInParts(sids, (parts, limit) =>
    subscribers
      .find({ sid: { $in: parts }, type: 'subscriber', deleted: { $ne: true } } as object)
      .project<Span>({ _id: 0, sid: 1, plan: 1, from: 1, to: 1, plan_activation: 1 })
      .sort({ from: 1 })
      .limit(limit)
      .toArray(),
  )
  for (const { sid, plan, from, to, plan_activation: start } of documents) {
    const planFromMs = Number(start ?? from)
    const span = { plan, fromMs: Number(from), toMs: Number(to ?? FOREVER_MS), planFromMs }
    const ofSubscriber = spans.get(sid)
    if (ofSubscriber === undefined) spans.set(sid, [span])
    else ofSubscriber.push(span)
  }
  return spans
}

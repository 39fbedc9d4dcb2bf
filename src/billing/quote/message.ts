/** Decides a message of a network element from the live state, as charging would; read-only. */
import { createPacer } from '../../catalog/feed/pacer.ts'
import { findSubscriber } from '../../catalog/feed/subscribers.ts'
import type { Config } from '../../config/schema.ts'
import type { ChargeOutcome } from '../../domain/charge-outcome.ts'
import type { ChargeRequest } from '../../domain/charge-request.ts'
import { digestOf } from '../../domain/digest.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { SubscriberLookup } from '../../rating/identify.ts'
import type { Calculators } from '../../rating/match/calculators.ts'
import { type ChangedRateRevisions, RateFinder } from '../../rating/match/finder.ts'
import { type CustomerSource, subscriberAt } from '../customer-lookup.ts'
import { type LiveSource, liveContext, liveView, readLiveState } from './live.ts'

/** A subscriber, and the lookup that found it. */
export interface FoundCustomer extends SubscriberLookup {
  readonly sid: number
  readonly aid: number
  readonly plan: string
}

/** The subscriber of the first lookup that finds one; null if none does. */
export async function findCustomer(
  source: CustomerSource,
  lookups: readonly SubscriberLookup[],
): Promise<FoundCustomer | null> {
  for (const lookup of lookups) {
    const found = await customerBy(source, lookup)
    if (found !== null) return { ...lookup, ...found }
  }
  return null
}

/** A customer system is asked by `sid` only. */
async function customerBy(source: CustomerSource, lookup: SubscriberLookup) {
  const { key, value, atMs } = lookup
  if (key === 'sid') {
    const found = await subscriberAt(source, Number(value), atMs)
    return found === null ? null : { sid: Number(value), aid: found.aid, plan: found.plan }
  }
  if ((await source.lookup.subscribers([], atMs)) !== null) return null
  const found = await findSubscriber(source.catalog, lookup)
  if (found === null) return null
  const { sid, aid, plan } = found.profile
  return { sid, aid, plan }
}

/**
 * The outcome of a request that opens a session, with quotes of what is granted. `calculators`:
 * null for those of the installation. Throws `BillingError` if there is no such subscriber.
 */
export async function decideMessage(
  source: LiveSource,
  config: Pick<Config, 'rating' | 'session'>,
  message: { request: ChargeRequest; sid: number; calculators: Calculators | null },
  nowMs: number,
): Promise<ChargeOutcome> {
  const { sid, calculators } = message
  const { settings } = source.catalogue
  const request: ChargeRequest = { ...message.request, pretend: true }
  const state = await readLiveState(source, config, { sid, atMs: request.eventTimeMs })
  const finder =
    calculators === null
      ? state.finder
      : await filledFinder(new RateFinder(calculators, settings.rateKeys), state.finder)
  const context = liveContext({ ...state, finder }, settings, nowMs)
  const { validityMs } = config.session
  const identified = { request, sessionKey: request.sessionId, digest: digestOf(request) }
  return chargeSession(liveView(state), identified, {
    ...context,
    settings: { ...context.settings, validityMs },
  }).outcome
}

const RATES_PER_SLICE = 500

/** In slices: other calls are answered meanwhile. */
async function filledFinder(finder: RateFinder, from: RateFinder): Promise<RateFinder> {
  const pacer = createPacer()
  let page: ChangedRateRevisions[] = []
  for (const rate of from.all()) {
    page.push(rate)
    if (page.length < RATES_PER_SLICE) continue
    finder.update(page)
    page = []
    if (pacer.isSliceOver()) await pacer.pause()
  }
  finder.update(page)
  return finder
}

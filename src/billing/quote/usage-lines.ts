/** The latest usage lines of a plan, and their price by another catalogue. */
import { LENIENT } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { findProfiles } from '../../catalog/feed/profiles.ts'
import type { RealtimeLineDocument } from '../../catalog/records/usage/line-document.ts'
import { emptyOwner } from '../../domain/bucket.ts'
import { type Catalogue, revisionAt, type SubscriberProfile } from '../../domain/catalogue.ts'
import { digestOf } from '../../domain/digest.ts'
import { FieldError } from '../../domain/fields.ts'
import { bareCatalogue, bareProfile } from '../../rating/bare-prices.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext } from '../../rating/decision.ts'
import { customerProfile } from '../credit/customer-profile.ts'
import type { CustomerSource } from '../customer-lookup.ts'
import { type Priced, pricedOf } from './comparison.ts'
import { resultOf } from './event-result.ts'
import { type LiveRules, liveContext, liveRequest } from './live.ts'
import type { QuoteSettings } from './settings.ts'

/** Lines of the plan that are looked at, from the latest on. */
export const LINES_SEARCHED = 10_000

const LINE_FIELDS = {
  stamp: 1,
  sid: 1,
  urt: 1,
  usaget: 1,
  usagev: 1,
  priced_usagev: 1,
  called_number: 1,
  arate_key: 1,
  aprice: 1,
  final_charge: 1,
} as const

export type UsageLine = Pick<RealtimeLineDocument, keyof typeof LINE_FIELDS>

/**
 * The latest lines of a plan with usage and a price of the catalogue, newest first; `rateKey`: only
 * those of a rate, or empty. Reads by the index of plan and time. Rejects with
 * `CatalogUnavailableError`.
 */
export async function readLastLines(
  catalog: Catalog,
  { plan, rateKey, last }: { plan: string; rateKey: string; last: number },
): Promise<readonly UsageLine[]> {
  const ofPlan = { plan, type: 'realtime' } as const
  const newestFirst = { urt: -1 } as const
  const [oldest] = await catalog.reads.lines
    .find(ofPlan as object, { projection: { _id: 0, urt: 1 } })
    .sort(newestFirst)
    .skip(LINES_SEARCHED - 1)
    .limit(1)
    .toArray()
  const filter = {
    ...ofPlan,
    ...(oldest !== undefined && { urt: { $gte: (oldest as { urt: Date }).urt } }),
    ...(rateKey !== '' && { arate_key: rateKey }),
    usagev: { $gt: 0 },
    prepriced: { $ne: true },
  }
  return catalog.reads.lines
    .find(filter as object, { projection: { _id: 0, ...LINE_FIELDS } })
    .sort(newestFirst)
    .limit(last)
    .toArray() as Promise<unknown> as Promise<readonly UsageLine[]>
}

export type LineProfile = SubscriberProfile | Error | null

/** Profiles at the time of each line; null where there was no such subscriber. */
export async function profilesOf(
  { catalog, lookup }: CustomerSource,
  lines: readonly UsageLine[],
  nowMs: number,
): Promise<readonly LineProfile[]> {
  const isOutside = (await lookup.subscribers([], nowMs)) !== null
  if (isOutside) {
    const profiles: LineProfile[] = []
    for (const { sid, urt } of lines) {
      profiles.push((await customerProfile(lookup, sid, urt.getTime(), LENIENT)) ?? null)
    }
    return profiles
  }
  const queries = lines.map(({ sid, urt }) => {
    return { key: 'sid', value: String(sid), atMs: urt.getTime() }
  })
  const found = await findProfiles(catalog, queries, () => false)
  return found.map((one) => (one === null || one instanceof Error ? one : one.profile))
}

/** The context of a line: a catalogue without included units, and the rules of the installation. */
export type LinePricing = Omit<ChargeContext, 'profile' | 'nowMs'>

/** `stored`: the rules of the node; its finder knows the stored rates. */
export function linePricing(
  stored: LiveRules,
  catalogue: Catalogue,
  settings: QuoteSettings,
): LinePricing {
  const bare = bareCatalogue(catalogue)
  const rules = { ...stored, catalogue: bare, profile: null, actionRules: null }
  const finder: LinePricing['finder'] = {
    otherCategories: (usaget) => stored.finder.otherCategories(usaget),
    readsTime: stored.finder.readsTime,
    changeAfter: (...args) => stored.finder.changeAfter(...args),
    find(category, usage, atMs) {
      const rate = stored.finder.find(category, usage, atMs)
      return rate === null ? null : (revisionAt(bare.rates.get(rate.key), atMs) ?? rate)
    },
  }
  return { ...liveContext(rules, settings, 0), finder }
}

/**
 * The price of the units of a line that were not included: those that were stay so. Throws
 * `FieldError` if there is no such subscriber.
 */
export function priceLine(line: UsageLine, profile: LineProfile, pricing: LinePricing): Priced {
  const { sid, urt, usaget, called_number: calledNumber, arate_key: rateKey } = line
  const atMs = urt.getTime()
  if (profile instanceof Error) throw new FieldError('sid', profile.message)
  if (profile === null) {
    throw new FieldError('sid', `there is no subscriber ${sid} at ${urt.toISOString()}`)
  }
  const usagev = line.priced_usagev
  const included = line.usagev - usagev
  if (usagev === 0) return { ...pricedOf([]), granted: included }
  const request = liveRequest({ sid, usaget, usagev, calledNumber, rateKey, atMs }, 'event')
  const view = { subscriber: emptyOwner(profile.aid, sid), account: null, session: null }
  const identified = { request, sessionKey: request.sessionId, digest: digestOf(request) }
  const context = { ...pricing, profile: bareProfile(profile), nowMs: atMs }
  const { outcome, commit } = chargeSession(view, identified, context)
  const priced = pricedOf([resultOf(outcome, commit?.lines ?? [], 0)])
  return { ...priced, granted: priced.granted + included }
}

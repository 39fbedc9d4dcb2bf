/**
 * Prices the lines of an account in one cycle again, in the order of their times, from empty
 * counters. Pure: each line is charged as one usage record, by the decision of charging.
 */
import {
  lineDocument,
  type RealtimeLineDocument,
  serviceOfDocument,
} from '../../catalog/records/usage/line-document.ts'
import type { PaymentDocument } from '../../catalog/records/usage/line-schemas.ts'
import type { RefusedLine } from '../../catalog/records/usage/rerate-documents.ts'
import { emptyOwner, type OwnerState } from '../../domain/bucket.ts'
import type { SubscriberProfile } from '../../domain/catalogue.ts'
import { reasons } from '../../domain/charge-outcome.ts'
import { type ChargeRequest, serviceRequest } from '../../domain/charge-request.ts'
import { digestOf } from '../../domain/digest.ts'
import type { Line } from '../../domain/line.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext } from '../../rating/decision.ts'
import { rateService } from '../../rating/program.ts'
import type { RatedService } from '../../rating/rated-service-cache.ts'
import { RerateOrder } from './rerate-order.ts'

/** `untilMs`: when any part of it changes, such as the members of its pool. */
export type RerateProfile = SubscriberProfile & { readonly untilMs: number }

/** A recorded line, and the profile of its subscriber at its time; null without one. */
export interface RerateInput {
  readonly line: RealtimeLineDocument
  readonly profile: RerateProfile | Error | null
}

/** A line before and after. */
export interface RepricedLine {
  readonly before: RealtimeLineDocument
  /** The line as it would be charged today; the same object without usage or if it is prepriced. */
  readonly after: RealtimeLineDocument
  /** Its next version, paid from `owners` of the cycle; null if it stays as it is. */
  readonly line: Line | null
}

/** `refused` is empty, or nothing of the cycle is priced. */
export interface RepricedCycle {
  readonly lines: readonly RepricedLine[]
  readonly refused: readonly RefusedLine[]
  /** With the counters after all lines; 0 is the account. */
  readonly owners: ReadonlyMap<number, OwnerState>
}

/** The rules of today, without the profile and the clock of a line. */
export type RerateRules = Omit<ChargeContext, 'profile' | 'nowMs'>

const REFUSALS = {
  open: 'its session is open',
  refund: 'it is a refund',
  prepaid: 'prepaid balances pay for it, or it is debt',
  continued: 'it continues the price of an earlier line of its session',
  categories: 'its usage type has prices of further tariff categories',
  noSubscriber: 'its subscriber does not exist at its time',
  invalidSubscriber: 'its subscriber cannot be read',
  account: 'its subscriber is in another account at its time',
  charged: 'it was charged without usage',
  taxes: 'it was charged without a tax, and has one today: it may be exempt',
  cycle: 'its time is in another cycle',
  period: 'it counts in a period that is not within its cycle',
  boundary: 'its price changes while it lasts: how much was used before is not recorded',
  order: 'included units ran out, and were not used in the order of the times of lines',
} as const

class LineRefusedError extends Error {
  readonly reason: string
  constructor(reason: string, text: string) {
    super(text)
    this.reason = reason
  }
}

function refuseIf(condition: boolean, reason: keyof typeof REFUSALS): void {
  if (condition) throw new LineRefusedError(reason, REFUSALS[reason])
}

/**
 * `inputs`: all lines of usage of the account in the cycle, in any order. All lines that cannot be
 * priced exactly are named; those after one that is refused are priced without it, to find more.
 * Yields after each line, since an account may have very many.
 */
export function* rerateCycle(
  inputs: readonly RerateInput[],
  cycle: string,
  rules: RerateRules,
): Generator<undefined, RepricedCycle> {
  const owners = new Map<number, OwnerState>()
  const order = new RerateOrder()
  const lines: RepricedLine[] = []
  const refused: RefusedLine[] = []
  for (const input of inputs.toSorted(byTime)) {
    const { line } = input
    try {
      const next = repriced(input, cycle, rules, owners, order)
      lines.push({ before: line, after: next === null ? line : lineDocument(next), line: next })
    } catch (error) {
      if (!(error instanceof LineRefusedError)) throw error
      refused.push({ stamp: line.stamp, reason: error.reason, text: error.message })
    }
    yield
  }
  return refused.length === 0 ? { lines, refused, owners } : { lines: [], refused, owners }
}

/** Whether its price, its payments or its use of groups differ. */
export function isChanged({ before, after }: RepricedLine): boolean {
  return before !== after && comparable(before) !== comparable(after)
}

function comparable(line: RealtimeLineDocument): string {
  const { exact, tax_data, in_group, over_group, out_group, group_cost_micros, payments } = line
  const { aprice, final_charge } = exact
  const taxes = tax_data.taxes.map(({ key, tax, amount, embedded_amount }) => {
    return [key, tax, amount, embedded_amount ?? 0]
  })
  const amounts = [aprice, final_charge, in_group, over_group, out_group, group_cost_micros]
  return JSON.stringify([amounts, taxes, payments.map(paid).sort()])
}

/** Ids of buckets are those of other owners. */
function paid({ owner, counter, usagev, cost_micros, limit_micros }: PaymentDocument): string {
  return [owner, counter, usagev, cost_micros, limit_micros].join(' ')
}

function byTime({ line: a }: RerateInput, { line: b }: RerateInput): number {
  return a.urt.getTime() - b.urt.getTime() || (a.stamp < b.stamp ? -1 : 1)
}

function repriced(
  { line, profile }: RerateInput,
  cycle: string,
  rules: RerateRules,
  owners: Map<number, OwnerState>,
  order: RerateOrder,
): Line | null {
  // The catalogue has no part in its price.
  if (line.prepriced === true) return null
  refuseIf(line.state === 'open', 'open')
  refuseIf(line.usagev === 0 && line.aprice_micros !== 0, 'charged')
  if (line.usagev === 0) return null
  checkRecorded(line, rules)
  if (profile instanceof Error) {
    throw new LineRefusedError(
      'invalidSubscriber',
      `${REFUSALS.invalidSubscriber}: ${profile.message}`,
    )
  }
  if (profile === null) throw new LineRefusedError('noSubscriber', REFUSALS.noSubscriber)
  refuseIf(profile.aid !== line.aid, 'account')
  const context: ChargeContext = { ...rules, profile, nowMs: line.urt.getTime() }
  const request = recordOf(line)
  const rated = ratedOf(line, request, context, profile.untilMs)
  const { aid, sid } = line
  const view = {
    subscriber: owners.get(sid) ?? emptyOwner(aid, sid),
    account: owners.get(0) ?? emptyOwner(aid, 0),
    session: null,
  }
  const identified = { request, sessionKey: line.stamp, digest: digestOf(request) }
  const { outcome, commit } = chargeSession(view, identified, context)
  const [charged] = commit?.lines ?? []
  if (charged === undefined || commit?.lines.length !== 1 || outcome.reason !== 'granted') {
    throw new LineRefusedError(outcome.reason, deniedText(outcome))
  }
  const after = nextVersion(line, charged)
  checkCharged(line, after, cycle)
  const isFree = order.admit(line, charged.counts, rated.funding.groups)
  owners.set(sid, commit.subscriber)
  if (commit.account !== null) owners.set(0, commit.account)
  refuseIf(!isFree, 'order')
  return after
}

/** As charged, but the times and the state of the recorded line. */
function nextVersion(
  { stamp, v, state, last_urt, late }: RealtimeLineDocument,
  charged: Line,
): Line {
  const counts = { ...charged.counts, lastMs: last_urt.getTime(), late: late === true }
  return { ...charged, stamp, version: v + 1, state, counts }
}

function deniedText({ reason, detail }: { reason: keyof typeof reasons; detail: string }): string {
  const { text } = reasons[reason]
  return `it would be denied today: ${detail === '' ? text : `${text}: ${detail}`}`
}

/** Segments of a service are numbered from 1, at the end of their stamps. */
const FIRST_SEGMENT = /-1$/

function checkRecorded(line: RealtimeLineDocument, { finder }: RerateRules): void {
  refuseIf(line.usagev < 0 || line.payments.some(({ credited }) => credited === true), 'refund')
  const isPrepaid = line.payments.some(({ pp_includes_external_id: id }) => id !== 0)
  refuseIf(isPrepaid || line.debt_micros !== 0, 'prepaid')
  refuseIf(!FIRST_SEGMENT.test(line.stamp), 'continued')
  refuseIf(finder.otherCategories(line.usaget).length > 0 || line.rates.length > 1, 'categories')
}

function checkCharged(line: RealtimeLineDocument, { counts, pricing }: Line, cycle: string): void {
  refuseIf(counts.debt !== 0, 'prepaid')
  refuseIf(pricing.cycle !== cycle, 'cycle')
  refuseIf(line.tax_data.taxes.length === 0 && pricing.taxes.length > 0, 'taxes')
}

/** Terms that end while the line lasts, or a counter of another period, are not exact. */
function ratedOf(
  line: RealtimeLineDocument,
  request: ChargeRequest,
  context: ChargeContext,
  untilMs: number,
): RatedService {
  const [service] = request.services as [ChargeRequest['services'][number]]
  const atMs = request.eventTimeMs
  const profile = context.profile as SubscriberProfile
  const usage = { service, fields: null, atMs, nowMs: context.nowMs }
  const rated = rateService(context, profile, usage)
  if (typeof rated === 'string') {
    throw new LineRefusedError(rated, deniedText({ reason: rated, detail: line.arate_key }))
  }
  const { cycle } = context.cycleAt(atMs, context.nowMs)
  refuseIf(
    rated.funding.groups.some(({ fromMs, toMs }) => fromMs < cycle.fromMs || toMs > cycle.toMs),
    'period',
  )
  // Usage up to the end of its terms belongs to them (`usedAt`).
  refuseIf(line.last_urt.getTime() > Math.min(rated.untilMs, untilMs), 'boundary')
  return rated
}

/** The usage of a line as a record, at the rate that was found for it. */
function recordOf(line: RealtimeLineDocument): ChargeRequest {
  const service = serviceRequest({
    ...serviceOfDocument(line),
    used: line.usagev,
    rateKey: line.arate_key,
  })
  return {
    kind: 'event',
    isRecord: true,
    origin: line.origin,
    sessionId: line.session_id,
    requestNumber: -1,
    stamp: line.stamp,
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: String(line.sid),
    eventTimeMs: line.urt.getTime(),
    eventTimeGiven: true,
    services: [service],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
  }
}

/** The parts of an outcome, and what it says about balances. */
import { type BucketRef, bucketOrder, type OwnerState, paysFor } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import {
  type BalanceReport,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import { UNLIMITED_TOTAL } from '../domain/counters.ts'

interface Owners {
  subscriber: OwnerState
  account: OwnerState | null
}

/** Whether an opening request with this answer is worth remembering: it moved or tried to move. */
export function leavesTrace(service: ServiceOutcome): boolean {
  return service.reason === 'granted' || service.reason === 'noCredit'
}

/** Names what a granted request could not settle: usage that nobody pays must not go unnoticed. */
function unpriced(services: readonly ServiceOutcome[]): string {
  let text = ''
  for (const { usaget, reason } of services) {
    if (reason === 'granted' || reason === 'noCredit') continue
    const lost = `${usaget} not charged: ${reasons[reason].text}`
    text = text === '' ? lost : `${text}; ${lost}`
  }
  return text
}

/** A release succeeds; else it is granted if anything is. */
export function overallOf(request: ChargeRequest, services: readonly ServiceOutcome[]): Reason {
  if (request.kind === 'release' || services.length === 0) return 'granted'
  for (const { reason } of services) if (reason === 'granted') return reason
  return services[0]?.reason ?? 'granted'
}

const LATE = 'the session had expired'

/** What its reason does not say of an outcome. */
export function detailOf(
  reason: Reason,
  services: readonly ServiceOutcome[],
  { eventTimeMs }: ChargeRequest,
  profile: SubscriberProfile | null,
  isLate: boolean,
): string {
  if (reason === 'granted') {
    const lost = unpriced(services)
    if (!isLate) return lost
    return lost === '' ? LATE : `${LATE}; ${lost}`
  }
  if (profile === null) return ''
  // The code for a missing plan is that of a missing subscriber: only the text tells them apart.
  if (reason === 'unknownSubscriber') return `plan ${profile.plan} is not in the catalogue`
  if (reason !== 'barred' || profile.barred) return ''
  return eventTimeMs < profile.activeFromMs ? 'not active yet' : 'not active any more'
}

export function denied(wanted: ServiceRequest, reason: Reason): ServiceOutcome {
  const outcome = settledOnly(wanted)
  outcome.reason = reason
  return outcome
}

export function settledOnly(wanted: ServiceRequest): ServiceOutcome {
  return {
    ratingGroup: wanted.ratingGroup,
    serviceIdentifier: wanted.serviceIdentifier,
    usaget: wanted.usaget,
    reason: 'granted',
    granted: 0,
    parts: null,
    validityMs: 0,
    tariffChangeMs: 0,
    finalUnit: false,
    cost: 0,
    quote: null,
  }
}

/** The balances that the services of a request may be paid from, each once, then the counters. */
export function balanceReports(owners: Owners, request: ChargeRequest): BalanceReport[] {
  const { subscriber, account } = owners
  const reports: BalanceReport[] = []
  const usagets = new Set(['', ...request.services.map((service) => service.usaget)])
  const seen = new Set<string>()
  const at = request.eventTimeMs
  for (const usaget of usagets) {
    for (const ref of bucketOrder(subscriber, account, paysFor(usaget), at)) {
      const id = `${ref.owner}:${ref.id}`
      if (!seen.has(id)) reports.push(reportOf(owners, ref))
      seen.add(id)
    }
  }
  for (const [slot, owner] of [subscriber, account].entries()) {
    for (const { id, counter, fromMs, toMs, limit } of owner?.buckets ?? []) {
      if (counter === '' || at < fromMs || at >= toMs || limit >= UNLIMITED_TOTAL) continue
      reports.push(reportOf(owners, { owner: slot === 0 ? 0 : 1, id }))
    }
  }
  return reports
}

function reportOf({ subscriber, account }: Owners, ref: BucketRef): BalanceReport {
  const owner = ref.owner === 0 ? subscriber : (account ?? subscriber)
  const bucket = owner.buckets.find((candidate) => candidate.id === ref.id)
  return {
    prepaidIncludeId: bucket?.prepaidIncludeId ?? 0,
    kind: bucket?.kind === 'units' ? 'units' : 'money',
    usaget: bucket?.usaget ?? '',
    counter: bucket?.counter ?? '',
    free: bucket === undefined ? 0 : bucket.free + Math.max(0, bucket.limit),
    reserved: bucket?.reserved ?? 0,
    toMs: bucket?.toMs ?? 0,
  }
}

/** Builds the parts of an outcome: reason, detail, services and balances. */
import { type BucketRef, bucketOrder, debtOf, type OwnerSlot, paysFor } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import {
  ACCOUNT_DEBT,
  type BalanceReport,
  OWN_DEBT,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import { findBucket, type Owners } from '../domain/copy-on-write.ts'
import { UNLIMITED_TOTAL } from '../domain/counters.ts'
import { ownerAt } from '../domain/debt.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { begunBy, type ChargeContext } from './decision.ts'

/**
 * Whether an opening request with this answer has to be stored: units were granted, credit was
 * insufficient, or a spending cap is reached.
 */
export function mustBeStored(service: ServiceOutcome): boolean {
  const { reason } = service
  return reason === 'granted' || reason === 'noCredit' || reason === 'capReached'
}

/** Names the services that a granted request could not settle, so that unpaid usage is reported. */
function unpriced(services: readonly ServiceOutcome[]): string {
  let text = ''
  for (const { usaget, reason } of services) {
    if (reason === 'granted' || reason === 'noCredit' || reason === 'capReached') continue
    const lost = `${usaget} not charged: ${reasons[reason].text}`
    text = text === '' ? lost : `${text}; ${lost}`
  }
  return text
}

/**
 * A release succeeds; a record is charged if all of its services are; other requests are granted if
 * any of their services is.
 */
export function overallReason(request: ChargeRequest, services: readonly ServiceOutcome[]): Reason {
  if (request.kind === 'release' || services.length === 0) return 'granted'
  if (request.isRecord) {
    return services.find(({ reason }) => reason !== 'granted')?.reason ?? 'granted'
  }
  for (const { reason } of services) if (reason === 'granted') return reason
  return services[0]?.reason ?? 'granted'
}

const LATE = 'the session had expired'

/** Details of an outcome that its reason does not contain. */
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
  // An unknown plan has the code of an unknown subscriber; only the text tells them apart.
  if (reason === 'unknownSubscriber') return `plan ${profile.plan} is not in the catalogue`
  if (reason !== 'barred' || profile.barred) return ''
  return eventTimeMs < profile.activeFromMs ? 'not active yet' : 'not active any more'
}

export function denied(service: ServiceRequest, reason: Reason): ServiceOutcome {
  const outcome = settledOnly(service)
  outcome.reason = reason
  return outcome
}

export function settledOnly(service: ServiceRequest): ServiceOutcome {
  return {
    ratingGroup: service.ratingGroup,
    serviceIdentifier: service.serviceIdentifier,
    usaget: service.usaget,
    reason: 'granted',
    granted: 0,
    parts: null,
    validityMs: 0,
    tariffChangeMs: 0,
    finalUnit: false,
    action: null,
    cost: 0,
    quote: null,
  }
}

/**
 * The balances from which the services of a request may be paid, each once, then the counters, then
 * the debt of owners without any reported balance.
 */
export function balanceReports(
  owners: Owners,
  request: ChargeRequest,
  context: ChargeContext,
): BalanceReport[] {
  const { subscriber, account } = owners
  const refs: BucketRef[] = []
  const usagets = new Set([''])
  for (const { usaget, parts } of request.services) {
    usagets.add(usaget)
    for (const part of parts ?? []) usagets.add(part.usaget)
  }
  const at = request.eventTimeMs
  const begunMs = begunBy(at, context)
  for (const usaget of usagets) {
    for (const ref of bucketOrder(subscriber, account, paysFor(usaget), at, begunMs)) {
      if (!refs.some(({ owner, id }) => owner === ref.owner && id === ref.id)) refs.push(ref)
    }
  }
  for (const slot of SLOTS) {
    for (const { id, counter, fromMs, toMs, limit } of ownerAt(owners, slot)?.buckets ?? []) {
      if (counter === '' || at < fromMs || at >= toMs || limit >= UNLIMITED_TOTAL) continue
      refs.push({ owner: slot, id })
    }
  }
  const reports = refs.map((ref) => reportOf(owners, ref))
  for (const slot of SLOTS) {
    const debt = debtAt(owners, slot)
    if (debt > 0 && !refs.some(({ owner }) => owner === slot)) reports.push(debtReport(slot, debt))
  }
  return reports
}

const SLOTS = [0, 1] as const

function debtAt(owners: Owners, slot: OwnerSlot): number {
  const owner = ownerAt(owners, slot)
  return owner === null ? 0 : debtOf(owner)
}

function debtReport(slot: OwnerSlot, debt: number): BalanceReport {
  const counter = slot === 0 ? OWN_DEBT : ACCOUNT_DEBT
  const nothing = { prepaidIncludeId: 0, usaget: '', free: 0, reserved: 0 }
  return { ...nothing, kind: 'money', counter, toMs: FOREVER_MS, debt }
}

function reportOf(owners: Owners, ref: BucketRef): BalanceReport {
  const bucket = findBucket(owners, ref)
  return {
    prepaidIncludeId: bucket?.prepaidIncludeId ?? 0,
    kind: bucket?.kind === 'units' ? 'units' : 'money',
    usaget: bucket?.usaget ?? '',
    counter: bucket?.counter ?? '',
    free: bucket === undefined ? 0 : bucket.free + Math.max(0, bucket.limit),
    reserved: bucket?.reserved ?? 0,
    toMs: bucket?.toMs ?? 0,
    debt: debtAt(owners, ref.owner),
  }
}

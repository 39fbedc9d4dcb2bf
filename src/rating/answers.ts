/** The parts of an outcome, and what it says about balances. */
import { type BucketRef, bucketOrder, type OwnerState } from '../domain/bucket.ts'
import {
  type BalanceReport,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'

interface Owners {
  subscriber: OwnerState
  account: OwnerState | null
}

/** Whether an opening request with this answer is worth remembering: it moved or tried to move. */
export function leavesTrace(service: ServiceOutcome): boolean {
  return service.reason === 'granted' || service.reason === 'noCredit'
}

/** Names what a granted request could not settle: usage that nobody pays must not go unnoticed. */
export function unpriced(services: readonly ServiceOutcome[]): string[] {
  const lost = services.filter(({ reason }) => reason !== 'granted' && reason !== 'noCredit')
  return lost.map(({ usaget, reason }) => `${usaget} not charged: ${reasons[reason].text}`)
}

export function denied(wanted: ServiceRequest, reason: Reason): ServiceOutcome {
  return { ...settledOnly(wanted), reason }
}

export function settledOnly(wanted: ServiceRequest): ServiceOutcome {
  const { ratingGroup, usaget } = wanted
  return { ratingGroup, usaget, reason: 'granted', granted: 0, validityMs: 0, finalUnit: false }
}

/** The balances that the services of a request may be paid from, each once. */
export function balanceReports(owners: Owners, request: ChargeRequest): BalanceReport[] {
  const { subscriber, account } = owners
  const reports: BalanceReport[] = []
  const usagets = new Set(['', ...request.services.map((service) => service.usaget)])
  const seen = new Set<string>()
  for (const usaget of usagets) {
    for (const ref of bucketOrder(subscriber, account, usaget, request.eventTimeMs)) {
      const id = `${ref.owner}:${ref.id}`
      if (!seen.has(id)) reports.push(reportOf(owners, ref))
      seen.add(id)
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
    free: bucket?.free ?? 0,
    reserved: bucket?.reserved ?? 0,
    toMs: bucket?.toMs ?? 0,
  }
}

/**
 * Prices without included units and limits: for negative volumes and credits, whose price is that
 * of the absolute volume with the sign reversed.
 */
import type {
  Catalogue,
  Offer,
  PlanRevision,
  ServiceRevision,
  SubscriberProfile,
} from '../domain/catalogue.ts'
import { reversedCounts } from '../domain/counts.ts'
import type { Line } from '../domain/line.ts'

/** The same prices without included units and with unlimited credit. */
export function bareCatalogue(catalogue: Catalogue): Catalogue {
  return {
    ...catalogue,
    plans: mapRevisions<PlanRevision>(catalogue.plans, (plan) => ({
      ...bareOffer(plan),
      connectionType: 'postpaid',
    })),
    services: mapRevisions<ServiceRevision>(catalogue.services, bareOffer),
  }
}

export function bareProfile(profile: SubscriberProfile): SubscriberProfile {
  const overrides = profile.overrides.map((override) => ({ ...override, groups: null }))
  return { ...profile, overrides, creditLimit: null, accountCreditLimit: null }
}

function bareOffer<T extends Offer>(offer: T): T {
  return { ...offer, groups: [] }
}

function mapRevisions<T>(
  revisions: ReadonlyMap<string, readonly T[]>,
  change: (revision: T) => T,
): Map<string, readonly T[]> {
  return new Map([...revisions].map(([key, all]) => [key, all.map(change)]))
}

/** The line that reverses another one. */
export function negated(line: Line): Line {
  return { ...line, counts: { ...reversedCounts(line.counts), payments: [] } }
}

/** Determines which profiles need the whole account, because one of their products is pooled. */
import type {
  Catalogue,
  IncludedGroup,
  Offer,
  PlanRevision,
  SubscriberProfile,
} from '../domain/catalogue.ts'

export type PoolCheck = (profile: SubscriberProfile) => boolean

/**
 * `current` returns the current catalogue; its pooled products are determined once per revision.
 */
export function createPoolCheck(current: () => Catalogue): PoolCheck {
  let revision = -1
  let plans: ReadonlySet<string> = new Set()
  let services: ReadonlySet<string> = new Set()
  return (profile) => {
    const catalogue = current()
    if (catalogue.revision !== revision) {
      services = namesOf(catalogue.services, ({ groups }) => isPooled(groups))
      plans = namesOf(catalogue.plans, (plan) => poolsSomething(plan, services))
      revision = catalogue.revision
    }
    const { plan, overrides } = profile
    if (plans.has(plan)) return true
    if (services.size > 0) {
      const isHeld = ({ name }: { name: string }) => services.has(name)
      if (profile.services.some(isHeld) || profile.accountServices.some(isHeld)) return true
    }
    return overrides.some(({ groups }) => groups !== null && isPooled(groups))
  }
}

function namesOf<T extends Offer>(
  offers: ReadonlyMap<string, readonly T[]>,
  holds: (offer: T) => boolean,
): ReadonlySet<string> {
  const names = new Set<string>()
  for (const [name, revisions] of offers) if (revisions.some(holds)) names.add(name)
  return names
}

function poolsSomething(plan: PlanRevision, services: ReadonlySet<string>): boolean {
  return isPooled(plan.groups) || plan.services.some((name) => services.has(name))
}

function isPooled(groups: readonly IncludedGroup[]): boolean {
  return groups.some(({ sharing }) => sharing === 'pool')
}

/** The rules of the collections of this room; those of prepaid credit and reports are in theirs. */
import { accountRules } from './accounts.ts'
import { CHARGE_RULES, DISCOUNT_RULES } from './charges.ts'
import { PLAN_RULES } from './plans.ts'
import { rateRules } from './rates.ts'
import type { CollectionRules, RuleSettings } from './rule.ts'
import { SERVICE_RULES } from './services.ts'
import { subscriberRules } from './subscribers.ts'
import { taxRules } from './taxes.ts'
import { USER_RULES } from './users.ts'

/** By collection name in the API. */
export function createRules(settings: RuleSettings): Readonly<Record<string, CollectionRules>> {
  return {
    accounts: accountRules(settings),
    subscribers: subscriberRules(settings),
    plans: PLAN_RULES,
    services: SERVICE_RULES,
    rates: rateRules(settings),
    charges: CHARGE_RULES,
    discounts: DISCOUNT_RULES,
    taxes: taxRules(settings),
    users: USER_RULES,
  }
}

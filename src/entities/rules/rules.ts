/** The rules of the collections of the entity API; those of reports are with them. */
import { ACCOUNT_RULES } from './accounts.ts'
import { AUTORENEW_RULES } from './autorenew.ts'
import { CHARGE_RULES } from './charges.ts'
import { DISCOUNT_RULES } from './discounts.ts'
import { PLAN_RULES } from './plans.ts'
import { PREPAID_GROUP_RULES, PREPAID_INCLUDE_RULES } from './prepaid.ts'
import { RATE_RULES } from './rates.ts'
import type { CollectionRules } from './rule.ts'
import { SERVICE_RULES } from './services.ts'
import { SUBSCRIBER_RULES } from './subscribers.ts'
import { taxRules } from './taxes.ts'
import { USER_RULES } from './users.ts'

export interface EntityRuleSettings {
  /** `rating.defaultTax`. */
  defaultTax: string
}

/** By collection name in the API. */
export function createRules(
  settings: EntityRuleSettings,
): Readonly<Record<string, CollectionRules>> {
  return {
    accounts: ACCOUNT_RULES,
    subscribers: SUBSCRIBER_RULES,
    plans: PLAN_RULES,
    services: SERVICE_RULES,
    rates: RATE_RULES,
    charges: CHARGE_RULES,
    discounts: DISCOUNT_RULES,
    prepaidincludes: PREPAID_INCLUDE_RULES,
    prepaidgroups: PREPAID_GROUP_RULES,
    taxes: taxRules(settings),
    users: USER_RULES,
    autorenew: AUTORENEW_RULES,
  }
}

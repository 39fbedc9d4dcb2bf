/** Discounts (R32, spec/entity-api.md 3.9): as charges, but percentages if nothing is said. */
import { chargeRules } from './charges.ts'
import type { CollectionRules } from './rule.ts'

export const DISCOUNT_RULES: CollectionRules = chargeRules('percentage')

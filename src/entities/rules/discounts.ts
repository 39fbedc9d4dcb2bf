/** Rules for discounts: like charges, but percentages by default. */
import { chargeRules } from './charges.ts'
import type { CollectionRules } from './rule.ts'

export const DISCOUNT_RULES: CollectionRules = chargeRules('percentage')

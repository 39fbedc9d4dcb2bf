/** The schemas of records of all kinds: fields, as they are stored, and components of them. */
import { flag, type Members, number, type Schema, searchable } from '../entities/json-schema.ts'
import { AUDIT_LINK, AUDIT_USER } from './audit-document.ts'
import { CHARGED_TIER, CYCLE_EXPLANATION, CYCLE_LINE } from './money/cycle-line.ts'
import { BALANCE_AMOUNTS, BALANCE_COUNT, UNIT_COUNT } from './usage/balance-document.ts'
import * as lines from './usage/line-schemas.ts'
import { RATING_STEP } from './usage/rating-steps.ts'

/** OpenAPI components. */
export const RECORD_COMPOUNDS: Readonly<Record<string, Schema>> = {
  balanceCount: BALANCE_COUNT,
  unitCount: UNIT_COUNT,
  balanceAmounts: BALANCE_AMOUNTS,
  payment: lines.PAYMENT,
  groupUse: lines.GROUP_USE,
  rateUse: lines.RATE_USE,
  ratingStep: RATING_STEP,
  lineTax: lines.LINE_TAX,
  taxData: lines.TAX_DATA,
  chargedTier: CHARGED_TIER,
  cycleExplanation: CYCLE_EXPLANATION,
  creditTerms: lines.CREDIT_TERMS,
  auditLink: AUDIT_LINK,
  auditUser: AUDIT_USER,
}

export const LINE: Members = {
  ...lines.ANY_LINE,
  ...lines.SHARED_FIELDS,
  ...lines.CHARGED_LINE,
  ...lines.RATED_LINE,
  ...lines.USAGE_LINE,
  ...lines.SEGMENT_LINE,
  ...lines.CREDIT_LINE,
  ...lines.CREDIT_OPTIONS,
  ...CYCLE_LINE,
  ...lines.OPERATION_LINE,
  ...lines.OPERATION_OPTIONS,
  included_in_plan: searchable(
    number('Units that the plan included, in lines of the existing system.'),
  ),
  imported: flag('Present if another system wrote it.'),
}

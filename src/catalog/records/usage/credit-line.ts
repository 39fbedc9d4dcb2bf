/** Lines of credits: charges and refunds that do not come from usage. */
import type { StoredOf } from '../../entities/json-schema.ts'
import type {
  ANY_LINE,
  CHARGED_LINE,
  CREDIT_LINE,
  CREDIT_OPTIONS,
  RATED_LINE,
  SHARED_FIELDS,
} from './line-schemas.ts'

/** How the amount of a credit by usage was computed. */
export type CreditPricing = Omit<StoredOf<typeof RATED_LINE>, 'prepriced'>

/** One credit, or one of its installments. `charge`: the customer owes more. */
export interface CreditLineDocument
  extends StoredOf<typeof ANY_LINE>,
    StoredOf<typeof CHARGED_LINE, 'before_rounding'>,
    StoredOf<typeof CREDIT_LINE>,
    Partial<StoredOf<typeof CREDIT_OPTIONS>>,
    Partial<CreditPricing>,
    Pick<StoredOf<typeof RATED_LINE>, 'prepriced'>,
    Pick<StoredOf<typeof SHARED_FIELDS>, 'arate_key' | 'billrun' | 'process_time'>,
    Partial<Pick<StoredOf<typeof SHARED_FIELDS>, 'account_level'>> {
  type: 'credit'
  source: 'credit'
  usaget: 'charge' | 'refund'
}

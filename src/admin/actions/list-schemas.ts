/**
 * Lists in answers that may also be objects: components of the OpenAPI document, as generators of
 * clients need a name for such a list.
 */
import {
  amount,
  choice,
  customFields,
  either,
  listOf,
  object,
  ref,
  type Schema,
} from '../../catalog/entities/json-schema.ts'
import { RATE } from './deprecated/rates.ts'
import { WHOLE_NUMBER } from './parameters.ts'
import { CARD } from './prepaid-cards.ts'

const LINK = object(
  'A bill.',
  {
    type: choice(['inv', 'rec'], 'Invoice or payment.'),
    id: either('Its number.', ...WHOLE_NUMBER),
    amount: amount('The amount.'),
  },
  ['type', 'id', 'amount'],
)

export const LIST_SCHEMAS: Readonly<Record<string, Schema>> = {
  'bills.list': listOf(ref('bills.shown'), 'Bills.'),
  'invoices.list': listOf(ref('invoices.shown'), 'Invoices.'),
  'cards.list': listOf(CARD, 'Prepaid cards.'),
  'links.list': listOf(LINK, 'Bills and how much of each.'),
  'oldRates.list': listOf(RATE, 'Rates.'),
  'documents.list': listOf(customFields('A document.'), 'Documents, with their dates as texts.'),
}

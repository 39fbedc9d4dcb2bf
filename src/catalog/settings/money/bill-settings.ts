/** Category `bills` of the stored configuration: how payments cover bills, and their fields. */
import { flagOr, object } from '../settings-schema.ts'
import { fieldNames } from './payment-settings.ts'

export const BillsSchema = object('an object with switch_links and uf', {
  /** New money covers the oldest bills, before unconfirmed payments do. */
  switch_links: flagOr(false),
  /** Names of fields of `uf`, of payments and of bills. */
  uf: fieldNames('a list'),
})

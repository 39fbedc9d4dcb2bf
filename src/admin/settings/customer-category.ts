/** Category `subscribers`: configured fields, and the settings of external customer mode. */
import { isDeepStrictEqual } from 'node:util'
import { mergeCustomers, redactCustomers } from '../../catalog/settings/customer-secrets.ts'
import { checkCustomerSettings, partsOf, urlsIn } from '../../catalog/settings/customer-settings.ts'
import type { Sealer } from '../../catalog/settings/sealing.ts'
import { createAddressPolicy } from '../../external/address-policy.ts'
import type { Category } from './category.ts'
import { refuseNewAddresses } from './outgoing-addresses.ts'

/** `fields`: the category as far as it consists of configured fields. */
export function customerCategory(
  fields: Category,
  sealer: Sealer,
  privateRanges: readonly string[],
): Category {
  const policy = createAddressPolicy(privateRanges)
  return {
    ...fields,
    about:
      `${fields.about} Customers in another system: \`subscriber.type\`, \`account.type\`, ` +
      'addresses, authentication and caches (docs/EXTERNAL.md).',
    check(value, stored) {
      const now = partsOf(value)
      const before = partsOf(stored)
      fields.check(now.others, before.others)
      // A value that others stored does not prevent changes of fields.
      if (!isDeepStrictEqual(now.own, before.own)) checkCustomerSettings(now.own)
    },
    verify: (value, stored) =>
      refuseNewAddresses(urlsIn(partsOf(value).own), urlsIn(partsOf(stored).own), policy),
    view: redactCustomers,
    merge: (value, stored) => mergeCustomers(stored, value, sealer),
    effective: (stored) => fields.effective?.(redactCustomers(stored)),
  }
}

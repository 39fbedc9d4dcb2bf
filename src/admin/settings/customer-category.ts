/** Category `subscribers`: configured fields, and the settings of external customer mode. */
import { isDeepStrictEqual } from 'node:util'
import { mergeCustomers, redactCustomers } from '../../catalog/settings/customer-secrets.ts'
import { checkCustomerSettings, partsOf, urlsIn } from '../../catalog/settings/customer-settings.ts'
import type { Sealer } from '../../catalog/settings/sealing.ts'
import { FieldError } from '../../domain/fields.ts'
import { addressProblem, createAddressPolicy } from '../../external/customers/address-policy.ts'
import type { Category } from './category.ts'

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
    async verify(value, stored) {
      const known = urlsIn(partsOf(stored).own).map(({ url }) => url.href)
      for (const { path, url } of urlsIn(partsOf(value).own)) {
        if (known.includes(url.href)) continue
        const problem = await addressProblem(url, policy)
        if (problem !== null) throw new FieldError(path, problem)
      }
    },
    view: redactCustomers,
    merge: (value, stored) => mergeCustomers(stored, value, sealer),
    effective: (stored) => fields.effective?.(redactCustomers(stored)),
  }
}

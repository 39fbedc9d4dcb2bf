/** Addresses in settings that the node calls. */
import { FieldError } from '../../domain/fields.ts'
import { type AddressPolicy, addressProblem, UNRESOLVED } from '../../external/address-policy.ts'

export interface SettingsUrl {
  readonly path: string
  readonly url: URL
}

/**
 * Throws `FieldError` for the first address that was not stored and must not be called.
 * `mayBeUnresolved`: whether names that cannot be resolved are accepted.
 */
export async function refuseNewAddresses(
  urls: readonly SettingsUrl[],
  stored: readonly SettingsUrl[],
  policy: AddressPolicy,
  mayBeUnresolved = false,
): Promise<void> {
  const known = new Set(stored.map(({ url }) => url.href))
  for (const { path, url } of urls) {
    if (known.has(url.href)) continue
    known.add(url.href)
    const problem = await addressProblem(url, policy)
    if (problem === UNRESOLVED && mayBeUnresolved) continue
    if (problem !== null) throw new FieldError(path, problem)
  }
}

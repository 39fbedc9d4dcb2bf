/** Roles of directory users, from their attributes or groups. */
import type { RoleSettings } from '../../catalog/settings/access/auth-schema.ts'

/**
 * Roles mapped to the user's values, each once; the default roles if no value is mapped.
 * `comparable` normalises values before comparison.
 */
export function rolesOf(
  { map, default: byDefault }: RoleSettings,
  values: readonly string[],
  comparable: (value: string) => string = (value) => value,
): string[] {
  const present = new Set(values.map(comparable))
  const matching = map.filter(({ value }) => present.has(comparable(value)))
  const roles = new Set(matching.flatMap((each) => each.roles))
  return roles.size > 0 ? [...roles] : [...byDefault]
}

/** Roles of users of a directory: by what it says of them. */
import type { RoleSettings } from '../../../catalog/settings/auth-settings.ts'

/**
 * Roles for the values of a user, each once; those of nobody in particular where no value has one.
 * `comparable`: two texts are the same value if it makes the same of them.
 */
export function rolesOf(
  { map, default: byDefault }: RoleSettings,
  values: readonly string[],
  comparable: (value: string) => string = (value) => value,
): string[] {
  const held = new Set(values.map(comparable))
  const given = map.filter(({ value }) => held.has(comparable(value)))
  const roles = new Set(given.flatMap((each) => each.roles))
  return roles.size > 0 ? [...roles] : [...byDefault]
}

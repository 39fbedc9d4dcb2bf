/** Names of usage types, tariff categories and request fields in configured rules. */
import { FieldError } from '../domain/fields.ts'

const NAME = /^[A-Za-z0-9_-]+$/

/** Checks the name of a usage type or tariff category. */
export function checkName(name: string, path: string): void {
  if (!NAME.test(name)) throw new FieldError(path, 'must be letters, digits, _ and - only')
}

/**
 * The name of a field in the request, without the prefixes `uf.` and `cf.`, which only state where
 * it was stored.
 */
export function requestField(name: string): string {
  return /^(?:uf|cf)\./.test(name) ? name.slice(3) : name
}

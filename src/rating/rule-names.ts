/** Names of usage types, tariff categories and request fields in configured rules. */
import { FieldError } from '../domain/fields.ts'

const NAME = /^[A-Za-z0-9_-]+$/

/** Name of a usage type or tariff category. */
export function checkName(name: string, path: string): void {
  if (!NAME.test(name)) throw new FieldError(path, 'must be letters, digits, _ and - only')
}

/** The request's own name of a field: what follows `uf.` or `cf.`, which say where it was kept. */
export function requestField(name: string): string {
  return /^(?:uf|cf)\./.test(name) ? name.slice(3) : name
}

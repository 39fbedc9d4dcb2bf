/** What is not charged, or not taxed (`filters`, spec/realtime.md 1.8). */
import { arrayAt, FieldError, isUnset, objectAt, oneOfAt } from '../domain/fields.ts'
import { compileConditions } from './conditions.ts'
import { pathAt, type Scope } from './paths.ts'

/** What is known of a service before its volumes are read. */
export interface ServiceScope extends Scope {
  usaget: string
  /** Such as `start_request`. */
  recordType: string
}

/** `skip`: it gets what it asks for, and nothing is charged. */
export type FilterEffect = 'none' | 'skip' | 'untaxed'

const CALCULATORS = ['all', 'customer', 'rate', 'pricing', 'tax', 'unify'] as const
/** Without one of these there is nothing to charge. */
const CHARGING: readonly string[] = ['all', 'customer', 'rate', 'pricing']

type Filter = (scope: ServiceScope) => FilterEffect | null

/** The effect of the first filter whose conditions hold. Throws `FieldError`. */
export function compileFilters(
  document: unknown,
  path: string,
): (scope: ServiceScope) => FilterEffect {
  const filters = isUnset(document)
    ? []
    : arrayAt(document, path).map((filter, index) => compileFilter(filter, `${path}.${index}`))
  if (filters.length === 0) return () => 'none'
  return (scope) => {
    for (const filter of filters) {
      const effect = filter(scope)
      if (effect !== null) return effect
    }
    return 'none'
  }
}

function compileFilter(document: unknown, path: string): Filter {
  const filter = objectAt(document, path, ['conditions', 'skip_calc'])
  const holds = compileConditions(filter['conditions'], `${path}.conditions`, readerOf)
  const effect = effectAt(filter['skip_calc'], `${path}.skip_calc`)
  return (scope) => (holds(scope) ? effect : null)
}

function readerOf(name: string, path: string): (scope: ServiceScope) => unknown {
  if (name === 'usaget') return ({ usaget }) => usaget
  if (name === 'record_type') return ({ recordType }) => recordType
  return pathAt(name, path).read
}

function effectAt(value: unknown, path: string): FilterEffect {
  const list = arrayAt(value, path)
  if (list.length === 0) throw new FieldError(path, 'must name at least one calculator')
  const names = list.map((name, index) => oneOfAt(name, `${path}.${index}`, CALCULATORS))
  if (names.some((name) => CHARGING.includes(name))) return 'skip'
  return names.includes('tax') ? 'untaxed' : 'none'
}

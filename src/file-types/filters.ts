/** Filters exclude services from charging or taxation (`filters`). */
import { arrayAt, FieldError, isUnset, objectAt, oneOfAt } from '../domain/fields.ts'
import { compileConditions } from './conditions.ts'
import { pathAt, type Scope } from './paths.ts'

/** Values that filter conditions can use, known before volumes are read. */
export interface ServiceScope extends Scope {
  usaget: string
  /** Such as `start_request`. */
  recordType: string
}

/** `skip`: grants the requested units without charging. */
export type FilterEffect = 'none' | 'skip' | 'untaxed'

const CALCULATORS = ['all', 'customer', 'rate', 'pricing', 'tax', 'unify'] as const
/** Skipping one of these means that nothing is charged. */
const CHARGING: readonly string[] = ['all', 'customer', 'rate', 'pricing']

type Filter = (scope: ServiceScope) => FilterEffect | null

/** Returns the effect of the first matching filter. Throws `FieldError`. */
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

/** Conditions of overrides on facts of an entity (interface.md 2.3, entity-api.md 4.7). */
import { type Condition, type Facts, isPattern } from '../domain/catalogue.ts'

/** All of them hold; a fact that is missing is equal to nothing. */
export function meets(conditions: readonly Condition[], facts: Facts): boolean {
  return conditions.every(({ field, op, value }) => holds(op, facts[field], value))
}

function holds(op: Condition['op'], fact: Facts[string] | undefined, value: unknown): boolean {
  switch (op) {
    case 'eq':
      return isSame(fact, value)
    case 'ne':
      return !isSame(fact, value)
    case 'in':
      return listOf(value).some((entry) => isSame(fact, entry))
    case 'nin':
      return !listOf(value).some((entry) => isSame(fact, entry))
    case 'exists':
      return (fact !== undefined) === (value !== false)
    case 'regex':
      return isPattern(value) && fact !== undefined && value.test(String(fact))
    default:
      return fact !== undefined && compares(op, order(fact, value))
  }
}

function compares(op: Condition['op'], order: number): boolean {
  if (op === 'lt') return order < 0
  if (op === 'lte') return order <= 0
  if (op === 'gt') return order > 0
  return order >= 0
}

/** Numbers as numbers, everything else as text. NaN compares with nothing. */
function order(fact: Facts[string], value: unknown): number {
  const [one, other] = [Number(fact), Number(value)]
  if (!Number.isNaN(one) && !Number.isNaN(other)) return one - other
  const [a, b] = [String(fact), String(value)]
  return a < b ? -1 : a > b ? 1 : 0
}

function isSame(fact: Facts[string] | undefined, value: unknown): boolean {
  return fact !== undefined && String(fact) === String(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

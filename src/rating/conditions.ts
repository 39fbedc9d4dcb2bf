/** Conditions of overrides and discounts on facts of an entity. */
import { type Condition, type Facts, isPattern } from '../domain/catalogue.ts'

/** Whether all conditions are met. A missing fact equals nothing. */
export function meets(conditions: readonly Condition[], facts: Facts): boolean {
  return conditions.every(({ field, op, value }) => holds(op, facts[field], value))
}

export function holds(
  op: Condition['op'],
  fact: Facts[string] | undefined,
  value: unknown,
): boolean {
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

/** Compares numbers as numbers and everything else as text. */
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

/** `rounding_rules` of a rate, plan or service. */
import type { RoundingRules } from '../../domain/catalogue.ts'
import { readAll } from '../../domain/field-errors.ts'
import { choiceAt, FieldError, isEmpty, isUnset, objectAt, wholeAt } from '../../domain/fields.ts'
import { MICROS_DIGITS } from '../../domain/money.ts'

const DECIMALS_MAX = 10

/** Null if nothing is rounded. */
export function roundingAt(value: unknown, path: string): RoundingRules | null {
  if (isEmpty(value)) return null
  const rules = objectAt(value, path)
  const { type, stage } = readAll({
    type: () => choiceAt(rules['rounding_type'], `${path}.rounding_type`, TYPES),
    stage: () => choiceAt(rules['rounding_stage'], `${path}.rounding_stage`, STAGES),
  })
  if (type === 'None' || stage === 'None') return null
  const at = `${path}.rounding_decimals`
  const given = rules['rounding_decimals']
  const decimals = isUnset(given) ? 2 : wholeAt(given, at, 0)
  if (decimals > DECIMALS_MAX) {
    throw new FieldError(at, `must be an integer from 0 to ${DECIMALS_MAX}`)
  }
  return { mode: type, decimals, stage }
}

/**
 * Rounding rules of a rate. Before-tax amounts are paid from balances, which count micros: a finer
 * rounding would have no effect.
 */
export function usageRoundingAt(value: unknown, path: string): RoundingRules | null {
  const rules = roundingAt(value, path)
  if (rules === null || rules.stage === 'after_tax' || rules.decimals <= MICROS_DIGITS) return rules
  throw new FieldError(
    `${path}.rounding_decimals`,
    `must be at most ${MICROS_DIGITS} with before_tax, is ${rules.decimals}: balances pay ` +
      'millionths; use after_tax for the final charge',
  )
}

const TYPES = ['None', 'up', 'down', 'nearest'] as const
const STAGES = ['after_tax', 'before_tax', 'None'] as const

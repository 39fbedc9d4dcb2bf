/** Rules for conditional charges and discounts. */
import { type Fields, isUnset, wholeAt } from '../../../domain/fields.ts'
import { DISPLAY, EntityRuleError } from '../errors.ts'
import type { CollectionRules } from './rule.ts'
import { asRule, fieldsOf, isChanged, isFraction } from './values.ts'

/** Type of the subject's values if the document has none. */
type ValueType = 'monetary' | 'percentage'

export const CHARGE_RULES: CollectionRules = chargeRules('monetary')

export function chargeRules(usualType: ValueType): CollectionRules {
  return {
    async check(document, stored) {
      if (isChanged(document, stored, 'simultaneous_limit')) checkSimultaneous(document)
      if (isChanged(document, stored, 'params')) checkConditions(document)
      if (isChanged(document, stored, 'subject', 'type')) checkFractions(document, usualType)
    },
  }
}

function checkSimultaneous({ simultaneous_limit: limit }: Fields): void {
  if (isUnset(limit)) return
  asRule(() => wholeAt(limit, 'simultaneous_limit', -1), DISPLAY.request)
}

const OPERATORS: readonly unknown[] = [
  'eq',
  'ne',
  'in',
  'nin',
  'lt',
  'lte',
  'gt',
  'gte',
  'regex',
  'is',
  'exists',
]
/** Fields with which `cycles` can be counted. */
const PLAN_FIELDS: ReadonlySet<unknown> = new Set(['plan', 'plan_activation', 'plan_deactivation'])

/** Validates the conditions, and that cycles can be counted if they are limited. */
function checkConditions(document: Fields): void {
  const { cycles, conditions } = fieldsOf(document['params'])
  const all = conditionsIn(conditions, 'params.conditions')
  for (const { condition, path } of all) checkCondition(condition, path)
  if (isUnset(cycles) || all.some(isOnPlanOrService)) return
  throw new EntityRuleError(
    'params.cycles needs a condition on the plan of the subscriber (plan, plan_activation or ' +
      'plan_deactivation) or on a service: there is nothing to count cycles from',
    DISPLAY.request,
  )
}

interface LocatedCondition {
  condition: Fields
  path: string
}

/** Members of all lists `fields`, at any depth. */
function conditionsIn(value: unknown, path: string): LocatedCondition[] {
  return Object.entries(fieldsOf(value)).flatMap(([name, part]) => {
    const at = `${path}.${name}`
    if (name !== 'fields' || !Array.isArray(part)) return conditionsIn(part, at)
    return part.map((condition, index) => {
      return { condition: fieldsOf(condition), path: `${at}.${index}` }
    })
  })
}

function checkCondition({ field, op, value }: Fields, path: string): void {
  if (typeof field !== 'string' || field === '') {
    throw new EntityRuleError(`${path}.field must be the name of a field`, DISPLAY.request)
  }
  if (!OPERATORS.includes(op)) {
    throw new EntityRuleError(`${path}.op must be one of ${OPERATORS.join(', ')}`, DISPLAY.request)
  }
  if (value === undefined && op !== 'exists') {
    throw new EntityRuleError(`${path}.value is missing`, DISPLAY.request)
  }
  if ((op === 'in' || op === 'nin') && !Array.isArray(value)) {
    throw new EntityRuleError(`${path}.value must be a list`, DISPLAY.request)
  }
}

function isOnPlanOrService({ condition, path }: LocatedCondition): boolean {
  const parts = path.split('.')
  if (parts.includes('service')) return true
  return parts.includes('subscriber') && PLAN_FIELDS.has(condition['field'])
}

/** Each subject has a `value`, or is an object of named subjects. */
function checkFractions({ type, subject }: Fields, usualType: ValueType): void {
  if ((isUnset(type) ? usualType : type) !== 'percentage') return
  for (const [kind, one] of Object.entries(fieldsOf(subject))) {
    const parts = Object.hasOwn(fieldsOf(one), 'value')
      ? [[kind, one] as const]
      : Object.entries(fieldsOf(one)).map(([name, part]) => [`${kind}.${name}`, part] as const)
    for (const [path, part] of parts) {
      if (isFraction(fieldsOf(part)['value'])) continue
      const text = `subject.${path}.value must be a fraction from 0 to 1: 0.1 is 10 %`
      throw new EntityRuleError(text, DISPLAY.request)
    }
  }
}

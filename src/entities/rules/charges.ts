/** Rules for conditional charges and discounts. */

import type { FieldIssue, IssueCode } from '../../domain/field-errors.ts'
import { type Fields, isUnset, wholeAt } from '../../domain/fields.ts'
import { DISPLAY, fieldRule, throwRules } from '../../requests/errors.ts'
import { checkAll } from '../trial.ts'
import type { CollectionRules } from './rule.ts'
import { asRule, fieldsOf, isChanged, isFraction } from './values.ts'

/** Type of the subject's values if the document has none. */
type ValueType = 'monetary' | 'percentage'

export const CHARGE_RULES: CollectionRules = chargeRules('monetary')
export const DISCOUNT_RULES: CollectionRules = chargeRules('percentage')

function chargeRules(usualType: ValueType): CollectionRules {
  return {
    async check(document, stored) {
      const isNew = (...names: string[]) => isChanged(document, stored, ...names)
      await checkAll([
        () => isNew('simultaneous_limit') && checkSimultaneous(document),
        () => isNew('params') && checkConditions(document),
        () => isNew('subject', 'type') && checkFractions(document, usualType),
      ])
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
  throwRules(all.flatMap(conditionIssues), DISPLAY.request)
  if (isUnset(cycles) || all.some(isOnPlanOrService)) return
  throw fieldRule(
    'params.cycles',
    'needs a condition on the plan of the subscriber (plan, plan_activation or ' +
      'plan_deactivation) or on a service: there is nothing to count cycles from',
    'invalid',
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

function conditionIssues({ condition, path }: LocatedCondition): FieldIssue[] {
  const { field, op, value } = condition
  const issues: FieldIssue[] = []
  const refuse = (name: string, reason: string, code: IssueCode = 'invalid') =>
    issues.push({ path: `${path}.${name}`, reason, code })
  if (typeof field !== 'string' || field === '') refuse('field', 'must be the name of a field')
  if (!OPERATORS.includes(op)) refuse('op', `must be one of ${OPERATORS.join(', ')}`)
  const isList = op === 'in' || op === 'nin'
  if (value === undefined && op !== 'exists') refuse('value', 'is missing', 'missing')
  else if (isList && !Array.isArray(value)) refuse('value', 'must be a list')
  return issues
}

function isOnPlanOrService({ condition, path }: LocatedCondition): boolean {
  const parts = path.split('.')
  if (parts.includes('service')) return true
  return parts.includes('subscriber') && PLAN_FIELDS.has(condition['field'])
}

/** Each subject has a `value`, or is an object of named subjects. */
function checkFractions({ type, subject }: Fields, usualType: ValueType): void {
  if ((isUnset(type) ? usualType : type) !== 'percentage') return
  const refused: string[] = []
  for (const [kind, one] of Object.entries(fieldsOf(subject))) {
    const parts = Object.hasOwn(fieldsOf(one), 'value')
      ? [[kind, one] as const]
      : Object.entries(fieldsOf(one)).map(([name, part]) => [`${kind}.${name}`, part] as const)
    const others = parts.filter(([, part]) => !isFraction(fieldsOf(part)['value']))
    refused.push(...others.map(([path]) => `subject.${path}.value`))
  }
  const reason = 'must be a fraction from 0 to 1: 0.1 is 10 %'
  throwRules(
    refused.map((path) => ({ path, reason })),
    DISPLAY.request,
  )
}

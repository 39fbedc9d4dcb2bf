/** Rules for services. */

import type { RawDocument } from '../../catalog/compile/document.ts'
import { validDuring } from '../../catalog/revisions/validity.ts'
import { missing } from '../../domain/field-errors.ts'
import { decimalOf, type Fields, isUnset } from '../../domain/fields.ts'
import { DISPLAY, fieldRule, throwRules } from '../../requests/errors.ts'
import { checkAll } from '../trial.ts'
import { describeHolders, findAll, refuseIfUsed } from './lookups.ts'
import { checkRecurrence, checkRounding, isSent, withRequestedChanges } from './recurring.ts'
import type { CollectionRules } from './rule.ts'
import { compareDecimals, fieldsOf, isChanged, isPositive, listOf } from './values.ts'

export const SERVICE_RULES: CollectionRules = {
  async prepare(changes, target) {
    if (target === null || isSent(changes, 'recurrence')) {
      checkRecurrence(withRequestedChanges(target, changes), DISPLAY.request)
    }
    return changes
  },

  async check(document, stored) {
    const isPriced = isChanged(document, stored, 'price', 'limit_cycles')
    await checkAll([
      () => isPriced && checkPrice(document),
      () => isPriced && checkLimit(document),
      () => checkRounding(document, stored),
    ])
  },

  async checkUnused(document, context) {
    const { name } = document
    const what = `service ${name}`
    refuseIfUsed(
      what,
      await describeHolders(context, { ...validDuring(document), ...serviceHeldDuring(document) }),
    )
    const included = { $or: [{ 'include.services': name }, { 'include.services.name': name }] }
    const filter = { ...included, ...validDuring(document) }
    const [plan] = await findAll(context, 'plans', filter, { fields: ['name'], max: 1 })
    refuseIfUsed(what, plan === undefined ? null : `plan ${plan['name']}`)
  },
}

/** Filter for holders with an entry of the service that overlaps the revision. */
function serviceHeldDuring({ name, from, to }: RawDocument): Fields {
  const overlapping = { name, from: { $not: { $gte: to } }, to: { $not: { $lte: from } } }
  return { $or: [{ services: name }, { services: { $elemMatch: overlapping } }] }
}

function checkPrice({ price }: RawDocument): void {
  if (isUnset(price)) return
  if (!Array.isArray(price)) {
    throw fieldRule('price', 'must be a list', 'invalid', DISPLAY.request)
  }
  const issues = price.map(fieldsOf).flatMap((entry, index) =>
    PRICE_FIELDS.flatMap((name) => {
      const value = entry[name]
      const path = `price.${index}.${name}`
      if (isUnset(value)) return missing([path])
      if (name === 'to' && value === 'UNLIMITED') return []
      return decimalOf(value) === null ? [{ path, reason: 'must be a number or decimal text' }] : []
    }),
  )
  throwRules(issues, DISPLAY.request)
}

const PRICE_FIELDS = ['from', 'to', 'price'] as const

function checkLimit({ limit_cycles: limit, price }: RawDocument): void {
  if (isUnset(limit)) return
  const cycles = decimalOf(limit)
  if (cycles === null || !isPositive(limit)) {
    throw fieldRule('limit_cycles', 'must be a number above 0', 'invalid', DISPLAY.request)
  }
  const ends = listOf(price).map((entry) => fieldsOf(entry)['to'])
  const highest = ends.includes('UNLIMITED') ? null : highestOf(ends)
  if (highest !== null && compareDecimals(cycles, highest) === 0) return
  const reason = `must be the highest to of price, is ${limit}`
  throw fieldRule('limit_cycles', reason, 'invalid', DISPLAY.request)
}

function highestOf(ends: readonly unknown[]) {
  const numbers = ends.map(decimalOf).filter((end) => end !== null)
  return numbers.reduce<ReturnType<typeof decimalOf>>(
    (highest, end) => (highest === null || compareDecimals(end, highest) > 0 ? end : highest),
    null,
  )
}

/** Rules for plans. */
import { validDuring } from '../../catalog/revisions/validity.ts'
import { DISPLAY } from '../../requests/errors.ts'
import { describeHolders, refuseIfUsed } from './lookups.ts'
import { checkRecurrence, checkRounding, isSent, withRequestedChanges } from './recurring.ts'
import type { CollectionRules } from './rule.ts'

export const PLAN_RULES: CollectionRules = {
  /** Only postpaid plans need a recurrence. */
  async prepare(changes, target) {
    const plan = withRequestedChanges(target, changes)
    const wasPostpaid = target?.['connection_type'] === 'postpaid'
    const isChecked = target === null || !wasPostpaid || isSent(changes, 'recurrence')
    if (isChecked && plan['connection_type'] === 'postpaid') {
      checkRecurrence(plan, DISPLAY.planRecurrence)
    }
    return changes
  },

  async check(document, stored) {
    checkRounding(document, stored)
  },

  /** Subscribers that had the plan before do not count. */
  async checkUnused(document, context) {
    const { name } = document
    const filter = { type: 'subscriber', plan: name, ...validDuring(document) }
    refuseIfUsed(`plan ${name}`, await describeHolders(context, filter))
  },
}

/** Rules for rates. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { validDuring } from '../../catalog/revisions/validity.ts'
import { RETAIL } from '../../domain/catalogue.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { findFirst, refuseIfUsed } from './lookups.ts'
import { checkRounding, isSent, withRequestedChanges } from './recurring.ts'
import type { CollectionRules, RuleContext, RuleSettings } from './rule.ts'
import { rateWarnings } from './tax-warnings.ts'
import { fieldsOf, listOf } from './values.ts'

export function rateRules(settings: RuleSettings): CollectionRules {
  return {
    /** Rates of the category `retail` are always part of the retail price. */
    async prepare(changes, target) {
      const { tariff_category: category } = withRequestedChanges(target, changes)
      const isChecked =
        target === null || isSent(changes, 'tariff_category') || isSent(changes, 'add_to_retail')
      if (!isChecked || (!isUnset(category) && category !== RETAIL)) return changes
      return { ...changes, set: { ...changes.set, add_to_retail: true } }
    },

    async check(document, stored) {
      checkRounding(document, stored)
    },

    async checkUnused(document, context) {
      const what = `rate ${document['key']}`
      for (const kind of ['plan', 'service'] as const) {
        refuseIfUsed(what, await offerWith(document, kind, context))
      }
      refuseIfUsed(what, await overrideWith(document, context))
    },

    writtenWarnings: rateWarnings(settings),
  }
}

async function offerWith(
  rate: RawDocument,
  kind: 'plan' | 'service',
  context: RuleContext,
): Promise<string | null> {
  const key = String(rate['key'])
  const found = await findFirst(context, `${kind}s`, usesIn(rate, ''), {
    fields: ['name', `rates.${key}`, 'include.groups'],
    matches: (offer) => namesRate(offer, key),
  })
  return found === null ? null : `${kind} ${found['name']}`
}

async function overrideWith(rate: RawDocument, context: RuleContext): Promise<string | null> {
  const key = String(rate['key'])
  const found = await findFirst(context, 'subscribers', usesIn(rate, 'overrides.value.'), {
    fields: ['type', 'sid', 'aid', 'overrides'],
    matches: ({ overrides }) => {
      return listOf(overrides).some((one) => namesRate(fieldsOf(fieldsOf(one)['value']), key))
    },
  })
  if (found === null) return null
  const whose = found['type'] === 'account' ? `account ${found['aid']}` : `sid ${found['sid']}`
  return `the overrides of ${whose}`
}

/**
 * Filter for documents with a price of the rate or any groups; the rates of groups have to be
 * examined individually.
 */
function usesIn(rate: RawDocument, prefix: string): Fields {
  const priced = { [`${prefix}rates.${rate['key']}`]: { $exists: true } }
  const grouped = { [`${prefix}include.groups`]: { $exists: true } }
  return { $or: [priced, grouped], ...validDuring(rate) }
}

/** True if a plan, service or override refers to the rate. */
function namesRate(offer: Fields, key: string): boolean {
  if (Object.hasOwn(fieldsOf(offer['rates']), key)) return true
  const groups = Object.values(fieldsOf(fieldsOf(offer['include'])['groups']))
  return groups.some((group) => listOf(fieldsOf(group)['rates']).includes(key))
}

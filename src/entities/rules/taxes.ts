/** Rules for taxes. */
import { validDuring } from '../../catalog/revisions/validity.ts'
import { storedDefaultTax } from '../../catalog/settings/money/taxation-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { isUnset, FieldError as StoredRuleError } from '../../domain/fields.ts'
import { EntityRuleError, throwRules } from '../../requests/errors.ts'
import { toOf } from '../timeline/draft.ts'
import { findAll, refuseIfUsed } from './lookups.ts'
import type { CollectionRules, RuleContext, RuleSettings } from './rule.ts'
import { taxWarnings } from './tax-warnings.ts'
import { isChanged, isFraction } from './values.ts'

export function taxRules(settings: RuleSettings): CollectionRules {
  // Unless the stored configuration has another one.
  const { defaultTax } = settings.config.rating
  return {
    async check(document, stored) {
      const { rate, description } = document
      const isRateRefused = isChanged(document, stored, 'rate') && !isFraction(rate)
      const isText = typeof description === 'string' && description !== ''
      const isTextRefused = isChanged(document, stored, 'description') && !isText
      throwRules([
        ...(isRateRefused ? [RATE_ISSUE] : []),
        ...(isTextRefused ? [DESCRIPTION_ISSUE] : []),
      ])
    },

    async checkUnused(document, context) {
      const { key } = document
      const what = `tax ${key}`
      const isDefault = key === ((await readDefaultTax(context)) ?? defaultTax)
      const isStillDefault = isDefault && toOf(document) > context.nowMs
      refuseIfUsed(what, isStillDefault ? 'all that have no tax of their own' : null)
      const custom = { tax: { $elemMatch: { taxation: 'custom', custom_tax: key } } }
      for (const kind of ['rate', 'plan', 'service'] as const) {
        const filter = { ...custom, ...validDuring(document) }
        const options = { fields: ['key', 'name'], max: 1 }
        const [user] = await findAll(context, `${kind}s`, filter, options)
        refuseIfUsed(what, user === undefined ? null : `${kind} ${nameOf(user)}`)
      }
    },

    writtenWarnings: taxWarnings(settings),
  }
}

const RATE_ISSUE = { path: 'rate', reason: 'must be a fraction from 0 to 1: 0.17 is 17 %' }
const DESCRIPTION_ISSUE = { path: 'description', reason: 'must be a text that is not empty' }

/** The stored default tax; null if it is not configured. */
async function readDefaultTax({ catalog }: RuleContext): Promise<string | null> {
  const { value } = await readCategory(catalog, 'taxation')
  return asRatingRule(() => storedDefaultTax(value))
}

function asRatingRule<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof StoredRuleError)
      throw new EntityRuleError(`stored: ${error.message}`, 'refused')
    throw error
  }
}

function nameOf({ key, name }: Readonly<Record<string, unknown>>): string {
  return String(isUnset(key) ? name : key)
}

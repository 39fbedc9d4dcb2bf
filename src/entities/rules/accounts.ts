/** Rules for accounts. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { validDuring } from '../../catalog/revisions/validity.ts'
import { arrayAt, isEmpty, objectAt, wholeAt } from '../../domain/fields.ts'
import { fieldRule } from '../../requests/errors.ts'
import { deriveAccount } from '../timeline/subscriber-dates.ts'
import { checkAll } from '../trial.ts'
import { sealCards } from './card-secrets.ts'
import { describeHolders, findAll, refuseIfUsed } from './lookups.ts'
import { checkOverrides } from './overrides.ts'
import type { CollectionRules, RuleContext, RuleSettings } from './rule.ts'
import { prepareServices } from './service-entries.ts'
import { asRule, fieldsOf, isChanged, isPositive, listOf } from './values.ts'

export function accountRules({ sealer }: RuleSettings): CollectionRules {
  return {
    prepare: (changes, target, context) => prepareServices(changes, target, context, 'account'),

    async check(document, stored, context) {
      const isAllowed = isChanged(document, stored, 'allowances')
      await checkAll([
        () => asRule(() => wholeAt(document['aid'], 'aid', 1)),
        () => checkOverrides(document, stored),
        () => isAllowed && checkAllowances(document, context),
      ])
    },

    async checkUnused(document, context) {
      const { aid } = document
      const filter = { type: 'subscriber', aid, ...validDuring(document) }
      refuseIfUsed(`account ${aid}`, await describeHolders(context, filter))
    },

    // Existing clients close an account before its last subscribers.
    endsWhileUsed: true,
    derive: deriveAccount,
    seal: (draft) => sealCards(draft, sealer),
  }
}

/** Allowances: money off the invoice for subscribers, who may belong to other accounts. */
async function checkAllowances(document: RawDocument, context: RuleContext): Promise<void> {
  const { allowances, aid } = document
  if (isEmpty(allowances)) return
  const sids = new Set<number>()
  const entries = asRule(() => arrayAt(allowances, 'allowances'))
  const checks = entries.map((entry, index) => () => {
    const path = `allowances.${index}`
    const allowance = asRule(() => objectAt(entry, path))
    const sid = asRule(() => wholeAt(allowance['sid'], `${path}.sid`, 1))
    if (!isPositive(allowance['allowance'])) {
      throw fieldRule(`${path}.allowance`, `of sid ${sid} must be a number above 0`)
    }
    if (sids.has(sid)) throw fieldRule(`${path}.sid`, `occurs twice: ${sid}`)
    sids.add(sid)
  })
  await checkAll(checks)
  const sidForms = [...sids].flatMap((sid) => [sid, String(sid)])
  const others = { type: 'account', aid: { $ne: aid }, 'allowances.sid': { $in: sidForms } }
  const options = { fields: ['aid', 'allowances'], max: 1 }
  const filter = { ...others, ...validDuring(document) }
  const [conflict] = await findAll(context, 'subscribers', filter, options)
  if (conflict === undefined) return
  const otherSids = listOf(conflict['allowances']).map((entry) => Number(fieldsOf(entry)['sid']))
  const both = otherSids.filter((sid) => sids.has(sid))
  throw fieldRule(
    'allowances:',
    `sid ${both.join(', ')} has one of account ${conflict['aid']} already`,
  )
}

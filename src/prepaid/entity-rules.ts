/** Rules for prepaid includes, prepaid groups and auto-renewals. */
import type { RawDocument } from '../catalog/compile/document.ts'
import { USABLE_CARDS } from '../catalog/records/card.ts'
import { NOT_DELETED, validDuring } from '../catalog/revisions/validity.ts'
import { type Fields, isUnset } from '../domain/fields.ts'
import { exists, findAll, refuseIfUsed } from '../entities/rules/lookups.ts'
import type { CollectionRules, RuleContext } from '../entities/rules/rule.ts'
import { fieldsOf, isChanged, listOf } from '../entities/rules/values.ts'
import { checkAll } from '../entities/trial.ts'
import { fieldRule } from '../requests/errors.ts'
import { AUTORENEW_RULES } from './autorenew/rules.ts'

const PREPAID_INCLUDE_RULES: CollectionRules = {
  /** Buckets refer to the prepaid include by this number. */
  async prepare(changes, target) {
    const { external_id: externalId } = changes.set
    if (target === null || externalId === undefined || externalId === target['external_id'])
      return changes
    throw fieldRule(
      'external_id',
      `never changes: it is ${target['external_id']}, not ${externalId}`,
    )
  },

  async checkUnused(document, context) {
    const what = `prepaid include ${document['name']}`
    const balances = await findAll(context, 'balances', liveBalances(document, context), {
      fields: ['aid', 'sid'],
      max: 1,
    })
    const [balance] = balances
    refuseIfUsed(what, balance === undefined ? null : `balances of ${ownerText(balance)}`)
    const { external_id: id, name } = document
    const named = [{ 'include.pp_includes_external_id': id }, { 'include.pp_includes_name': name }]
    const filter = { $or: named, ...validDuring(document) }
    const [group] = await findAll(context, 'prepaidgroups', filter, { fields: ['name'], max: 1 })
    refuseIfUsed(what, group === undefined ? null : `prepaid group ${group['name']}`)
  },
}

/**
 * Filter for available credit, and for credit that sessions have reserved, even if its bucket has
 * ended.
 */
function liveBalances({ external_id: id, from, to }: RawDocument, { nowMs }: RuleContext): Fields {
  return {
    pp_includes_external_id: id,
    from: { $lt: to },
    to: { $gt: from },
    $or: [{ free: { $ne: 0 }, to: { $gt: new Date(nowMs) } }, { reserved: { $ne: 0 } }],
  }
}

/** Shared balances have no subscriber. */
function ownerText({ aid, sid }: Fields): string {
  return sid === 0 ? `account ${aid}` : `sid ${sid}`
}

const PREPAID_GROUP_RULES: CollectionRules = {
  async check(document, stored, context) {
    if (isChanged(document, stored, 'include')) await checkIncludes(document, context)
  },

  async checkUnused(document, context) {
    const { name, from } = document
    const what = `prepaid group ${name}`
    const renewed = { bucket_group: name, cycles_remaining: { $ne: 0 }, ...validDuring(document) }
    const options = { fields: ['sid'], max: 1 }
    const [renewal] = await findAll(context, 'autorenew', renewed, options)
    refuseIfUsed(what, renewal === undefined ? null : `renewals of sid ${renewal['sid']}`)
    const cards = { charging_plan_name: name, status: { $in: USABLE_CARDS }, to: { $gt: from } }
    refuseIfUsed(what, (await exists(context, 'cards', cards)) ? 'cards that are not used' : null)
  },
}

/** By collection name in the API. */
export const PREPAID_RULES: Readonly<Record<string, CollectionRules>> = {
  prepaidincludes: PREPAID_INCLUDE_RULES,
  prepaidgroups: PREPAID_GROUP_RULES,
  autorenew: AUTORENEW_RULES,
}

/**
 * Each entry must refer to an existing prepaid include; the rest is validated when the document is
 * compiled.
 */
async function checkIncludes(document: RawDocument, context: RuleContext): Promise<void> {
  const entries = listOf(document['include']).map(fieldsOf)
  const ids = entries.map(idOf).filter((id) => id !== null)
  const names = entries.map(nameOf).filter((name) => name !== null)
  const named = [{ external_id: { $in: ids } }, { name: { $in: names } }]
  const filter = { $or: named, ...NOT_DELETED }
  const options = { fields: ['name', 'external_id'] }
  const found =
    entries.length === 0 ? [] : await findAll(context, 'prepaidincludes', filter, options)
  await checkAll(
    entries.map((entry, index) => () => {
      const [id, name] = [idOf(entry), nameOf(entry)]
      const isFound = found.some(
        (one) =>
          (id === null || one['external_id'] === id) && (name === null || one['name'] === name),
      )
      if (isFound && (id !== null || name !== null)) return
      const reference = [name, id].filter((part) => part !== null).join(' with external_id ')
      const path = `include.${index}`
      throw fieldRule(`${path}:`, `there is no prepaid include ${reference}`.trimEnd())
    }),
  )
}

function idOf({ pp_includes_external_id: id }: Fields): number | null {
  return isUnset(id) ? null : Number(id)
}

function nameOf({ pp_includes_name: name }: Fields): string | null {
  return isUnset(name) ? null : String(name)
}

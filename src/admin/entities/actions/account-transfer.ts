/** A subscriber that moves to another account takes its balances with it. */

import { randomUUID } from 'node:crypto'
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { EntityRuleError } from '../errors.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import type { RuleContext } from '../rules/rule.ts'
import { type Draft, toOf } from '../timeline/draft.ts'

/**
 * What has to follow from a change in the ledger, as a value that the change is noted with;
 * undefined for nothing. Throws `EntityRuleError` where the account would change later than now: balances
 * move at once, or they would be where the subscriber is not.
 */
export async function planAccountTransfer(
  { planTransfer }: EntityStores,
  { name }: CollectionDefinition,
  draft: Draft,
  { nowMs }: RuleContext,
): Promise<unknown> {
  if (name !== 'subscribers') return undefined
  const fromAid = accountHoldingBalances(draft.before(), nowMs)
  const toAid = accountHoldingBalances(draft.revisions(), nowMs)
  const later = draft.revisions().filter((revision) => toOf(revision) > nowMs)
  if (later.some(({ aid }) => aid !== toAid)) {
    throw new EntityRuleError(
      'aid can only change from now on: balances move with the subscriber at once',
    )
  }
  if (fromAid === null || toAid === null || fromAid === toAid) return undefined
  const sid = Number(draft.revisions()[0]?.['sid'])
  return planTransfer({ sid, fromAid, toAid, operationId: randomUUID() })
}

/**
 * The account in which the balances are: of the revision that holds or comes next, else the last.
 */
function accountHoldingBalances(revisions: readonly Fields[], nowMs: number): number | null {
  const ordered = [...revisions].sort((a, b) => toOf(a) - toOf(b))
  const place = ordered.find((revision) => toOf(revision) > nowMs) ?? ordered.at(-1)
  return place === undefined ? null : Number(place['aid'])
}

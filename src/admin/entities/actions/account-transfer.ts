/** Transfer of the balances of a subscriber that moves to another account. */

import { randomUUID } from 'node:crypto'
import type { Fields } from '../../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { EntityRuleError } from '../errors.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import type { RuleContext } from '../rules/rule.ts'
import { type Draft, toOf } from '../timeline/draft.ts'

/**
 * Plans the transfer on the ledger, as the payload of the outbox entry that is stored with the
 * change; undefined if there is nothing to transfer. Throws `EntityRuleError` if the account would
 * change later than now: balances move immediately and would then be in the wrong account.
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
 * The account that holds the balances: of the current or next revision, otherwise of the last one.
 */
function accountHoldingBalances(revisions: readonly Fields[], nowMs: number): number | null {
  const ordered = [...revisions].sort((a, b) => toOf(a) - toOf(b))
  const place = ordered.find((revision) => toOf(revision) > nowMs) ?? ordered.at(-1)
  return place === undefined ? null : Number(place['aid'])
}

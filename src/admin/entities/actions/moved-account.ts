/** A subscriber that moves to another account takes its balances with it. */
import { randomUUID } from 'node:crypto'
import type { CollectionDefinition } from '../definition.ts'
import type { EntityStores } from '../entity-request.ts'
import { RuleError } from '../errors.ts'
import type { RuleContext } from '../rules/rule.ts'
import { type Draft, type Fields, fromOf, toOf } from '../timeline/draft.ts'

/**
 * What has to follow from a change in the ledger, as a value that the change is noted with;
 * undefined for nothing. Throws `RuleError` where the move would lie in the future.
 */
export async function sequelOf(
  { planTransfer }: EntityStores,
  { name }: CollectionDefinition,
  draft: Draft,
  { nowMs }: RuleContext,
): Promise<unknown> {
  if (name !== 'subscribers') return undefined
  const wasAid = aidAt(draft.before(), nowMs)
  const isAid = aidAt(draft.revisions(), nowMs)
  const aids = (revisions: readonly Fields[]) => new Set(revisions.map(({ aid }) => aid))
  const isMoved = wasAid !== null && isAid !== null && wasAid !== isAid
  if (!isMoved) {
    const known = aids(draft.before())
    if ([...aids(draft.revisions())].every((aid) => known.has(aid))) return undefined
    throw new RuleError(
      'aid can only change from now on: balances move with the subscriber at once',
    )
  }
  const sid = Number(draft.revisions()[0]?.['sid'])
  return planTransfer({ sid, fromAid: wasAid, toAid: isAid, operationId: randomUUID() })
}

function aidAt(revisions: readonly Fields[], atMs: number): number | null {
  const held = revisions.find((one) => fromOf(one) <= atMs && atMs < toOf(one))
  return held === undefined ? null : Number(held['aid'])
}

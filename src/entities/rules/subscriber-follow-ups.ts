/** Follow-up operations of changes of subscribers: on the ledger and on bills. */
import { randomUUID } from 'node:crypto'
import { plainActor } from '../../catalog/actor.ts'
import type { Fields } from '../../domain/fields.ts'
import { fieldRule } from '../../requests/errors.ts'
import { balancesOf, type FollowUp } from '../follow-ups.ts'
import { type Draft, toOf } from '../timeline/draft.ts'
import type { RuleContext, RuleSettings } from './rule.ts'

/**
 * The transfer of the balances that belongs to the change; undefined if there is nothing to
 * transfer. Throws `EntityRuleError` if the account would change later than now: balances move
 * immediately and would then be in the wrong account.
 */
export function accountTransfer(draft: Draft, { nowMs }: RuleContext): FollowUp | undefined {
  const fromAid = accountHoldingBalances(draft.before(), nowMs)
  const toAid = accountHoldingBalances(draft.revisions(), nowMs)
  const later = draft.revisions().filter((revision) => toOf(revision) > nowMs)
  if (later.some(({ aid }) => aid !== toAid)) {
    throw fieldRule(
      'aid',
      'can only change with immediate effect, because the balances move with the subscriber',
    )
  }
  if (fromAid === null || toAid === null || fromAid === toAid) return undefined
  const sid = Number(draft.revisions()[0]?.['sid'])
  const payload = { sid, fromAid, toAid, operationId: randomUUID(), buckets: null }
  return { kind: 'transfer', payload, subject: balancesOf(sid) }
}

/** Installments become due when a subscriber is closed with immediate effect, if configured. */
export function earlyPayment(
  draft: Draft,
  { actor, nowMs }: RuleContext,
  { preponeOnTermination }: RuleSettings['config']['billing'],
): FollowUp | undefined {
  if (!preponeOnTermination) return undefined
  const hadEnd = draft.before().every((revision) => toOf(revision) <= nowMs)
  const hasEnd = draft.revisions().every((revision) => toOf(revision) <= nowMs)
  const last = draft.revisions().at(-1)
  if (hadEnd || !hasEnd || last === undefined) return undefined
  const [sid, aid] = [Number(last['sid']), Number(last['aid'])]
  const payload = { actor: plainActor(actor), aid, sid }
  return { kind: 'prepone', payload, subject: `installments/${sid}` }
}

/**
 * The account that holds the balances: of the current or next revision, otherwise of the last one.
 */
function accountHoldingBalances(revisions: readonly Fields[], nowMs: number): number | null {
  const ordered = [...revisions].sort((a, b) => toOf(a) - toOf(b))
  const found = ordered.find((revision) => toOf(revision) > nowMs) ?? ordered.at(-1)
  return found === undefined ? null : Number(found['aid'])
}

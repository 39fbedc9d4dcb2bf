/** Auto-renewals with an immediate first charge. */
import { type Actor, plainActor } from '../../../catalog/actor.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { ChangeDecision } from '../../../catalog/revisions/entity-changes.ts'
import type { FollowUp } from '../../follow-ups.ts'
import { afterCharge } from '../rules/autorenew.ts'
import type { RuleContext } from '../rules/rule.ts'

/**
 * Stores the renewal in its state after the charge; the charge itself is a follow-up operation on
 * the ledger.
 */
export function withFirstCharge<T>(
  decision: ChangeDecision<T>,
  renewal: RawDocument,
  context: RuleContext,
  actor: Actor,
): ChangeDecision<T> {
  if (renewal['immediate'] !== true) return { ...decision, isNew: true }
  const sequel: FollowUp = {
    kind: 'renewal',
    renewal: {
      actor: plainActor(actor),
      sid: Number(renewal['sid']),
      aid: Number(renewal['aid']),
      group: String(renewal['bucket_group']),
      operationId: `autorenew-${renewal._id.toHexString()}-1`,
    },
  }
  const steps = decision.steps.map((step) => ({
    ...step,
    document: { ...step.document, ...afterCharge(step.document, context) },
  }))
  return { ...decision, steps, followUp: sequel, isNew: true }
}

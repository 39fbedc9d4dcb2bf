/**
 * An account exists from the start of its first subscriber: if it would start later, its first
 * revision is moved back to the start of the subscriber.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { ChangeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { findDocuments, NOT_DELETED } from '../revisions.ts'
import { Draft, fromOf } from '../timeline/draft.ts'
import { deriveAccount } from '../timeline/subscriber-dates.ts'
import type { RuleContext } from './rule.ts'

const ACCOUNT = { name: 'accounts', store: 'subscribers' } as CollectionDefinition

export async function withEarlierAccountStart<T>(
  decision: ChangeDecision<T>,
  subscriber: RawDocument,
  { catalog, zone }: Pick<RuleContext, 'catalog' | 'zone'>,
): Promise<ChangeDecision<T>> {
  const filter = { type: 'account', aid: subscriber['aid'], ...NOT_DELETED }
  const revisions = await findDocuments(catalog, ACCOUNT, filter, 1000)
  const draft = new Draft(revisions)
  const [first] = draft.revisions()
  if (first === undefined || fromOf(first) <= fromOf(subscriber)) {
    return { ...decision, isNew: true }
  }
  const { from } = subscriber
  draft.change(first, { from, creation_time: from })
  deriveAccount(draft)
  const steps = [...decision.steps, ...draft.steps(zone)]
  return { ...decision, steps, before: draft.before() }
}

/**
 * Derived dates of the revisions of subscribers and accounts: start and end of the entity, start
 * and end of the plan, and the former plan. Pure.
 */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { Fields } from '../../../domain/fields.ts'
import { type Draft, fromOf, toOf } from './draft.ts'
import { isEqual } from './set-fields.ts'

/** Adjacent revisions with the same plan. */
interface Run {
  plan: unknown
  revisions: RawDocument[]
  fromMs: number
  toMs: number
}

/** Updates the derived fields of all revisions of a subscriber. */
export function deriveSubscriber(draft: Draft): void {
  const revisions = draft.revisions()
  const runs = runsOf(revisions)
  const activation = revisions[0]?.['from']
  const deactivation = revisions.at(-1)?.['to']
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    const former = before !== undefined && before.toMs === run.fromMs ? before.plan : undefined
    for (const revision of run.revisions) {
      const { former_plan: _, ...rest } = revision
      put(draft, revision, {
        ...rest,
        activation_date: activation,
        deactivation_date: deactivation,
        plan_activation: new Date(run.fromMs),
        plan_deactivation: new Date(run.toMs),
        ...(former === undefined ? {} : { former_plan: former }),
      })
    }
  }
}

/** Updates the derived dates of all revisions of an account, which has no plan. */
export function deriveAccount(draft: Draft): void {
  const revisions = draft.revisions()
  const activation = revisions[0]?.['from']
  const deactivation = revisions.at(-1)?.['to']
  for (const revision of revisions) {
    const dates = { activation_date: activation, deactivation_date: deactivation }
    put(draft, revision, { ...revision, ...dates })
  }
}

function put(draft: Draft, revision: RawDocument, document: Fields): void {
  if (!isEqual(revision, document)) draft.put(revision, document as RawDocument)
}

function runsOf(revisions: readonly RawDocument[]): Run[] {
  const runs: Run[] = []
  for (const revision of revisions) {
    const last = runs.at(-1)
    if (last !== undefined && last.plan === revision['plan'] && last.toMs === fromOf(revision)) {
      last.revisions.push(revision)
      last.toMs = toOf(revision)
    } else {
      const { plan } = revision
      runs.push({ plan, revisions: [revision], fromMs: fromOf(revision), toMs: toOf(revision) })
    }
  }
  return runs
}

/** Moves services that start or end with a boundary of their revision along with it. */
export function withServiceEdges(
  revision: RawDocument,
  edge: 'from' | 'to',
  wasMs: number,
  atMs: number,
): RawDocument {
  const { services } = revision
  if (!Array.isArray(services)) return revision
  const moved = services.map((service: unknown) => {
    const at = (service as Fields | null)?.[edge]
    if (!(at instanceof Date) || at.getTime() !== wasMs) return service
    return { ...(service as Fields), [edge]: new Date(atMs) }
  })
  return { ...revision, services: moved }
}

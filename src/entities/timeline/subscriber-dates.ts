/**
 * Derived dates of the revisions of subscribers and accounts: start and end of the entity, start
 * and end of the plan, and the former plan. Pure.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Fields } from '../../domain/fields.ts'
import { type Draft, fromOf, toOf } from './draft.ts'
import { isEqual } from './set-fields.ts'

/** Adjacent revisions with the same plan. */
interface Run {
  plan: unknown
  revisions: RawDocument[]
  fromMs: number
  toMs: number
}

/**
 * Start of an entity, and of its plan, before its first revision: migrations may lack earlier ones.
 */
interface Origin {
  first: RawDocument
  activation: unknown
  /** Null if the plan begins with the first revision. */
  planActivation: unknown
}

/** `known`: revisions with the dates that are kept if they are before the first one. */
function originOf(known: readonly RawDocument[], draft: Draft): Origin | null {
  const [first] = [...known].sort((a, b) => fromOf(a) - fromOf(b))
  const [current] = draft.revisions()
  if (first === undefined || current === undefined || !first._id.equals(current._id)) return null
  if (fromOf(first) !== fromOf(current)) return null
  const earlier = (name: string) => {
    const date = first[name]
    return date instanceof Date && date.getTime() < fromOf(first) ? date : null
  }
  const [activation, planActivation] = [earlier('activation_date'), earlier('plan_activation')]
  if (activation === null && planActivation === null) return null
  return { first, activation: activation ?? planActivation, planActivation }
}

/**
 * Updates the derived fields of all revisions of a subscriber. `known`: as they were before, or as
 * another system has them.
 */
export function deriveSubscriber(draft: Draft, known = draft.before()): void {
  const revisions = draft.revisions()
  const runs = runsOf(revisions)
  const origin = originOf(known, draft)
  const activation = origin?.activation ?? revisions[0]?.['from']
  const deactivation = revisions.at(-1)?.['to']
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    const isFollowing = before !== undefined && before.toMs === run.fromMs
    const isFromBefore = index === 0 && origin !== null && origin.first['plan'] === run.plan
    const kept = isFromBefore ? origin.first['former_plan'] : undefined
    const former = isFollowing ? before.plan : kept
    const planActivation = isFromBefore ? origin.planActivation : null
    for (const revision of run.revisions) {
      const { former_plan: _, ...rest } = revision
      put(draft, revision, {
        ...rest,
        activation_date: activation,
        deactivation_date: deactivation,
        plan_activation: planActivation ?? new Date(run.fromMs),
        plan_deactivation: new Date(run.toMs),
        ...(former === undefined ? {} : { former_plan: former }),
      })
    }
  }
}

/** Updates the derived dates of all revisions of an account, which has no plan. */
export function deriveAccount(draft: Draft, known = draft.before()): void {
  const revisions = draft.revisions()
  const activation = originOf(known, draft)?.activation ?? revisions[0]?.['from']
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

/** The plan or service of a holding at an instant, with its overrides and terms. Pure. */
import { FieldError } from '../../domain/fields.ts'
import { type CycleCatalogue, CycleError, type StoredRevision } from './input.ts'
import { revisionBefore, withOverrides } from './overrides.ts'
import { type OfferTerms, termsOf } from './price.ts'
import { type Holding, pieceAt } from './timeline.ts'

export interface HeldOffer {
  /** The revision with overrides applied. */
  readonly document: StoredRevision
  /** The stored revision. */
  readonly revision: StoredRevision
  readonly terms: OfferTerms
}

/** The revision in force at an instant, or the last one before it, or the first one after it. */
export function offerAt(
  aid: number,
  catalogue: CycleCatalogue,
  holding: Holding,
  atMs: number,
): HeldOffer {
  const { name, quantity, serviceId } = holding
  const kind = holding.kind === 'flat' ? 'plan' : 'service'
  const all = kind === 'plan' ? catalogue.plans : catalogue.services
  const revision = revisionBefore(all, name, atMs) ?? all.get(name)?.[0]
  if (revision === undefined) throw new CycleError(aid, entityText(holding), 'does not exist')
  const { account, subscriber } = pieceAt(holding, atMs)
  const instance = { kind, name, quantity, ...(serviceId !== undefined && { serviceId }) } as const
  return withEntity(aid, entityText(holding), () => {
    const document = withOverrides(revision, instance, [account, subscriber])
    return { document, revision, terms: termsOf(document) }
  })
}

export function entityText({ kind, name }: Pick<Holding, 'kind' | 'name'>): string {
  return `${kind === 'flat' ? 'plan' : 'service'} ${name}`
}

/** Throws `CycleError` for an invalid field of the entity. */
export function withEntity<T>(aid: number, entity: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof FieldError) throw new CycleError(aid, entity, error.message)
    throw error
  }
}

/** The revision for explanations: id and write number. */
export function revisionText({ _id, rev }: StoredRevision): string {
  return `${String(_id ?? '')}.${String(rev ?? 0)}`
}

/** The chosen instant, which is in the address, and the revision that is valid now. */
import { infoOf, type Revision } from '../../parts/revisions.ts'

const DATE = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?$/

/** Date and time in the zone of the node, as the API reads it; null for now. */
export function at(query: Readonly<Record<string, string>>): string | null {
  const { at: text = '' } = query
  return DATE.test(text) ? text.replace('T', ' ') : null
}

/** By the clock of the node. */
export function presentRevision(revisions: readonly Revision[]): Revision | null {
  return revisions.find((each) => infoOf(each)['status'] === 'active') ?? null
}

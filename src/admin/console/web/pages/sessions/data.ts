/** Open sessions and their filter, which is in the address. */
import type { DetailsOf, QueryOf } from '../../api/call-types.ts'
import { getAnswer } from '../../api/client.ts'

export type OpenSession = DetailsOf<'api/sessions'>[number]

export interface SessionPage {
  readonly sessions: readonly OpenSession[]
  readonly next: string | null
}

/** Fields of the filter: each is a parameter of `/api/sessions`. */
export const FILTERS = ['sid', 'aid', 'usaget', 'origin', 'open_for'] as const

export type FilterName = (typeof FILTERS)[number]
export type Filter = Readonly<Record<FilterName, string>>

type Query = Readonly<Record<string, string>>

export function filterIn(query: Query): Filter {
  const values = FILTERS.map((name) => [name, query[name] ?? ''] as const)
  return Object.fromEntries(values) as Filter
}

/** As parameters of an address: null removes an empty one. */
export function changesOf(filter: Filter): Record<FilterName, string | null> {
  const values = FILTERS.map((name) => [name, filter[name].trim() || null] as const)
  return Object.fromEntries(values) as Record<FilterName, string | null>
}

/** Sessions of a release, at most; the API takes no more. */
export const SESSIONS_MAX = 100

export async function readSessions(query: Query, signal: AbortSignal): Promise<SessionPage> {
  const named = [...FILTERS, 'after'].flatMap((name) => {
    const value = query[name]
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  const sent = { ...Object.fromEntries(named), size: SESSIONS_MAX }
  const answer = await getAnswer('api/sessions', sent as QueryOf<'api/sessions'>, { signal })
  const { details, next } = answer as { details: readonly OpenSession[]; next: string | null }
  return { sessions: details, next }
}

export function keyOf({ origin, session_id: id }: OpenSession): string {
  return `${origin} ${id}`
}

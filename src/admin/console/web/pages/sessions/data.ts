/** Open sessions and their filter, which is in the address. */
import { readOpenSessions, type SessionPage } from '../../api/sessions.ts'

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

export function readSessions(query: Query, signal: AbortSignal): Promise<SessionPage> {
  const named = [...FILTERS, 'after'].flatMap((name) => {
    const value = query[name]
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  return readOpenSessions(Object.fromEntries(named), signal)
}

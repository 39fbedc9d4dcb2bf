/** Open sessions and their filter, which is in the address. */
import { readOpenSessions, type SessionPage } from '../../api/sessions.ts'

/** Fields of the filter: each is a parameter of `/api/sessions`. */
export const FILTERS = ['sid', 'aid', 'usaget', 'origin', 'open_for'] as const

type Query = Readonly<Record<string, string>>

export function readSessions(query: Query, signal: AbortSignal): Promise<SessionPage> {
  const named = [...FILTERS, 'after'].flatMap((name) => {
    const value = query[name]
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  return readOpenSessions(Object.fromEntries(named), signal)
}

/** Reads of open sessions. */
import type { DetailsOf, QueryOf } from './call-types.ts'
import { getAnswer } from './client.ts'

export type OpenSession = DetailsOf<'api/sessions'>[number]

export interface SessionPage {
  readonly sessions: readonly OpenSession[]
  /** `after` of the next page; null for the last one. */
  readonly next: string | null
}

/** Sessions of a release, at most; the API takes no more. */
const SESSIONS_MAX = 100

/** `query`: parameters of `/api/sessions`. */
export async function readOpenSessions(
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SessionPage> {
  const parameters = { ...query, size: SESSIONS_MAX } as QueryOf<'api/sessions'>
  const answer = await getAnswer('api/sessions', parameters, { signal })
  const { details, next } = answer as { details: readonly OpenSession[]; next: string | null }
  return { sessions: details, next }
}

/** A session id is unique only with its origin. */
export function keyOf({ origin, session_id: id }: OpenSession): string {
  return `${origin} ${id}`
}

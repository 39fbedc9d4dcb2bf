/** Reads of open sessions. */
import type { DetailsOf, QueryOf } from './call-types.ts'
import { getAnswer } from './client.ts'
import type { Page } from './records.ts'

export type OpenSession = DetailsOf<'api/sessions'>[number]

/** Sessions of a release, at most; the API takes no more. */
const SESSIONS_MAX = 100

/** `query`: parameters of `/api/sessions`. */
export async function readOpenSessions(
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Page<OpenSession>> {
  const parameters = { ...query, size: SESSIONS_MAX } as QueryOf<'api/sessions'>
  const answer = await getAnswer('api/sessions', parameters, { signal })
  const { details = [], next = null } = answer
  return { rows: details, next }
}

/** A session id is unique only with its origin. */
export function keyOf({ origin, session_id: id }: OpenSession): string {
  return `${origin} ${id}`
}

/** A request with the look-ups by which its subscriber is found. */
import { type ChargeRequest, opens } from '../domain/charge-request.ts'
import { digestOf } from '../domain/digest.ts'
import { sessionKeyOf } from '../ledger/keys.ts'
import type { Home } from '../ledger/ledger.ts'
import type { IdentifiedRequest } from '../rating/decision.ts'
import type { Identification } from '../rating/identify.ts'
import type { ProfileQuery } from './profiles.ts'
import type { RuleSet } from './rule-book.ts'

export interface RoutedRequest extends IdentifiedRequest {
  /** Of a start or event, in order; the first that finds somebody counts. Else empty. */
  queries: readonly ProfileQuery[]
  rules: RuleSet
}

export function routed(request: ChargeRequest, rules: RuleSet): RoutedRequest {
  const sessionKey = sessionKeyOf(request.origin, request.sessionId)
  const queries = opens(request.kind) ? subscriberQueries(request, rules.identification) : []
  return { request, sessionKey, digest: digestOf(request), queries, rules }
}

/** By the rules for its usage types, then by the identifier that it names itself. */
function subscriberQueries(
  request: ChargeRequest,
  identification: Identification,
): readonly ProfileQuery[] {
  const { subscriberKey, subscriberValue, eventTimeMs: atMs, fields } = request
  const queries: ProfileQuery[] = []
  for (const { usaget, calledNumber, fields: own } of request.services) {
    const field = (name: string) =>
      own?.[name] ??
      fields?.[name] ??
      (name === 'called_number' && calledNumber !== '' ? calledNumber : undefined)
    for (const { key, value } of identification.candidates(usaget, field)) {
      queries.push({ key, value, atMs })
    }
  }
  if (subscriberKey !== 'none') queries.push({ key: subscriberKey, value: subscriberValue, atMs })
  return queries
}

/** An open session goes by its own subscriber, whatever the request says. */
export function queriesAt({ request, queries }: RoutedRequest, home: Home) {
  if (opens(request.kind)) return queries
  return [{ key: 'sid', value: String(home.sid), atMs: request.eventTimeMs }]
}

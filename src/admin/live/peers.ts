/** Network elements of a sample: the ones with most refusals, by reason. */
import { choice, listOf, number, text, type ValueOf } from '../../catalog/entities/json-schema.ts'
import { component } from '../http/answer-schema.ts'

const PEER_REASON = component('livePeerReason', 'Requests that were not granted, per second.', {
  outcome: choice(['denied', 'failed', 'refused'], 'The outcome.'),
  reason: text('The return code, or why the request was refused before it was decoded.'),
  rate: number('Their number.'),
})
type PeerReason = ValueOf<typeof PEER_REASON>

export const PEER_REQUESTS = component(
  'livePeerRequests',
  'Requests of a network element, per second.',
  {
    peer: text('Its name; empty for callers that are not listed.'),
    granted: number('Granted.'),
    denied: number('Denied.'),
    failed: number('Failed.'),
    refused: number('Refused before they were decoded.'),
    reasons: listOf(PEER_REASON, 'Why not granted: at most 8, the most frequent first.'),
  },
)
type PeerFigures = ValueOf<typeof PEER_REQUESTS>

type PeerOutcome = 'granted' | 'denied' | 'failed' | 'refused'

const PEERS_MAX = 20
const REASONS_MAX = 8

/** Key of a counter of `peerFigures`. */
export function peerKey(peer: unknown, outcome: unknown, reason: unknown): string {
  return JSON.stringify([String(peer ?? ''), String(outcome), String(reason ?? '')])
}

/** `rates`: per second, by `peerKey`. */
export function peerFigures(
  rates: ReadonlyMap<string, number>,
  rounded: (rate: number) => number,
): PeerFigures[] {
  const byPeer = new Map<string, PeerReasonRate[]>()
  for (const [key, rate] of rates) {
    const [peer, outcome, reason] = JSON.parse(key) as [string, PeerOutcome, string]
    byPeer.set(peer, [...(byPeer.get(peer) ?? []), { outcome, reason, rate }])
  }
  return [...byPeer]
    .map(([peer, all]) => figuresOfPeer(peer, all, rounded))
    .sort((a, b) => notGranted(b) - notGranted(a) || b.granted - a.granted)
    .slice(0, PEERS_MAX)
}

interface PeerReasonRate {
  readonly outcome: PeerOutcome
  readonly reason: string
  readonly rate: number
}

function figuresOfPeer(
  peer: string,
  all: readonly PeerReasonRate[],
  rounded: (rate: number) => number,
): PeerFigures {
  const sum = (outcome: PeerOutcome) =>
    rounded(all.reduce((total, each) => total + (each.outcome === outcome ? each.rate : 0), 0))
  const reasons = all
    .flatMap(({ outcome, reason, rate }): PeerReason[] =>
      outcome === 'granted' || rate === 0 ? [] : [{ outcome, reason, rate: rounded(rate) }],
    )
    .sort((a, b) => b.rate - a.rate)
    .slice(0, REASONS_MAX)
  const outcomes = { granted: sum('granted'), denied: sum('denied') }
  return { peer, ...outcomes, failed: sum('failed'), refused: sum('refused'), reasons }
}

function notGranted({ denied, failed, refused }: PeerFigures): number {
  return denied + failed + refused
}

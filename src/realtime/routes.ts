import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'

/** Selects the worker of a request, so that requests of one account keep their order. */
export interface Routes {
  /** Index of the worker. */
  workerOf(request: ChargeRequest): number
  /** Caches the account of a session and a subscriber. */
  learn(request: ChargeRequest, outcome: ChargeOutcome): void
}

/**
 * Routes by account if an earlier outcome has shown it, otherwise by subscriber or session. A wrong
 * route is not an error (the commit compares versions): it costs a conflict or an additional load.
 * At most `learnedMax` accounts are cached; the oldest are evicted first.
 */
export function createRoutes(workers: number, learnedMax: number): Routes {
  if (workers === 1) return { workerOf: () => 0, learn: () => undefined }
  const accounts = new Map<string, number>()

  const remember = (key: string, aid: number) => {
    if (accounts.get(key) === aid) return
    if (accounts.size >= learnedMax && !accounts.has(key)) {
      const [oldest] = accounts.keys()
      if (oldest !== undefined) accounts.delete(oldest)
    }
    accounts.set(key, aid)
  }

  return {
    workerOf(request) {
      const subscriber = subscriberOf(request)
      const session = sessionOf(request)
      // The session takes precedence: it stays with the account in which it was opened.
      const aid = accounts.get(session) ?? accounts.get(subscriber)
      if (aid !== undefined) return aid % workers
      return hash(request.subscriberKey === 'none' ? session : subscriber) % workers
    },
    learn(request, outcome) {
      if (outcome.aid <= 0) return
      if (request.subscriberKey !== 'none') remember(subscriberOf(request), outcome.aid)
      if (request.kind === 'release') accounts.delete(sessionOf(request))
      else if (request.kind !== 'event') remember(sessionOf(request), outcome.aid)
    },
  }
}

function subscriberOf(request: ChargeRequest): string {
  return `${request.subscriberKey}:${request.subscriberValue}`
}

function sessionOf(request: ChargeRequest): string {
  return `session:${request.origin}:${request.sessionId}`
}

/** FNV-1a over UTF-16 units, 32 bits, not negative. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}

import { Counter, type Registry } from 'prom-client'
import { createFastHistogram, type FastHistogram } from './fast-histogram.ts'

export type RequestOutcome = 'granted' | 'denied' | 'failed'

/** Why a request was refused before it was decoded. */
export type RefusalCause =
  /** Credentials are required and missing. */
  | 'unauthenticated'
  /** Unknown credentials. */
  | 'credentials'
  /** A certificate that is untrusted, unknown, or of another peer than the key. */
  | 'certificate'
  | 'address'
  | 'file_type'
  | 'rate'
  /** A client without the role to charge. */
  | 'role'
  /** A browser page without credentials. */
  | 'browser'
  /** Credentials that cannot be checked because the peers have not been read yet. */
  | 'unavailable'

/** Network of the client: this machine, a private network, or elsewhere. */
export type SourceClass = 'loopback' | 'private' | 'public' | 'unknown'

export type RequestMetrics = {
  /**
   * Counts one answered request; the duration is from the last byte received to the answer written.
   * `peer`: authenticated name, empty if none; `fileType`: its file type. Both names are
   * configured, so the number of label values is bounded.
   */
  request(
    outcome: RequestOutcome,
    code: number,
    durationMs: number,
    peer?: string,
    fileType?: string,
  ): void
  /** Counts one request that was refused before it was decoded. */
  refused(peer: string, cause: RefusalCause, source?: SourceClass): void
}

const DURATION_BUCKETS_S = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5,
]

/** For the snapshot. */
interface RequestTotals {
  readonly duration: FastHistogram
  /** Number of answered requests. */
  answered(): number
}

/** Metrics of an event-loop thread. */
export function createRequestMetrics(registry: Registry): RequestMetrics & RequestTotals {
  const registers = [registry]
  const answered: Answered[] = []
  const countsOf = createCounts(answered)
  new Counter({
    name: 'tollgate_requests_total',
    help: 'Answered requests by outcome and return code',
    labelNames: ['outcome', 'code'] as const,
    registers,
    collect() {
      this.reset()
      for (const { outcome, code, count } of answered) this.inc({ outcome, code }, count)
    },
  })
  new Counter({
    name: 'tollgate_peer_requests_total',
    help: 'Answered requests by network element, file type, outcome and return code',
    labelNames: ['peer', 'file_type', 'outcome', 'code'] as const,
    registers,
    collect() {
      this.reset()
      for (const { peer, fileType, outcome, code, count } of answered) {
        this.inc({ peer, file_type: fileType, outcome, code }, count)
      }
    },
  })
  const refusals = new Counter({
    name: 'tollgate_requests_refused_total',
    help: 'Requests refused before decoding, by network element and reason',
    labelNames: ['peer', 'cause'] as const,
    registers,
  })
  const sources = new Counter({
    name: 'tollgate_requests_refused_by_source_total',
    help: 'Requests refused before decoding, by network of the client and reason',
    labelNames: ['source', 'cause'] as const,
    registers,
  })
  const duration = createFastHistogram(
    'tollgate_request_duration_seconds',
    'Time from the last byte of a request to its answer',
    DURATION_BUCKETS_S,
  )
  return {
    request(outcome, code, durationMs, peer = '', fileType = '') {
      countsOf(peer, fileType)(outcome, code).count += 1
      duration.observe(durationMs / 1000)
    },
    refused(peer, cause, source = 'unknown') {
      refusals.inc({ peer, cause })
      sources.inc({ source, cause })
    },
    duration,
    answered: () => answered.reduce((sum, { count }) => sum + count, 0),
  }
}

interface Answered {
  readonly peer: string
  readonly fileType: string
  readonly outcome: RequestOutcome
  readonly code: number
  count: number
}

/** Returns the counter of an outcome and code. */
type Counts = (outcome: RequestOutcome, code: number) => Answered

/**
 * Finds the counters of a peer and file type, and adds new ones to `all`. prom-client would build
 * and hash a label object for each request, so it receives the counts only at a scrape.
 */
function createCounts(all: Answered[]) {
  const byPeer = new Map<string, Map<string, Counts>>()
  return (peer: string, fileType: string): Counts => {
    let byFileType = byPeer.get(peer)
    if (byFileType === undefined) {
      byFileType = new Map()
      byPeer.set(peer, byFileType)
    }
    let counts = byFileType.get(fileType)
    if (counts === undefined) {
      counts = countsOf(peer, fileType, all)
      byFileType.set(fileType, counts)
    }
    return counts
  }
}

function countsOf(peer: string, fileType: string, all: Answered[]): Counts {
  const byOutcome: Record<RequestOutcome, Map<number, Answered>> = {
    granted: new Map(),
    denied: new Map(),
    failed: new Map(),
  }
  return (outcome, code) => {
    const byCode = byOutcome[outcome]
    let found = byCode.get(code)
    if (found === undefined) {
      found = { peer, fileType, outcome, code, count: 0 }
      byCode.set(code, found)
      all.push(found)
    }
    return found
  }
}

import { Counter, Gauge, type Registry } from 'prom-client'

export type MessageDirection = 'in' | 'out'

/** Outcome of a request that the node sent to a peer. */
export type ServerRequestOutcome =
  | 'success'
  /** Answered with another Result-Code. */
  | 'refused'
  /** No answer in time, or no connection to send on. */
  | 'unanswered'

export interface ConnectionState {
  /** Name of the peer; empty if it is not configured. */
  readonly peerName: string
  readonly state: string
}

/** Requests of the node that have to be sent. */
export interface ServerRequestQueue {
  /** Sessions whose request waits to be sent or answered. */
  readonly pending: number
  /** Sessions whose request was dropped because the queue was full. */
  readonly dropped: number
}

/** Metrics of Diameter. Label values are bounded, whatever peers send. */
export type DiameterMetrics = {
  /** Sets the callback that returns the connections at a scrape. */
  readConnections(read: () => readonly ConnectionState[]): void
  /** Sets the callback that returns the number of sessions known for RAR and ASR. */
  readSessions(read: () => number): void
  /** Sets the callback that returns the queue of RAR and ASR. */
  readQueue(read: () => ServerRequestQueue): void
  /** Counts one message by command code; `resultCode` is 0 for requests. */
  message(
    direction: MessageDirection,
    command: number,
    isRequest: boolean,
    resultCode: number,
  ): void
  /** Counts a peer that is not, or no longer, allowed to connect. */
  refused(cause: string): void
  /** Counts an answer without a matching request. */
  answerUnmatched(): void
  /** Counts an answer that was dropped because its peer had disconnected. */
  answerDropped(): void
  serverRequest(kind: 'RAR' | 'ASR', outcome: ServerRequestOutcome): void
}

const COMMANDS: ReadonlyMap<number, string> = new Map([
  [257, 'CE'],
  [258, 'RA'],
  [272, 'CC'],
  [274, 'AS'],
  [275, 'ST'],
  [280, 'DW'],
  [282, 'DP'],
])

/** RFC 6733 section 7.1 and RFC 8506 section 9. */
const RESULT_CODES: ReadonlySet<number> = new Set([
  1001, 2001, 2002, 3001, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010, 4001, 4002, 4003,
  4010, 4011, 4012, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009, 5010, 5011, 5012, 5013,
  5014, 5015, 5016, 5017, 5030, 5031,
])

const OTHER = 'other'

export function createDiameterMetrics(registry: Registry): DiameterMetrics {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const message = createMessageCounter(registry)
  let readConnections: () => readonly ConnectionState[] = () => []
  let readSessions = () => 0
  const readQueue = createQueueMetrics(registry)
  new Gauge({
    name: 'tollgate_diameter_connections',
    help: 'Diameter connections by peer and state',
    labelNames: ['peer', 'state'] as const,
    registers,
    collect() {
      this.reset()
      for (const { peerName: peer, state } of readConnections()) this.inc({ peer, state })
    },
  })
  new Gauge({
    name: 'tollgate_diameter_sessions',
    help: 'Open Diameter sessions that can be sent requests',
    registers,
    collect() {
      this.set(readSessions())
    },
  })
  const refused = new Counter({
    name: 'tollgate_diameter_peers_refused_total',
    help: 'Diameter peers that are not, or no longer, allowed to connect, by reason',
    labelNames: ['cause'] as const,
    registers,
  })
  const unmatched = counter(
    'tollgate_diameter_unmatched_answers_total',
    'Diameter answers without a matching request',
  )
  const dropped = counter(
    'tollgate_diameter_dropped_answers_total',
    'Diameter answers whose peer had gone',
  )
  const requests = new Counter({
    name: 'tollgate_diameter_server_requests_total',
    help: 'Requests of the node to Diameter peers by kind and outcome',
    labelNames: ['kind', 'outcome'] as const,
    registers,
  })
  return {
    readConnections(read) {
      readConnections = read
    },
    readSessions(read) {
      readSessions = read
    },
    readQueue,
    message,
    refused: (cause) => refused.inc({ cause }),
    answerUnmatched: () => unmatched.inc(),
    answerDropped: () => dropped.inc(),
    serverRequest: (kind, outcome) => requests.inc({ kind, outcome }),
  }
}

function createQueueMetrics(registry: Registry): DiameterMetrics['readQueue'] {
  const registers = [registry]
  let readQueue = (): ServerRequestQueue => ({ pending: 0, dropped: 0 })
  new Gauge({
    name: 'tollgate_diameter_server_requests_pending',
    help: 'Diameter sessions that wait for RAR or ASR, or whose answer is waited for',
    registers,
    collect() {
      this.set(readQueue().pending)
    },
  })
  new Counter({
    name: 'tollgate_diameter_server_requests_dropped_total',
    help: 'Diameter sessions that were not sent RAR because too many waited',
    registers,
    collect() {
      this.reset()
      this.inc(readQueue().dropped)
    },
  })
  return (read) => {
    readQueue = read
  }
}

interface Counted {
  readonly direction: MessageDirection
  readonly command: string
  /** Empty for requests. */
  readonly result: string
  count: number
}

/** prom-client would hash labels for each message, so it receives the counts only at a scrape. */
function createMessageCounter(registry: Registry): DiameterMetrics['message'] {
  const byKey = new Map<number, Counted>()
  new Counter({
    name: 'tollgate_diameter_messages_total',
    help: 'Diameter messages by direction, command and Result-Code',
    labelNames: ['direction', 'command', 'type', 'result'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const { direction, command, result, count } of byKey.values()) {
        const type = result === '' ? 'request' : 'answer'
        this.inc({ direction, command, type, result }, count)
      }
    },
  })
  return (direction, command, isRequest, resultCode) => {
    const known = COMMANDS.has(command) ? command : 0
    const code = isRequest ? 0 : RESULT_CODES.has(resultCode) ? resultCode : 1
    const key = (known * 8192 + code) * 2 + (direction === 'in' ? 0 : 1)
    let counted = byKey.get(key)
    if (counted === undefined) {
      const result = isRequest ? '' : code === 1 ? OTHER : String(code)
      counted = { direction, command: COMMANDS.get(command) ?? OTHER, result, count: 0 }
      byKey.set(key, counted)
    }
    counted.count += 1
  }
}

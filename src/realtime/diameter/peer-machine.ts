/**
 * State machine of a peer connection as a table: the responder of RFC 6733 section 5.6 with the
 * watchdog of RFC 3539 section 3.4.1. Independent of sockets and clocks.
 */

export type PeerState =
  /** Connected; no CER received. */
  | 'waitCer'
  | 'open'
  /** No traffic for the watchdog interval; a DWR was sent. */
  | 'suspect'
  /** DPR received: DPA follows when all requests in flight have been answered. */
  | 'finishing'
  /** DPR sent, DPA not received. */
  | 'leaving'
  /** Nothing more is received; requests in flight are still to be answered. */
  | 'left'
  /** Everything has been sent; the socket has to close. */
  | 'closing'
  | 'closed'

export type PeerEvent =
  | 'cerAccepted'
  | 'cerRefused'
  /** Any request except CER, DWR and DPR. */
  | 'request'
  /** Any answer except DWA and DPA. */
  | 'answer'
  | 'dwr'
  | 'dwa'
  | 'dpr'
  | 'dpa'
  /** No message was received for the watchdog interval. */
  | 'idle'
  /** The state has lasted for its time-out. */
  | 'timeout'
  /** No request of the peer is in flight any more. */
  | 'answered'
  /** The node ends the connection. */
  | 'stop'
  /** Bytes that are not valid messages. */
  | 'protocolError'
  /** The peer does not read its messages. */
  | 'stalled'
  /** The peer has closed its half of the connection. */
  | 'ended'
  | 'disconnected'

export type PeerAction =
  | 'sendCea'
  | 'sendDwr'
  | 'sendDwa'
  | 'sendDpr'
  | 'sendDpa'
  | 'sendError'
  /** The connection is up. */
  | 'up'
  /** The request is processed. */
  | 'dispatch'
  /** The request is refused with its error, by default `DIAMETER_TOO_BUSY`. */
  | 'refuse'
  /** The answer is matched with the pending requests of the node. */
  | 'match'
  /** The socket is closed after all written data. */
  | 'end'
  /** The socket is closed immediately. */
  | 'destroy'

export interface Transition {
  readonly state: PeerState
  readonly actions: readonly PeerAction[]
}

const to = (state: PeerState, ...actions: PeerAction[]): Transition => ({ state, actions })

type Row = Readonly<Partial<Record<PeerEvent, Transition>>>

const GONE: Row = { disconnected: to('closed'), stalled: to('closed', 'destroy') }
const MALFORMED = to('closing', 'sendError', 'end')
const CUT = to('closed', 'destroy')

/** Both states in which a peer is served; any message shows that it is alive. */
const SERVED: Row = {
  ...GONE,
  cerAccepted: to('open', 'sendCea'),
  cerRefused: to('closing', 'sendCea', 'end'),
  request: to('open', 'dispatch'),
  answer: to('open', 'match'),
  dwr: to('open', 'sendDwa'),
  dwa: to('open'),
  dpr: to('finishing'),
  dpa: to('open', 'match'),
  stop: to('leaving', 'sendDpr'),
  protocolError: MALFORMED,
  ended: to('left'),
}

/** States in which the connection ends, but requests in flight are still answered. */
function ending(state: PeerState): Row {
  return {
    ...GONE,
    request: to(state, 'refuse'),
    answer: to(state, 'match'),
    dwr: to(state, 'sendDwa'),
    protocolError: MALFORMED,
    ended: to('left'),
  }
}

const TABLE: Readonly<Record<PeerState, Row>> = {
  waitCer: {
    ...GONE,
    cerAccepted: to('open', 'sendCea', 'up'),
    cerRefused: to('closing', 'sendCea', 'end'),
    request: CUT,
    answer: CUT,
    dwr: CUT,
    dwa: CUT,
    dpr: CUT,
    dpa: CUT,
    timeout: CUT,
    stop: CUT,
    protocolError: MALFORMED,
    ended: to('closing', 'end'),
  },
  open: { ...SERVED, idle: to('suspect', 'sendDwr') },
  suspect: { ...SERVED, idle: CUT },
  finishing: {
    ...ending('finishing'),
    dpa: to('finishing', 'match'),
    answered: to('closing', 'sendDpa'),
    timeout: to('closing', 'sendDpa'),
  },
  leaving: {
    ...ending('leaving'),
    // Both sides have sent DPR at the same time.
    dpr: to('leaving', 'sendDpa'),
    dpa: to('left'),
    timeout: to('closing', 'end'),
  },
  left: {
    ...ending('left'),
    dpr: to('left', 'sendDpa'),
    dpa: to('left', 'match'),
    answered: to('closing', 'end'),
    timeout: to('closing', 'end'),
  },
  closing: { ...GONE, ended: to('closing', 'end'), timeout: CUT },
  closed: {},
}

const NOTHING: Readonly<Record<PeerState, Transition>> = {
  waitCer: to('waitCer'),
  open: to('open'),
  suspect: to('suspect'),
  finishing: to('finishing'),
  leaving: to('leaving'),
  left: to('left'),
  closing: to('closing'),
  closed: to('closed'),
}

/** Next state and actions; an event without meaning in a state changes nothing. */
export function nextState(state: PeerState, event: PeerEvent): Transition {
  return TABLE[state][event] ?? NOTHING[state]
}

export interface PeerTimes {
  readonly capabilitiesTimeoutMs: number
  readonly watchdogMs: number
  readonly answerTimeoutMs: number
}

/** Inputs for the timers of a connection. */
export interface PeerTimestamps {
  readonly nowMs: number
  /** When its state began. */
  readonly sinceMs: number
  /** When the last message was received. */
  readonly heardMs: number
  /** Requests of the peer that have not been answered; they have a time-out of their own. */
  readonly underWay: number
}

/** The timer event that is due, or null. */
export function dueEvent(
  state: PeerState,
  times: PeerTimes,
  at: PeerTimestamps,
): 'idle' | 'timeout' | null {
  switch (state) {
    case 'waitCer':
      return at.nowMs - at.sinceMs >= times.capabilitiesTimeoutMs ? 'timeout' : null
    case 'open':
      return at.nowMs - Math.max(at.heardMs, at.sinceMs) >= times.watchdogMs ? 'idle' : null
    case 'suspect':
      return at.nowMs - at.sinceMs >= times.watchdogMs ? 'idle' : null
    case 'closed':
      return null
    default:
      // A request in flight may have charged something: its answer must be sent first.
      if (at.underWay > 0 && state !== 'closing') return null
      return at.nowMs - at.sinceMs >= times.answerTimeoutMs ? 'timeout' : null
  }
}

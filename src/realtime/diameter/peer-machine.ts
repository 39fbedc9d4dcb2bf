/**
 * The states of one connection to a peer, as a table: the responder's side of RFC 6733 section 5.6,
 * with the watchdog of RFC 3539 section 3.4.1. Nothing here knows a socket or a clock.
 */

export type PeerState =
  /** Connected; it has not said yet who it is. */
  | 'waitCer'
  | 'open'
  /** It was silent, and was asked by DWR whether it is there. */
  | 'suspect'
  /** It has sent DPR: DPA follows when all that is under way is answered. */
  | 'finishing'
  /** It was sent DPR, and has not said DPA. */
  | 'leaving'
  /** Nothing more comes from it; what is under way is still to be answered. */
  | 'left'
  /** All is said; the socket has to close. */
  | 'closing'
  | 'closed'

export type PeerEvent =
  | 'cerAccepted'
  | 'cerRefused'
  /** Any request but CER, DWR and DPR. */
  | 'request'
  /** Any answer but DWA and DPA. */
  | 'answer'
  | 'dwr'
  | 'dwa'
  | 'dpr'
  | 'dpa'
  /** Nothing has come for the time of the watchdog. */
  | 'idle'
  /** The state has lasted as long as it may. */
  | 'timeout'
  /** No request of the peer is under way any more. */
  | 'answered'
  /** The node wants to be rid of the connection. */
  | 'stop'
  /** Bytes that are no messages. */
  | 'protocolError'
  /** It does not read what it is sent. */
  | 'stalled'
  /** It has closed its half of the connection. */
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
  /** The request is answered on its merits. */
  | 'dispatch'
  /** The request is answered that it should go elsewhere. */
  | 'refuse'
  /** The answer is for one of the node's own requests, or for none. */
  | 'match'
  /** The socket is closed after all that was written. */
  | 'end'
  /** The socket is closed at once. */
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

/** Both states in which a peer is served; everything that comes shows that it is there. */
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

/** States in which the connection ends, but what is under way is still answered. */
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
    // Both want to go at the same time.
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

/** What becomes of a connection; an event that means nothing in a state changes nothing. */
export function nextState(state: PeerState, event: PeerEvent): Transition {
  return TABLE[state][event] ?? NOTHING[state]
}

export interface PeerTimes {
  readonly capabilitiesTimeoutMs: number
  readonly watchdogMs: number
  readonly answerTimeoutMs: number
}

/** What counts for the times of a connection. */
export interface PeerTimestamps {
  readonly nowMs: number
  /** When its state began. */
  readonly sinceMs: number
  /** When something came last. */
  readonly heardMs: number
  /** Requests of the peer that are not answered yet; they have a time of their own. */
  readonly underWay: number
}

/** The event of a timer that is due, if one is. */
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
      // What it has asked may have moved something: it must be told.
      if (at.underWay > 0 && state !== 'closing') return null
      return at.nowMs - at.sinceMs >= times.answerTimeoutMs ? 'timeout' : null
  }
}

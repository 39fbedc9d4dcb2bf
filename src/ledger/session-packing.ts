/**
 * Encodes sessions; numbers, times and texts as `Writer` writes them. Lua does not read them.
 *
 *   session  u8 1, or 2 if a segment has terms after it | u8 state, with 80 added before a client |
 *            name and state of the client | names | opened | expires | last number | processed |
 *            services | answers (answer-packing.ts)
 *   service  names with u8 flags (identity-packing.ts) | last report | units of all reports, cost
 *            of the ended segments, their number | segment | reservation
 */
import { present } from '../domain/assert.ts'
import type {
  AnsweredRequest,
  Reservation,
  ServiceSession,
  Session,
  SessionState,
} from '../domain/session.ts'
import { type AnswerContext, readAnswer, writeAnswer } from './answer-packing.ts'
import {
  readNamesAfter,
  readServiceNames,
  readSessionNames,
  writeServiceNames,
  writeSessionNames,
} from './identity-packing.ts'
import { CorruptValueError } from './owner-packing.ts'
import { Reader } from './reader.ts'
import { readReservation, readSegment, writeReservation, writeSegment } from './segment-packing.ts'
import { Writer } from './writer.ts'

const SESSION_FORMAT = 1
/** A release that reads format 1 only reports such a session as damaged. */
const FORMAT_WITH_TERMS_AFTER = 2

const STATES: readonly SessionState[] = ['open', 'closed', 'expired', 'denied']

/** Added to the state. */
const HAS_CLIENT = 0x80

/** Flags of a service; the other two are of its names. */
const ACCESS_CHARGED = 1
const OTHERS_ACCESS_CHARGED = 2
const HAS_REPORT = 8
/** Segments have ended; otherwise the reported units are those of the segment. */
const HAS_TOTALS = 16
const HAS_SEGMENT = 32
const HAS_RESERVATION = 64

export function packSession(session: Session): Buffer {
  const writer = new Writer(SESSION_BYTES)
  writeSession(writer, session)
  return writer.take()
}

/** Usual size of a packed session. */
const SESSION_BYTES = 1024

export function writeSession(writer: Writer, session: Session): void {
  const { openedMs, services, answered } = session
  const hasTermsAfter = services.some(({ segment }) => segment !== null && segment.after !== null)
  writer.u8(hasTermsAfter ? FORMAT_WITH_TERMS_AFTER : SESSION_FORMAT)
  const { client } = session
  writer.u8(STATES.indexOf(session.state) | (client === null ? 0 : HAS_CLIENT))
  if (client !== null) {
    writer.string(client.name)
    writer.number(client.stateId)
  }
  writeSessionNames(writer, session.identity)
  writer.number(openedMs)
  writer.time(session.expiresMs, openedMs)
  writer.number(session.lastNumber)
  writer.number(session.processed)
  writer.number(services.length)
  for (const service of services) writeService(writer, service, openedMs)
  writer.number(answered.length)
  for (const answer of answered) writeAnswer(writer, answer, session)
}

/**
 * `sessionKey` is its key in the ledger (keys.ts). Throws `CorruptValueError` if the value is not a
 * packed session.
 */
export function unpackSession(
  aid: number,
  sid: number,
  sessionKey: string,
  packed: Buffer,
): Session {
  return readSession(aid, sid, sessionKey, new Reader(packed))
}

/** As `unpackSession`, of the value that the reader has opened. */
export function readSession(aid: number, sid: number, sessionKey: string, reader: Reader): Session {
  try {
    const format = reader.u8()
    if (format === SESSION_FORMAT || format === FORMAT_WITH_TERMS_AFTER) {
      return readParts(aid, sid, sessionKey, reader)
    }
  } catch (error) {
    throw new CorruptValueError('a session is damaged', { aid, sid, cause: error })
  }
  throw new CorruptValueError('a session has an unknown format', { aid, sid })
}

function readParts(aid: number, sid: number, sessionKey: string, reader: Reader): Session {
  const marked = reader.u8()
  const state = present(STATES[marked & ~HAS_CLIENT], 'state of a session')
  const client = marked & HAS_CLIENT ? { name: reader.word(), stateId: reader.number() } : null
  const identity = readSessionNames(reader, aid, sid)
  const openedMs = reader.number()
  const session: Session = {
    identity,
    state,
    openedMs,
    client,
    expiresMs: reader.time(openedMs),
    lastNumber: reader.number(),
    processed: reader.number(),
    answered: [],
    services: readServices(reader, openedMs),
  }
  session.answered = readAnswers(reader, { sessionKey, session })
  if (!reader.isAtEnd) throw new RangeError('the session has a wrong length')
  return session
}

function readServices(reader: Reader, sinceMs: number): ServiceSession[] {
  const services = reader.list<ServiceSession>()
  for (let at = 0; at < services.length; at += 1) services[at] = readService(reader, sinceMs)
  return services
}

function readAnswers(reader: Reader, context: AnswerContext): AnsweredRequest[] {
  const answered = reader.list<AnsweredRequest>()
  for (let at = 0; at < answered.length; at += 1) answered[at] = readAnswer(reader, context)
  return answered
}

function writeService(writer: Writer, service: ServiceSession, sinceMs: number): void {
  const { segment, reservation, usedTotal, endedMicros, segmentsEnded } = service
  const used = segment === null ? 0 : segment.counts.used
  const flags = flagsOf(service, usedTotal !== used || endedMicros !== 0 || segmentsEnded !== 0)
  writeServiceNames(writer, service.identity, flags)
  if (flags & HAS_REPORT) writer.time(service.reportedMs, sinceMs)
  if (flags & HAS_TOTALS) {
    writer.number(usedTotal)
    writer.number(endedMicros)
    writer.number(segmentsEnded)
  }
  if (segment !== null) writeSegment(writer, segment, sinceMs)
  if (flags & HAS_RESERVATION) writeReservation(writer, reservation)
}

function flagsOf(service: ServiceSession, hasTotals: boolean): number {
  const { units, slices, money } = service.reservation
  let flags = hasTotals ? HAS_TOTALS : 0
  if (service.accessCharged) flags |= ACCESS_CHARGED
  if (service.othersAccessCharged) flags |= OTHERS_ACCESS_CHARGED
  if (service.reportedMs !== 0) flags |= HAS_REPORT
  if (service.segment !== null) flags |= HAS_SEGMENT
  if (units !== 0 || slices.length > 0 || money.length > 0) flags |= HAS_RESERVATION
  return flags
}

function readService(reader: Reader, sinceMs: number): ServiceSession {
  const identity = readServiceNames(reader)
  const flags = reader.u8()
  readNamesAfter(flags, reader, identity)
  const hasTotals = (flags & HAS_TOTALS) !== 0
  const service: ServiceSession = {
    identity,
    accessCharged: (flags & ACCESS_CHARGED) !== 0,
    othersAccessCharged: (flags & OTHERS_ACCESS_CHARGED) !== 0,
    reportedMs: flags & HAS_REPORT ? reader.time(sinceMs) : 0,
    usedTotal: hasTotals ? reader.number() : 0,
    endedMicros: hasTotals ? reader.number() : 0,
    segmentsEnded: hasTotals ? reader.number() : 0,
    segment: flags & HAS_SEGMENT ? readSegment(reader, sinceMs) : null,
    reservation: flags & HAS_RESERVATION ? readReservation(reader) : nothingReserved(),
  }
  if (!hasTotals && service.segment !== null) service.usedTotal = service.segment.counts.used
  return service
}

function nothingReserved(): Reservation {
  return { units: 0, slices: [], money: [] }
}

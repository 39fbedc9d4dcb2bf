/**
 * Encodes the names of sessions, services and lines:
 *
 *   session          origin | session id; its account and subscriber are those of its key
 *   service          rating group | usage type | u8 flags | service identifier | called number
 *   line             account, subscriber | origin | session id | rating group | usage type | called
 *                    number | u8 flags | service identifier
 *
 * A name whose flag is not set is empty. The other bits of the flags are the caller's.
 */
import type { ServiceIdentity, SessionIdentity } from '../domain/identity.ts'
import type { Line } from '../domain/line.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** Only of a service: a line always has the called number. */
const HAS_CALLED = 4
const HAS_IDENTIFIER = 0x80

/** The flags of the names of a line. */
export const LINE_NAMES = HAS_IDENTIFIER

export function writeSessionNames(writer: Writer, { origin, sessionId }: SessionIdentity): void {
  writer.string(origin)
  writer.string(sessionId)
}

export function readSessionNames(reader: Reader, aid: number, sid: number): SessionIdentity {
  return { aid, sid, origin: reader.word(), sessionId: reader.string() }
}

export function writeServiceNames(writer: Writer, names: ServiceIdentity, others: number): void {
  const { serviceIdentifier, calledNumber } = names
  let flags = others
  if (serviceIdentifier !== '') flags |= HAS_IDENTIFIER
  if (calledNumber !== '') flags |= HAS_CALLED
  writer.number(names.ratingGroup)
  writer.string(names.usaget)
  writer.u8(flags)
  if (flags & HAS_IDENTIFIER) writer.string(serviceIdentifier)
  if (flags & HAS_CALLED) writer.string(calledNumber)
}

/** The names before the flags, which the caller reads, and then the others. */
export function readServiceNames(reader: Reader): ServiceIdentity {
  const ratingGroup = reader.number()
  return { ratingGroup, serviceIdentifier: '', usaget: reader.word(), calledNumber: '' }
}

/** The names after the flags, also of a line. */
export function readNamesAfter(flags: number, reader: Reader, names: ServiceIdentity): void {
  if (flags & HAS_IDENTIFIER) names.serviceIdentifier = reader.word()
  if (flags & HAS_CALLED) names.calledNumber = reader.string()
}

export function writeLineNames(writer: Writer, { session, service }: Line, others: number): void {
  const { serviceIdentifier } = service
  writer.number(session.aid)
  writer.number(session.sid)
  writeSessionNames(writer, session)
  writer.number(service.ratingGroup)
  writer.string(service.usaget)
  writer.string(service.calledNumber)
  writer.u8(serviceIdentifier === '' ? others : others | HAS_IDENTIFIER)
  if (serviceIdentifier !== '') writer.string(serviceIdentifier)
}

/** As `readServiceNames`. */
export function readLineNames(
  reader: Reader,
): Pick<Line, 'session'> & { service: ServiceIdentity } {
  const session = readSessionNames(reader, reader.number(), reader.number())
  const service = readServiceNames(reader)
  service.calledNumber = reader.string()
  return { session, service }
}

/**
 * The stored answers of a session, without what the session itself contains:
 *
 *   answer   request number, digest | u8 flags | reason | detail | account, subscriber | requests
 *            processed since, or transaction id | services | cost | balances
 *   service  position in the session, from 1, or 0 with rating group and usage type | u8 flags |
 *            reason | granted | validity | tariff change | cost | service identifier, and the
 *            grants of parts; their number as -1 - n if an action follows: u8 type | text
 *   balance  u8 flags | prepaid include | usage type | counter | available, reserved | end | debt
 */
import { present } from '../domain/assert.ts'
import type {
  BalanceReport,
  PartGrant,
  Reason,
  ServiceAction,
  ServiceOutcome,
} from '../domain/charge-outcome.ts'
import { isSameService } from '../domain/identity.ts'
import { transactionIdOf } from '../domain/lines.ts'
import type { AnsweredRequest, ServiceSession, Session } from '../domain/session.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** Reasons are stored as their index: new ones are only appended. */
export const STORED_REASONS = [
  'granted',
  'notCharged',
  'noCredit',
  'unknownSubscriber',
  'noRate',
  'blocked',
  'pricing',
  'noTax',
  'unknownSession',
  'sessionClosed',
  'outOfOrder',
  'numberReused',
  'barred',
  'totalBelow',
  'malformed',
  'overloaded',
  'contention',
  'storeDown',
  'corrupt',
  'timedOut',
  'refundLimit',
  'nothingToRefund',
  'capReached',
] as readonly Reason[]

const HAS_REASON = 1
const HAS_DETAIL = 2
const HAS_SUBSCRIBER = 4
/** The transaction id consists of the session's tag and its count of requests. */
const IS_COUNTED = 8
const HAS_BALANCES = 16
/** The cost differs from the sum of the services. */
const HAS_COST = 32

const FINAL_UNIT = 2
const HAS_GRANT = 4
/** The granted units equal the reserved units of the service. */
const IS_RESERVED = 8
const HAS_VALIDITY = 16
const HAS_TARIFF_CHANGE = 32
/** The cost differs from that of the service in the session. */
const HAS_OWN_COST = 64
/** A service identifier that the session does not contain, grants of parts, or an action follow. */
const HAS_MORE = 128

/** Types of actions. */
const REDIRECT = 1
const THROTTLE = 2

const IS_MONEY = 1
const HAS_USAGET = 2
const HAS_COUNTER = 4
const HAS_DEBT = 8

const SECOND_MS = 1000

/** The session of an answer: it identifies the transaction ids and shortens the stored form. */
export interface AnswerContext {
  sessionKey: string
  session: Session
}

export function writeAnswer(writer: Writer, answered: AnsweredRequest, session: Session): void {
  const { outcome, count } = answered
  const { aid, sid, detail, transactionId, services, balances } = outcome
  const isOfOthers = aid !== session.identity.aid || sid !== session.identity.sid
  const hasCost = outcome.cost !== sumOf(services)
  let flags = outcome.reason === 'granted' ? 0 : HAS_REASON
  if (detail !== '') flags |= HAS_DETAIL
  if (isOfOthers) flags |= HAS_SUBSCRIBER
  if (count > 0) flags |= IS_COUNTED
  if (balances !== null) flags |= HAS_BALANCES
  if (hasCost) flags |= HAS_COST
  writer.number(answered.requestNumber)
  writer.number(answered.digest)
  writer.u8(flags)
  if (flags & HAS_REASON) writer.u8(STORED_REASONS.indexOf(outcome.reason))
  if (flags & HAS_DETAIL) writer.string(detail)
  if (isOfOthers) {
    writer.number(aid)
    writer.number(sid)
  }
  if (count > 0) writer.number(session.processed - count)
  else writer.string(transactionId)
  writer.number(services.length)
  for (const service of services) writeService(writer, service, session)
  if (hasCost) writer.number(outcome.cost)
  if (balances === null) return
  writer.number(balances.length)
  for (const balance of balances) writeBalance(writer, balance, session.openedMs)
}

export function readAnswer(
  reader: Reader,
  { sessionKey, session }: AnswerContext,
): AnsweredRequest {
  const requestNumber = reader.number()
  const digest = reader.number()
  const flags = reader.u8()
  const isOfOthers = (flags & HAS_SUBSCRIBER) !== 0
  const reason = flags & HAS_REASON ? readReason(reader) : 'granted'
  const detail = flags & HAS_DETAIL ? reader.string() : ''
  const aid = isOfOthers ? reader.number() : session.identity.aid
  const sid = isOfOthers ? reader.number() : session.identity.sid
  const count = flags & IS_COUNTED ? session.processed - reader.number() : 0
  const transactionId =
    flags & IS_COUNTED ? transactionIdOf(sessionKey, session, count) : reader.string()
  const services = readServices(reader, session)
  const cost = flags & HAS_COST ? reader.number() : sumOf(services)
  const balances = flags & HAS_BALANCES ? readBalances(reader, session.openedMs) : null
  const outcome = { reason, detail, aid, sid, transactionId, services, cost, balances }
  return { requestNumber, digest, count, outcome }
}

function sumOf(services: readonly ServiceOutcome[]): number {
  let sum = 0
  for (const { cost } of services) sum += cost
  return sum
}

function costOf(service: ServiceSession | undefined): number {
  if (service === undefined) return 0
  return service.endedMicros + (service.segment === null ? 0 : service.segment.counts.charged)
}

function readReason(reader: Reader): Reason {
  return present(STORED_REASONS[reader.u8()], 'reason of an answer')
}

function serviceNumberOf(outcome: ServiceOutcome, { services }: Session): number {
  for (let index = 0; index < services.length; index += 1) {
    const { identity } = services[index] as ServiceSession
    if (isSameService(identity, outcome)) return index + 1
  }
  return 0
}

function writeService(writer: Writer, outcome: ServiceOutcome, session: Session): void {
  const { ratingGroup, usaget, reason, granted, validityMs, tariffChangeMs, cost } = outcome
  const { serviceIdentifier, parts, action } = outcome
  const number = serviceNumberOf(outcome, session)
  const service = session.services[number - 1]
  let flags = reason === 'granted' ? 0 : HAS_REASON
  if (outcome.finalUnit) flags |= FINAL_UNIT
  if (service !== undefined && service.reservation.units === granted) flags |= IS_RESERVED
  else if (granted !== 0) flags |= HAS_GRANT
  if (validityMs !== 0) flags |= HAS_VALIDITY
  if (tariffChangeMs !== 0) flags |= HAS_TARIFF_CHANGE
  if (cost !== costOf(service)) flags |= HAS_OWN_COST
  const isOther = number === 0 && serviceIdentifier !== ''
  if (parts !== null || action !== null || isOther) flags |= HAS_MORE
  writer.number(number)
  if (number === 0) {
    writer.number(ratingGroup)
    writer.string(usaget)
  }
  writer.u8(flags)
  if (flags & HAS_REASON) writer.u8(STORED_REASONS.indexOf(reason))
  if (flags & HAS_GRANT) writer.number(granted)
  if (flags & HAS_VALIDITY) writeSpan(writer, validityMs)
  if (flags & HAS_TARIFF_CHANGE) writer.time(tariffChangeMs, session.openedMs)
  if (flags & HAS_OWN_COST) writer.number(cost)
  if ((flags & HAS_MORE) === 0) return
  writer.string(serviceIdentifier)
  const count = parts === null ? 0 : parts.length
  writer.number(action === null ? count : -1 - count)
  for (const part of parts ?? []) {
    writer.string(part.usaget)
    writer.number(part.granted)
  }
  if (action === null) return
  writer.u8(action.type === 'redirect' ? REDIRECT : THROTTLE)
  writer.string(action.type === 'redirect' ? action.address : action.policy)
}

function readParts(reader: Reader, count: number): PartGrant[] | null {
  const parts: PartGrant[] = []
  for (let left = count; left > 0; left -= 1) {
    parts.push({ usaget: reader.word(), granted: reader.number() })
  }
  return parts.length === 0 ? null : parts
}

function readAction(reader: Reader): ServiceAction {
  return reader.u8() === REDIRECT
    ? { type: 'redirect', address: reader.string() }
    : { type: 'throttle', policy: reader.word() }
}

function readServices(reader: Reader, session: Session): ServiceOutcome[] {
  const services = reader.list<ServiceOutcome>()
  for (let at = 0; at < services.length; at += 1) services[at] = readService(reader, session)
  return services
}

function readService(reader: Reader, { services, openedMs }: Session): ServiceOutcome {
  const number = reader.number()
  const service = number === 0 ? undefined : present(services[number - 1], 'service of an answer')
  const ratingGroup = service === undefined ? reader.number() : service.identity.ratingGroup
  const usaget = service === undefined ? reader.word() : service.identity.usaget
  const flags = reader.u8()
  const reserved = flags & IS_RESERVED ? present(service, 'service').reservation.units : 0
  const outcome: ServiceOutcome = {
    ratingGroup,
    serviceIdentifier: service === undefined ? '' : service.identity.serviceIdentifier,
    usaget,
    reason: flags & HAS_REASON ? readReason(reader) : 'granted',
    granted: flags & HAS_GRANT ? reader.number() : reserved,
    parts: null,
    validityMs: flags & HAS_VALIDITY ? readSpan(reader) : 0,
    tariffChangeMs: flags & HAS_TARIFF_CHANGE ? reader.time(openedMs) : 0,
    finalUnit: (flags & FINAL_UNIT) !== 0,
    action: null,
    cost: flags & HAS_OWN_COST ? reader.number() : costOf(service),
    // A simulated request leaves no answer to repeat.
    quote: null,
  }
  if (flags & HAS_MORE) {
    outcome.serviceIdentifier = reader.word()
    const count = reader.number()
    outcome.parts = readParts(reader, count < 0 ? -1 - count : count)
    if (count < 0) outcome.action = readAction(reader)
  }
  return outcome
}

/** Twice the seconds; with a fraction of a second, twice the ms plus 1. */
function writeSpan(writer: Writer, ms: number): void {
  writer.number(ms % SECOND_MS === 0 ? (ms / SECOND_MS) * 2 : ms * 2 + 1)
}

function readSpan(reader: Reader): number {
  const doubled = reader.number()
  return doubled % 2 === 0 ? (doubled / 2) * SECOND_MS : (doubled - 1) / 2
}

function writeBalance(writer: Writer, balance: BalanceReport, sinceMs: number): void {
  const { kind, usaget, counter } = balance
  let flags = kind === 'money' ? IS_MONEY : 0
  if (usaget !== '') flags |= HAS_USAGET
  if (counter !== '') flags |= HAS_COUNTER
  if (balance.debt !== 0) flags |= HAS_DEBT
  writer.u8(flags)
  writer.number(balance.prepaidIncludeId)
  if (usaget !== '') writer.string(usaget)
  if (counter !== '') writer.string(counter)
  writer.number(balance.free)
  writer.number(balance.reserved)
  writer.time(balance.toMs, sinceMs)
  if (flags & HAS_DEBT) writer.number(balance.debt)
}

function readBalances(reader: Reader, sinceMs: number): BalanceReport[] {
  const balances: BalanceReport[] = []
  for (let left = reader.number(); left > 0; left -= 1) {
    const flags = reader.u8()
    balances.push({
      prepaidIncludeId: reader.number(),
      kind: flags & IS_MONEY ? 'money' : 'units',
      usaget: flags & HAS_USAGET ? reader.word() : '',
      counter: flags & HAS_COUNTER ? reader.word() : '',
      free: reader.number(),
      reserved: reader.number(),
      toMs: reader.time(sinceMs),
      debt: flags & HAS_DEBT ? reader.number() : 0,
    })
  }
  return balances
}

/** Reads sessions of formats 1 to 4: MessagePack, by position. The earlier ones have less. */
import { Packr } from 'msgpackr'
import { present } from '../domain/assert.ts'
import type {
  BalanceReport,
  ChargeOutcome,
  Reason,
  ServiceOutcome,
} from '../domain/charge-outcome.ts'
import type { AnsweredRequest, ServiceSession, Session, SessionState } from '../domain/session.ts'
import { unpackReservation, unpackSegment } from './old-segments.ts'
import type { Packed } from './old-tariffs.ts'
import { CorruptValueError } from './owner-packing.ts'

export const OLD_SESSION_FORMATS: readonly number[] = [1, 2, 3, 4]
/** First byte of each: an array of ten. */
export const OLD_SESSION_MARK = 0x9a
const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly SessionState[] = ['open', 'closed', 'expired', 'denied']

/** Throws `CorruptValueError` if the value is not a packed session. */
export function unpackOldSession(aid: number, sid: number, packed: Buffer): Session {
  try {
    const fields = packr.unpack(packed) as Packed
    if (!OLD_SESSION_FORMATS.includes(fields[0] as number))
      throw new CorruptValueError('a session has an unknown format', { aid, sid })
    const [, origin, sessionId, state, openedMs, expiresMs, lastNumber, processed] = fields
    return {
      aid,
      sid,
      origin: origin as string,
      sessionId: sessionId as string,
      state: present(STATES[state as number], 'state of a session'),
      openedMs: openedMs as number,
      client: null,
      expiresMs: expiresMs as number,
      lastNumber: lastNumber as number,
      processed: processed as number,
      answered: (fields[8] as Packed[]).map(unpackAnswered),
      services: (fields[9] as Packed[]).map(unpackService),
    }
  } catch (error) {
    if (error instanceof CorruptValueError) throw error
    throw new CorruptValueError('a session is damaged', { aid, sid, cause: error })
  }
}

function unpackAnswered(fields: Packed): AnsweredRequest {
  const [requestNumber, digest, reason, detail, aid, sid, transactionId, services] = fields
  const balances = fields[8] as (Packed | BalanceReport)[] | null | undefined
  const outcome: ChargeOutcome = {
    reason: reason as Reason,
    detail: detail as string,
    aid: aid as number,
    sid: sid as number,
    transactionId: transactionId as string,
    services: (services as Packed[]).map(unpackServiceOutcome),
    cost: (fields[9] as number | undefined) ?? 0,
    balances: balances?.map(unpackBalance) ?? null,
  }
  return { requestNumber: requestNumber as number, digest: digest as number, outcome }
}

function unpackServiceOutcome(fields: Packed): ServiceOutcome {
  return {
    ratingGroup: fields[0] as number,
    serviceIdentifier: '',
    usaget: fields[1] as string,
    reason: fields[2] as Reason,
    granted: fields[3] as number,
    parts: null,
    validityMs: fields[4] as number,
    tariffChangeMs: (fields[7] as number | undefined) ?? 0,
    finalUnit: fields[5] as boolean,
    cost: (fields[6] as number | undefined) ?? 0,
    // Who only pretends leaves nothing behind to repeat.
    quote: null,
  }
}

/** The first format had names. */
function unpackBalance(packed: Packed | BalanceReport): BalanceReport {
  if (!Array.isArray(packed)) return { ...packed, counter: '', debt: 0 }
  const [prepaidIncludeId, kind, usaget, free, reserved, toMs, counter = ''] = packed
  return {
    prepaidIncludeId: prepaidIncludeId as number,
    kind: kind as BalanceReport['kind'],
    usaget: usaget as string,
    counter: counter as string,
    free: free as number,
    reserved: reserved as number,
    toMs: toMs as number,
    debt: 0,
  }
}

function unpackService(fields: Packed): ServiceSession {
  return {
    ratingGroup: fields[0] as number,
    serviceIdentifier: '',
    usaget: fields[1] as string,
    calledNumber: fields[2] as string,
    accessBorne: fields[3] as boolean,
    othersBorne: fields[7] === true,
    reportedMs: (fields[8] as number | undefined) ?? 0,
    usedTotal: (fields[9] as number | undefined) ?? 0,
    endedMicros: (fields[10] as number | undefined) ?? 0,
    segmentsEnded: fields[4] as number,
    segment: fields[5] === null ? null : unpackSegment(fields[5] as Packed),
    reservation: unpackReservation(fields[6] as Packed),
  }
}

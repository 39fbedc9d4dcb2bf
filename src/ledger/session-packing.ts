/**
 * Sessions, lines and operation results as packed values (MessagePack). A session is packed by
 * position: names would take more room than what they name. Lua does not read them.
 */
import { Packr } from 'msgpackr'
import { present } from '../domain/assert.ts'
import type { BucketRef } from '../domain/bucket.ts'
import type { ChargeOutcome, Reason } from '../domain/charge-outcome.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import type {
  AnsweredRequest,
  Payment,
  Reservation,
  Segment,
  ServiceSession,
  Session,
  SessionState,
} from '../domain/session.ts'
import type { Tariff } from '../domain/tariff.ts'
import { CorruptValueError } from './owner-packing.ts'

export const SESSION_FORMAT = 1
export const RECORD_FORMAT = 1
const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly SessionState[] = ['open', 'closed', 'expired', 'denied']

type Packed = unknown[]

export function packSession(session: Session): Buffer {
  return packr.pack([
    SESSION_FORMAT,
    session.origin,
    session.sessionId,
    STATES.indexOf(session.state),
    session.openedMs,
    session.expiresMs,
    session.lastNumber,
    session.processed,
    session.answered.map(packAnswered),
    session.services.map(packService),
  ])
}

/** Throws `CorruptValueError` if the value is not a packed session. */
export function unpackSession(aid: number, sid: number, packed: Buffer): Session {
  try {
    const fields = packr.unpack(packed) as Packed
    if (fields[0] !== SESSION_FORMAT)
      throw new CorruptValueError('a session has an unknown format', { aid, sid })
    const [, origin, sessionId, state, openedMs, expiresMs, lastNumber, processed] = fields
    return {
      aid,
      sid,
      origin: origin as string,
      sessionId: sessionId as string,
      state: present(STATES[state as number], 'state of a session'),
      openedMs: openedMs as number,
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

function packAnswered({ requestNumber, digest, outcome }: AnsweredRequest): Packed {
  const { reason, detail, aid, sid, transactionId, balances } = outcome
  const services = outcome.services.map((service) => [
    service.ratingGroup,
    service.usaget,
    service.reason,
    service.granted,
    service.validityMs,
    service.finalUnit,
  ])
  const fields = [requestNumber, digest, reason, detail, aid, sid, transactionId, services]
  return balances === null ? fields : [...fields, balances]
}

function unpackAnswered(fields: Packed): AnsweredRequest {
  const [requestNumber, digest, reason, detail, aid, sid, transactionId, services] = fields
  const outcome: ChargeOutcome = {
    reason: reason as Reason,
    detail: detail as string,
    aid: aid as number,
    sid: sid as number,
    transactionId: transactionId as string,
    services: (services as Packed[]).map((service) => ({
      ratingGroup: service[0] as number,
      usaget: service[1] as string,
      reason: service[2] as Reason,
      granted: service[3] as number,
      validityMs: service[4] as number,
      finalUnit: service[5] as boolean,
    })),
    balances: (fields[8] as ChargeOutcome['balances'] | undefined) ?? null,
  }
  return { requestNumber: requestNumber as number, digest: digest as number, outcome }
}

function packService(service: ServiceSession): Packed {
  return [
    service.ratingGroup,
    service.usaget,
    service.calledNumber,
    service.accessBorne,
    service.segmentsEnded,
    service.segment === null ? null : packSegment(service.segment),
    packReservation(service.reservation),
  ]
}

function unpackService(fields: Packed): ServiceSession {
  return {
    ratingGroup: fields[0] as number,
    usaget: fields[1] as string,
    calledNumber: fields[2] as string,
    accessBorne: fields[3] as boolean,
    segmentsEnded: fields[4] as number,
    segment: fields[5] === null ? null : unpackSegment(fields[5] as Packed),
    reservation: unpackReservation(fields[6] as Packed),
  }
}

function packSegment(segment: Segment): Packed {
  const { tariff } = segment
  return [
    segment.key,
    segment.rateKey,
    segment.plan,
    segment.cycle,
    [tariff.access, tariff.extraDigits, tariff.tiers.map(packTier)],
    [segment.number, segment.version, segment.access, segment.used, segment.priced],
    [segment.charged, segment.debt, segment.lapsedUnits, segment.lapsedMicros],
    segment.firstMs,
    segment.lastMs,
    segment.payments.map(packPayment),
    segment.late,
  ]
}

function unpackSegment(fields: Packed): Segment {
  const [key, rateKey, plan, cycle, tariff, counts, money, firstMs, lastMs, payments] = fields
  const [number, version, access, used, priced] = counts as [
    number,
    number,
    boolean,
    number,
    number,
  ]
  const [charged, debt, lapsedUnits, lapsedMicros] = money as [number, number, number, number]
  return {
    key: key as string,
    rateKey: rateKey as string,
    plan: plan as string,
    cycle: cycle as string,
    tariff: unpackTariff(tariff as Packed),
    number,
    version,
    access,
    used,
    priced,
    charged,
    debt,
    lapsedUnits,
    lapsedMicros,
    firstMs: firstMs as number,
    lastMs: lastMs as number,
    payments: (payments as Packed[]).map(unpackPayment),
    late: fields[10] === true,
  }
}

function packTier({ units, interval, price, ceil }: Tariff['tiers'][number]): Packed {
  return [units, interval, price, ceil]
}

function unpackTariff([access, extraDigits, tiers]: Packed): Tariff {
  return {
    access: access as number,
    extraDigits: extraDigits as number,
    tiers: (tiers as [number, number, number, boolean][]).map((tier) => {
      const [units, interval, price, ceil] = tier
      return { units, interval, price, ceil }
    }),
  }
}

function packPayment(payment: Payment): Packed {
  const { owner, bucketId, prepaidIncludeId, kind, amount } = payment
  return [owner, bucketId, prepaidIncludeId, kind === 'units' ? 0 : 1, amount]
}

function unpackPayment([owner, bucketId, prepaidIncludeId, kind, amount]: Packed): Payment {
  return {
    owner: owner as Payment['owner'],
    bucketId: bucketId as number,
    prepaidIncludeId: prepaidIncludeId as number,
    kind: kind === 0 ? 'units' : 'money',
    amount: amount as number,
  }
}

function packReservation({ units, slices, money }: Reservation): Packed {
  if (units === 0) return []
  return [
    units,
    slices.map(({ bucket, units }) => (bucket === null ? [units] : [units, ...packRef(bucket)])),
    money.map(({ bucket, micros }) => [micros, ...packRef(bucket)]),
  ]
}

function unpackReservation(fields: Packed): Reservation {
  if (fields.length === 0) return { units: 0, slices: [], money: [] }
  const [units, slices, money] = fields as [number, number[][], number[][]]
  return {
    units,
    slices: slices.map((slice) => ({
      bucket: slice.length === 1 ? null : unpackRef(slice),
      units: slice[0] as number,
    })),
    money: money.map((hold) => ({ bucket: unpackRef(hold), micros: hold[0] as number })),
  }
}

function packRef({ owner, id }: BucketRef): [number, number] {
  return [owner, id]
}

function unpackRef([, owner, id]: number[]): BucketRef {
  return { owner: owner as BucketRef['owner'], id: id as number }
}

/** What one commit tells the recorder beside the states of the owners. */
export interface StreamRecord {
  lines: Line[]
  operations: OperationLine[]
}

export function packRecord(record: StreamRecord): Buffer {
  return packr.pack([RECORD_FORMAT, record.lines, record.operations])
}

/** Throws `CorruptValueError` if the value is not a packed record. */
export function unpackRecord(packed: Buffer): StreamRecord {
  const [lines, operations] = unpackVersioned(packed, 'record')
  if (!Array.isArray(lines) || !Array.isArray(operations)) {
    throw new CorruptValueError('a record has no lines')
  }
  return { lines: lines as Line[], operations: operations as OperationLine[] }
}

/** The stored result of an operation, for its repetition. */
export function packResult(result: OperationLine): Buffer {
  return packr.pack([RECORD_FORMAT, result])
}

/** Throws `CorruptValueError` if the value is not a packed result. */
export function unpackResult(packed: Buffer): OperationLine {
  const [result] = unpackVersioned(packed, 'result')
  if (typeof result !== 'object' || result === null) throw new CorruptValueError('no result')
  return result as OperationLine
}

function unpackVersioned(packed: Buffer, what: string): unknown[] {
  let fields: unknown
  try {
    fields = packr.unpack(packed)
  } catch (error) {
    throw new CorruptValueError(`a ${what} is damaged`, { cause: error })
  }
  if (!Array.isArray(fields) || fields[0] !== RECORD_FORMAT) {
    throw new CorruptValueError(`a ${what} has an unknown format`)
  }
  return fields.slice(1)
}

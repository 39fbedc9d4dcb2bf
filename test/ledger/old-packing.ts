/**
 * Writes what stood in Redis before: owners of format 2, sessions of format 4, records of format 2,
 * as these were written then. Only the tests that old values are read need it.
 */
import { Packr } from 'msgpackr'
import type { Bucket, BucketKind, OwnerState, Payer } from '../../src/domain/bucket.ts'
import type { BalanceReport, ServiceOutcome } from '../../src/domain/charge-outcome.ts'
import type { Line, OperationLine } from '../../src/domain/line.ts'
import type {
  AnsweredRequest,
  CategoryPrice,
  MoneyHold,
  Payment,
  Reservation,
  Segment,
  ServiceSession,
  Session,
  SessionState,
  Slice,
} from '../../src/domain/session.ts'
import type { PriceRounding, Tariff, TariffTerms, Tier } from '../../src/domain/tariff.ts'
import type { LineRounding, TaxRule } from '../../src/domain/tax.ts'

type Packed = unknown[]
type Priced = Pick<Segment, keyof Segment & keyof Line>

const packr = new Packr({ useRecords: false, moreTypes: false, int64AsType: 'number' })
const STATES: readonly SessionState[] = ['open', 'closed', 'expired', 'denied']
const LINE_STATES: readonly Line['state'][] = ['open', 'ended', 'closed', 'expired']
const PAYMENT_KINDS: readonly Payment['kind'][] = ['units', 'money', 'limit']
const BUCKET_KINDS: readonly BucketKind[] = ['units', 'cost', 'totalCost']
const MODES: readonly PriceRounding['mode'][] = ['up', 'down', 'nearest']
const BASE = 'BASE'

export function packOldSession(session: Session): Buffer {
  return packr.pack([
    4,
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

function packAnswered({ requestNumber, digest, outcome }: AnsweredRequest): Packed {
  const { reason, detail, aid, sid, transactionId, balances } = outcome
  const services = outcome.services.map(packServiceOutcome)
  const head = [requestNumber, digest, reason, detail, aid, sid, transactionId, services]
  return [...head, balances?.map(packBalance) ?? null, outcome.cost]
}

/** Most grants see no other tariff: then the time of one is left out. */
function packServiceOutcome(service: ServiceOutcome): Packed {
  const { ratingGroup, usaget, reason, granted, validityMs, finalUnit, cost } = service
  const fields = [ratingGroup, usaget, reason, granted, validityMs, finalUnit, cost]
  return service.tariffChangeMs === 0 ? fields : [...fields, service.tariffChangeMs]
}

function packBalance(report: BalanceReport): Packed {
  const { prepaidIncludeId, kind, usaget, free, reserved, toMs, counter } = report
  const fields = [prepaidIncludeId, kind, usaget, free, reserved, toMs]
  return counter === '' ? fields : [...fields, counter]
}

function packService(service: ServiceSession): Packed {
  const fields = [
    service.ratingGroup,
    service.usaget,
    service.calledNumber,
    service.accessBorne,
    service.segmentsEnded,
    service.segment === null ? null : packSegment(service.segment),
    packReservation(service.reservation),
  ]
  const { othersBorne, reportedMs, usedTotal, endedMicros } = service
  return [...fields, othersBorne, reportedMs, usedTotal, endedMicros]
}

function packSegment(segment: Segment): Packed {
  const { key, number, payers, isPrepaid, endMs } = segment
  const packedPayers = payers.length === 0 ? null : payers.map(packPayer)
  const rest = [packedPayers, isPrepaid ? null : false]
  return [key, ...packPriced(segment, number), endMs, ...trimmed(rest)]
}

/** `number`: of the segment; a line has it in its stamp. */
function packPriced(priced: Priced, number: number): Packed {
  return [
    priced.rateKey,
    priced.plan,
    priced.cycle,
    packTariff(priced.tariff),
    [number, priced.version, priced.access, priced.used, priced.priced],
    [priced.charged, priced.debt, priced.lapsedUnits, priced.lapsedMicros],
    priced.firstMs,
    priced.lastMs,
    priced.payments.map(packPayment),
    priced.late,
    packTerms(priced),
  ]
}

/** The rarer the later; null is what most segments have. */
function packTerms(priced: Priced): Packed {
  const { priceOf, taxes, others } = priced
  return trimmed([
    priceOf === BASE ? null : priceOf,
    taxes.length === 0 ? null : taxes.map(packTax),
    priced.hasGroups ? true : null,
    countOrNull(priced.grouped),
    packRounding(priced.rounding),
    priced.band === '' ? null : priced.band,
    countOrNull(priced.covered),
    countOrNull(priced.coveredMicros),
    others.length === 0 ? null : others.map(packOther),
  ])
}

function countOrNull(count: number): number | null {
  return count === 0 ? null : count
}

function packPayment(payment: Payment): Packed {
  const { owner, bucketId, prepaidIncludeId, kind, amount, counter, left, total } = payment
  const fields = [owner, bucketId, prepaidIncludeId, PAYMENT_KINDS.indexOf(kind), amount]
  return counter === '' ? fields : [...fields, counter, left, total]
}

function packReservation({ units, slices, money }: Reservation): Packed {
  if (units === 0) return []
  return [units, slices.map(packSlice), money.map(packHold)]
}

/** Priced units alone, covered ones with a 1, those of a bucket with what names it. */
function packSlice({ bucket, units, isCovered }: Slice): number[] {
  if (bucket !== null) return [units, bucket.owner, bucket.id]
  return isCovered ? [units, 1] : [units]
}

function packHold({ payer, micros }: MoneyHold): number[] {
  return [micros, ...packPayer(payer)]
}

function packPayer({ owner, id, isGroup, alsoIn }: Payer): number[] {
  if (alsoIn !== null) return [owner, id, Number(isGroup), alsoIn.owner, alsoIn.id]
  return isGroup ? [owner, id, 1] : [owner, id]
}

/** Without the fields at its end that are null. */
function trimmed(fields: Packed): Packed {
  let end = fields.length
  while (end > 0 && fields[end - 1] === null) end -= 1
  return fields.slice(0, end)
}

function packTariff({ access, extraDigits, tiers, terms }: Tariff): Packed {
  const fields = [access, extraDigits, tiers.map(packTier)]
  return terms === null ? fields : [...fields, packTariffTerms(terms)]
}

function packTier({ units, interval, price, ceil }: Tier): Packed {
  return [units, interval, price, ceil]
}

function packTariffTerms(terms: TariffTerms): Packed {
  const { method, unitScale, factor, factorDigits, minimum, rounding } = terms
  const fields = [method === 'volume', unitScale, factor, factorDigits, minimum]
  return rounding === null ? fields : [...fields, modeNumber(rounding.mode), rounding.step]
}

function packOther({ category, rateKey, tariff, isAdded }: CategoryPrice): Packed {
  return [category, rateKey, packTariff(tariff), isAdded]
}

function packTax({ key, description, type, rate, isEmbedded }: TaxRule): Packed {
  return [key, description, type, rate, isEmbedded]
}

function packRounding(rounding: LineRounding | null): Packed | null {
  return rounding === null ? null : [modeNumber(rounding.mode), rounding.decimals]
}

function modeNumber(mode: PriceRounding['mode']): number {
  return MODES.indexOf(mode)
}

export function packOldRecord(record: { lines: Line[]; operations: OperationLine[] }): Buffer {
  return packr.pack([2, record.lines.map(packLine), record.operations])
}

function packLine(line: Line): Packed {
  const { stamp, aid, sid, origin, sessionId, ratingGroup, usaget, calledNumber, state } = line
  const identity = [stamp, aid, sid, origin, sessionId, ratingGroup, usaget, calledNumber]
  return [...identity, LINE_STATES.indexOf(state), packPriced(line, 0)]
}

export function packOldOwner(owner: OwnerState): Buffer {
  const { buckets } = owner
  const credited = buckets.reduce((sum, bucket) => sum + bucket.credited, 0)
  const head = [owner.version, owner.nextBucketId, owner.owed, owner.repaid, credited]
  return Buffer.concat([
    Buffer.from([2]),
    doubles([...head, buckets.length]),
    ...buckets.map(({ id, credited, spent, reserved, free, limit }) =>
      doubles([id, credited, spent, reserved, free, limit]),
    ),
    ...buckets.map(packOldRest),
  ])
}

function packOldRest(bucket: Bucket): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeInt32LE(bucket.priority, 0)
  fixed.writeUInt32LE(bucket.prepaidIncludeId, 4)
  fixed.writeUInt8(BUCKET_KINDS.indexOf(bucket.kind), 8)
  fixed.writeUInt8(Buffer.byteLength(bucket.usaget), 9)
  const length = Buffer.alloc(2)
  length.writeUInt16LE(Buffer.byteLength(bucket.counter))
  const times = doubles([bucket.fromMs, bucket.toMs])
  const texts = [Buffer.from(bucket.usaget), length, Buffer.from(bucket.counter)]
  return Buffer.concat([times, fixed, ...texts])
}

function doubles(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8)
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, index * 8)
  return bytes
}

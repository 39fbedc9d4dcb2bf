/**
 * Segments, what they reserve and what was paid for them, packed by position. What the first format
 * did not have comes last and is left out where nothing uses it: both formats are read alike.
 */
import { present } from '../domain/assert.ts'
import type { BucketRef, Payer } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import type { MoneyHold, Payment, Reservation, Segment, Slice } from '../domain/session.ts'
import { FOREVER_MS } from '../domain/time.ts'
import {
  type Packed,
  packOther,
  packRounding,
  packTariff,
  packTax,
  trimmed,
  unpackOther,
  unpackRounding,
  unpackTariff,
  unpackTax,
} from './tariff-packing.ts'

/** What a segment and its line have in common. */
export type Priced = Pick<Segment, keyof Segment & keyof Line>

const KINDS: readonly Payment['kind'][] = ['units', 'money', 'limit']
const BASE = 'BASE'

export function packSegment(segment: Segment): Packed {
  const { key, number, payers, isPrepaid, endMs } = segment
  const packedPayers = payers.length === 0 ? null : payers.map(packPayer)
  const rest = [packedPayers, isPrepaid ? null : false]
  return [key, ...packPriced(segment, number), endMs, ...trimmed(rest)]
}

export function unpackSegment(fields: Packed): Segment {
  const [key, ...priced] = fields
  const [endMs = FOREVER_MS, payers, isPrepaid] = fields.slice(12)
  return {
    key: key as string,
    number: numberOf(priced),
    ...unpackPriced(priced),
    payers: ((payers ?? []) as number[][]).map(unpackPayer),
    isPrepaid: isPrepaid !== false,
    endMs: endMs as number,
  }
}

/** `number`: of the segment; a line has it in its stamp. */
export function packPriced(priced: Priced, number: number): Packed {
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

function numberOf(fields: Packed): number {
  return (fields[4] as [number])[0]
}

export function unpackPriced(fields: Packed): Priced {
  const [rateKey, plan, cycle, tariff, counts, money, firstMs, lastMs, payments] = fields
  const [, version, access, used, priced] = counts as [number, number, boolean, number, number]
  const [charged, debt, lapsedUnits, lapsedMicros] = money as [number, number, number, number]
  return {
    rateKey: rateKey as string,
    plan: plan as string,
    cycle: cycle as string,
    tariff: unpackTariff(tariff as Packed),
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
    late: fields[9] === true,
    ...unpackTerms((fields[10] ?? []) as Packed),
  }
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

function unpackTerms(fields: Packed) {
  const [priceOf, taxes, hasGroups, grouped, rounding, band, covered, coveredMicros, others] =
    fields
  return {
    priceOf: (priceOf ?? BASE) as string,
    taxes: ((taxes ?? []) as Packed[]).map(unpackTax),
    hasGroups: hasGroups === true,
    grouped: (grouped ?? 0) as number,
    rounding: unpackRounding((rounding ?? null) as Packed | null),
    band: (band ?? '') as string,
    covered: (covered ?? 0) as number,
    coveredMicros: (coveredMicros ?? 0) as number,
    others: ((others ?? []) as Packed[]).map(unpackOther),
  }
}

function countOrNull(count: number): number | null {
  return count === 0 ? null : count
}

function packPayment(payment: Payment): Packed {
  const { owner, bucketId, prepaidIncludeId, kind, amount, counter, left, total } = payment
  const fields = [owner, bucketId, prepaidIncludeId, KINDS.indexOf(kind), amount]
  return counter === '' ? fields : [...fields, counter, left, total]
}

function unpackPayment(fields: Packed): Payment {
  const [owner, bucketId, prepaidIncludeId, kind, amount, counter, left, total] = fields
  return {
    owner: owner as Payment['owner'],
    bucketId: bucketId as number,
    prepaidIncludeId: prepaidIncludeId as number,
    kind: present(KINDS[kind as number], 'kind of a payment'),
    amount: amount as number,
    counter: (counter ?? '') as string,
    left: (left ?? 0) as number,
    total: (total ?? 0) as number,
  }
}

export function packReservation({ units, slices, money }: Reservation): Packed {
  if (units === 0) return []
  return [units, slices.map(packSlice), money.map(packHold)]
}

export function unpackReservation(fields: Packed): Reservation {
  if (fields.length === 0) return { units: 0, slices: [], money: [] }
  const [units, slices, money] = fields as [number, number[][], number[][]]
  return { units, slices: slices.map(unpackSlice), money: money.map(unpackHold) }
}

/** Priced units alone, covered ones with a 1, those of a bucket with what names it. */
function packSlice({ bucket, units, isCovered }: Slice): number[] {
  if (bucket !== null) return [units, bucket.owner, bucket.id]
  return isCovered ? [units, 1] : [units]
}

function unpackSlice(fields: number[]): Slice {
  const [units, ...ref] = fields as [number, ...number[]]
  const bucket = ref.length === 2 ? unpackRef(ref) : null
  return { bucket, units, isCovered: ref.length === 1 }
}

function packHold({ payer, micros }: MoneyHold): number[] {
  return [micros, ...packPayer(payer)]
}

function unpackHold([micros, ...payer]: number[]): MoneyHold {
  return { payer: unpackPayer(payer), micros: micros as number }
}

function packPayer({ owner, id, isGroup, alsoIn }: Payer): number[] {
  if (alsoIn !== null) return [owner, id, Number(isGroup), alsoIn.owner, alsoIn.id]
  return isGroup ? [owner, id, 1] : [owner, id]
}

function unpackPayer(fields: number[]): Payer {
  const alsoIn = fields.length > 3 ? unpackRef(fields.slice(3)) : null
  return { ...unpackRef(fields), isGroup: fields[2] === 1, alsoIn }
}

function unpackRef([owner, id]: number[]): BucketRef {
  return { owner: owner as BucketRef['owner'], id: id as number }
}

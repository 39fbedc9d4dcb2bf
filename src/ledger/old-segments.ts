/**
 * Reads the segments of old sessions and records, packed by position. What the first format did not
 * have comes last and is left out where nothing uses it: all are read alike.
 */
import { present } from '../domain/assert.ts'
import type { BucketRef, Payer } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import type { MoneyHold, Payment, Reservation, Segment, Slice } from '../domain/session.ts'
import { FOREVER_MS } from '../domain/time.ts'
import { type Packed, unpackOther, unpackRounding, unpackTariff, unpackTax } from './old-tariffs.ts'

/** What a segment and its line have in common. */
export type Priced = Pick<Segment, keyof Segment & keyof Line>

const KINDS: readonly Payment['kind'][] = ['units', 'money', 'limit']
const BASE = 'BASE'

export function unpackSegment(fields: Packed): Segment {
  const [key, ...priced] = fields
  const [endMs = FOREVER_MS, payers, isPrepaid] = fields.slice(12)
  const same = unpackPriced(priced)
  return {
    key: key as string,
    rateKey: same.rateKey,
    plan: same.plan,
    cycle: same.cycle,
    tariff: same.tariff,
    priceOf: same.priceOf,
    band: same.band,
    others: same.others,
    taxes: same.taxes,
    rounding: same.rounding,
    hasGroups: same.hasGroups,
    payers: ((payers ?? []) as number[][]).map(unpackPayer),
    isPrepaid: isPrepaid !== false,
    endMs: endMs as number,
    number: numberOf(priced),
    version: same.version,
    carried: null,
    access: same.access,
    used: same.used,
    grouped: same.grouped,
    covered: same.covered,
    priced: same.priced,
    coveredMicros: same.coveredMicros,
    charged: same.charged,
    debt: same.debt,
    accountDebt: same.accountDebt,
    lapsedUnits: same.lapsedUnits,
    lapsedMicros: same.lapsedMicros,
    payments: same.payments,
    firstMs: same.firstMs,
    lastMs: same.lastMs,
    late: same.late,
  }
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
    carried: null,
    access,
    used,
    priced,
    charged,
    debt,
    accountDebt: 0,
    lapsedUnits,
    lapsedMicros,
    firstMs: firstMs as number,
    lastMs: lastMs as number,
    payments: (payments as Packed[]).map(unpackPayment),
    late: fields[9] === true,
    ...unpackTerms((fields[10] ?? []) as Packed),
  }
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

export function unpackReservation(fields: Packed): Reservation {
  if (fields.length === 0) return { units: 0, slices: [], money: [] }
  const [units, slices, money] = fields as [number, number[][], number[][]]
  return { units, slices: slices.map(unpackSlice), money: money.map(unpackHold) }
}

function unpackSlice(fields: number[]): Slice {
  const [units, ...ref] = fields as [number, ...number[]]
  const bucket = ref.length === 2 ? unpackRef(ref) : null
  return { bucket, units, isCovered: ref.length === 1 }
}

function unpackHold([micros, ...payer]: number[]): MoneyHold {
  return { payer: unpackPayer(payer), micros: micros as number }
}

function unpackPayer(fields: number[]): Payer {
  const alsoIn = fields.length > 3 ? unpackRef(fields.slice(3)) : null
  return { ...unpackRef(fields), isGroup: fields[2] === 1, alsoIn }
}

function unpackRef([owner, id]: number[]): BucketRef {
  return { owner: owner as BucketRef['owner'], id: id as number }
}

/**
 * Encodes segments, their payments and their reservations. Numbers, times and texts as `Writer`
 * writes them; times are relative to an instant that the caller knows:
 *
 *   segment      pricing | u8 flags | funding sources | end | digest and end of the terms after
 *                it | number | counts
 *   counts       version, used | included units, included money | charged units | money that groups
 *                covered | charged | debt, forfeited units and micros | debt of the account |
 *                payments (payment-packing.ts) | first and last time | carried state
 *                (carried-packing.ts)
 *   reservation  slices: u8 flags | bucket | units;  holds: source | micros;  units minus slices
 *   source       u8 flags | bucket | limit counter
 *
 * A field whose flag is not set is empty or 0.
 */
import type { BucketRef, FundingSource, OwnerSlot } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import type { MoneyHold, Reservation, Segment, Slice } from '../domain/session.ts'
import { readCarried, writeCarried } from './carried-packing.ts'
import { readPayments, writePayments } from './payment-packing.ts'
import { readPricing, writePricing } from './pricing-packing.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

const ACCESS = 1
const REPORTED_AFTER_EXPIRY = 2
const HAS_GROUPS = 4
const FUNDING_SOURCES = 8
/** Any of the values that only occur with groups, debt or expired buckets is not 0. */
const RARE = 16
const ACCOUNT_DEBT = 32
const CARRIED = 64
const TERMS_AFTER = 128

const SOURCE_OF_ACCOUNT = 1
const SOURCE_IS_GROUP = 2
const SOURCE_COUNTER_OWN = 4
const SOURCE_COUNTER_ACCOUNT = 8

const SLICE_OF_OWN = 1
const SLICE_OF_ACCOUNT = 2
const SLICE_IS_INCLUDED = 4

export function writeSegment(writer: Writer, segment: Segment, sinceMs: number): void {
  const { fundingSources, after } = segment
  let flags = flagsOf(segment)
  if (fundingSources.length > 0) flags |= FUNDING_SOURCES
  if (after !== null) flags |= TERMS_AFTER
  writePricing(writer, segment)
  writer.u8(flags)
  if (fundingSources.length > 0) {
    writer.number(fundingSources.length)
    for (const source of fundingSources) writeFundingSource(writer, source)
  }
  writer.time(segment.endMs, sinceMs)
  if (after !== null) {
    writer.number(after.digest)
    writer.time(after.endMs, sinceMs)
  }
  writer.number(segment.number)
  writeCounts(writer, segment, flags, sinceMs)
}

export function readSegment(reader: Reader, sinceMs: number): Segment {
  const pricing = readPricing(reader)
  const flags = reader.u8()
  const fundingSources = flags & FUNDING_SOURCES ? readFundingSources(reader) : []
  const endMs = reader.time(sinceMs)
  const hasAfter = (flags & TERMS_AFTER) !== 0
  const after = hasAfter ? { digest: reader.number(), endMs: reader.time(sinceMs) } : null
  const number = reader.number()
  const counts = readCounts(reader, flags, sinceMs)
  return {
    key: pricing.key,
    rateKey: pricing.rateKey,
    plan: pricing.plan,
    cycle: pricing.cycle,
    tariff: pricing.tariff,
    priceOf: pricing.priceOf,
    band: pricing.band,
    others: pricing.others,
    taxes: pricing.taxes,
    rounding: pricing.rounding,
    hasGroups: (flags & HAS_GROUPS) !== 0,
    fundingSources,
    isPrepaid: pricing.isPrepaid,
    endMs,
    after,
    number,
    version: counts.version,
    carried: counts.carried,
    access: (flags & ACCESS) !== 0,
    used: counts.used,
    includedUnits: counts.includedUnits,
    includedMoneyUnits: counts.includedMoneyUnits,
    chargedUnits: counts.chargedUnits,
    includedMicros: counts.includedMicros,
    charged: counts.charged,
    debt: counts.debt,
    accountDebt: counts.accountDebt,
    forfeitedUnits: counts.forfeitedUnits,
    forfeitedMicros: counts.forfeitedMicros,
    payments: counts.payments,
    firstMs: counts.firstMs,
    lastMs: counts.lastMs,
    late: (flags & REPORTED_AFTER_EXPIRY) !== 0,
  }
}

/** Writes the part of a line that comes from its segment; it follows the line's identity. */
export function writeLineParts(writer: Writer, line: Line): void {
  const flags = flagsOf(line)
  writePricing(writer, {
    key: '',
    rateKey: line.rateKey,
    plan: line.plan,
    cycle: line.cycle,
    tariff: line.tariff,
    priceOf: line.priceOf,
    band: line.band,
    others: line.others,
    taxes: line.taxes,
    rounding: line.rounding,
    isPrepaid: true,
  })
  writer.u8(flags)
  writeCounts(writer, line, flags, 0)
}

type LineName = Pick<
  Line,
  | 'stamp'
  | 'aid'
  | 'sid'
  | 'origin'
  | 'sessionId'
  | 'ratingGroup'
  | 'serviceIdentifier'
  | 'usaget'
  | 'calledNumber'
  | 'state'
>

export function readLineParts(reader: Reader, name: LineName): Line {
  const pricing = readPricing(reader)
  const flags = reader.u8()
  const counts = readCounts(reader, flags, 0)
  return {
    stamp: name.stamp,
    version: counts.version,
    aid: name.aid,
    sid: name.sid,
    origin: name.origin,
    sessionId: name.sessionId,
    ratingGroup: name.ratingGroup,
    serviceIdentifier: name.serviceIdentifier,
    usaget: name.usaget,
    calledNumber: name.calledNumber,
    rateKey: pricing.rateKey,
    plan: pricing.plan,
    cycle: pricing.cycle,
    used: counts.used,
    includedUnits: counts.includedUnits,
    includedMoneyUnits: counts.includedMoneyUnits,
    chargedUnits: counts.chargedUnits,
    includedMicros: counts.includedMicros,
    charged: counts.charged,
    debt: counts.debt,
    accountDebt: counts.accountDebt,
    hasGroups: (flags & HAS_GROUPS) !== 0,
    tariff: pricing.tariff,
    carried: counts.carried,
    access: (flags & ACCESS) !== 0,
    priceOf: pricing.priceOf,
    band: pricing.band,
    others: pricing.others,
    taxes: pricing.taxes,
    rounding: pricing.rounding,
    forfeitedUnits: counts.forfeitedUnits,
    forfeitedMicros: counts.forfeitedMicros,
    payments: counts.payments,
    firstMs: counts.firstMs,
    lastMs: counts.lastMs,
    state: name.state,
    late: (flags & REPORTED_AFTER_EXPIRY) !== 0,
  }
}

function flagsOf(values: Segment | Line): number {
  const hasIncluded =
    values.includedUnits !== 0 || values.includedMoneyUnits !== 0 || values.includedMicros !== 0
  const hasForfeited = values.forfeitedUnits !== 0 || values.forfeitedMicros !== 0
  let flags = hasIncluded || hasForfeited || values.debt !== 0 ? RARE : 0
  if (values.access) flags |= ACCESS
  if (values.late) flags |= REPORTED_AFTER_EXPIRY
  if (values.hasGroups) flags |= HAS_GROUPS
  if (values.accountDebt !== 0) flags |= ACCOUNT_DEBT
  if (values.carried !== null) flags |= CARRIED
  return flags
}

function writeCounts(writer: Writer, values: Segment | Line, flags: number, sinceMs: number): void {
  const isRare = (flags & RARE) !== 0
  writer.number(values.version)
  writer.number(values.used)
  if (isRare) {
    writer.number(values.includedUnits)
    writer.number(values.includedMoneyUnits)
  }
  writer.number(values.chargedUnits)
  if (isRare) writer.number(values.includedMicros)
  writer.number(values.charged)
  if (isRare) {
    writer.number(values.debt)
    writer.number(values.forfeitedUnits)
    writer.number(values.forfeitedMicros)
  }
  if (flags & ACCOUNT_DEBT) writer.number(values.accountDebt)
  writePayments(writer, values.payments)
  writer.time(values.firstMs, sinceMs)
  writer.time(values.lastMs, sinceMs)
  if (values.carried !== null) writeCarried(writer, values.carried)
}

type Counts = Pick<
  Segment,
  | 'version'
  | 'used'
  | 'includedUnits'
  | 'includedMoneyUnits'
  | 'chargedUnits'
  | 'includedMicros'
  | 'charged'
  | 'debt'
  | 'accountDebt'
  | 'forfeitedUnits'
  | 'forfeitedMicros'
  | 'payments'
  | 'firstMs'
  | 'lastMs'
  | 'carried'
>

/** One statement per value, in the order of `writeCounts`. */
function readCounts(reader: Reader, flags: number, sinceMs: number): Counts {
  const isRare = (flags & RARE) !== 0
  const version = reader.number()
  const used = reader.number()
  const includedUnits = isRare ? reader.number() : 0
  const includedMoneyUnits = isRare ? reader.number() : 0
  const chargedUnits = reader.number()
  const includedMicros = isRare ? reader.number() : 0
  const charged = reader.number()
  const debt = isRare ? reader.number() : 0
  const forfeitedUnits = isRare ? reader.number() : 0
  const forfeitedMicros = isRare ? reader.number() : 0
  const accountDebt = flags & ACCOUNT_DEBT ? reader.number() : 0
  const payments = readPayments(reader)
  const firstMs = reader.time(sinceMs)
  const lastMs = reader.time(sinceMs)
  const carried = flags & CARRIED ? readCarried(reader) : null
  return {
    version,
    used,
    includedUnits,
    includedMoneyUnits,
    chargedUnits,
    includedMicros,
    charged,
    debt,
    accountDebt,
    forfeitedUnits,
    forfeitedMicros,
    payments,
    firstMs,
    lastMs,
    carried,
  }
}

export function writeReservation(writer: Writer, { units, slices, money }: Reservation): void {
  let sum = 0
  writer.number(slices.length)
  for (const slice of slices) {
    writeSlice(writer, slice)
    sum += slice.units
  }
  writer.number(money.length)
  for (const { source, micros } of money) {
    writeFundingSource(writer, source)
    writer.number(micros)
  }
  writer.number(units - sum)
}

export function readReservation(reader: Reader): Reservation {
  let sum = 0
  const slices = reader.list<Slice>()
  for (let at = 0; at < slices.length; at += 1) {
    const slice = readSlice(reader)
    sum += slice.units
    slices[at] = slice
  }
  const money = reader.list<MoneyHold>()
  for (let at = 0; at < money.length; at += 1) {
    money[at] = { source: readFundingSource(reader), micros: reader.number() }
  }
  return { units: sum + reader.number(), slices, money }
}

function writeSlice(writer: Writer, { bucket, units, isCovered }: Slice): void {
  let flags = isCovered ? SLICE_IS_INCLUDED : 0
  if (bucket !== null) flags |= bucket.owner === 0 ? SLICE_OF_OWN : SLICE_OF_ACCOUNT
  writer.u8(flags)
  if (bucket !== null) writer.number(bucket.id)
  writer.number(units)
}

function readSlice(reader: Reader): Slice {
  const flags = reader.u8()
  return {
    bucket: readRef(reader, flags & SLICE_OF_OWN, flags & SLICE_OF_ACCOUNT),
    units: reader.number(),
    isCovered: (flags & SLICE_IS_INCLUDED) !== 0,
  }
}

function writeFundingSource(
  writer: Writer,
  { owner, id, isGroup, limitCounter }: FundingSource,
): void {
  let flags = owner === 1 ? SOURCE_OF_ACCOUNT : 0
  if (isGroup) flags |= SOURCE_IS_GROUP
  if (limitCounter !== null)
    flags |= limitCounter.owner === 0 ? SOURCE_COUNTER_OWN : SOURCE_COUNTER_ACCOUNT
  writer.u8(flags)
  writer.number(id)
  if (limitCounter !== null) writer.number(limitCounter.id)
}

function readFundingSource(reader: Reader): FundingSource {
  const flags = reader.u8()
  return {
    owner: flags & SOURCE_OF_ACCOUNT ? 1 : 0,
    id: reader.number(),
    isGroup: (flags & SOURCE_IS_GROUP) !== 0,
    limitCounter: readRef(reader, flags & SOURCE_COUNTER_OWN, flags & SOURCE_COUNTER_ACCOUNT),
  }
}

function readFundingSources(reader: Reader): FundingSource[] {
  const sources = reader.list<FundingSource>()
  for (let at = 0; at < sources.length; at += 1) sources[at] = readFundingSource(reader)
  return sources
}

/**
 * Two flags: a bucket of the subscriber, or of the account; if neither is set there is no bucket.
 */
function readRef(reader: Reader, ofOwn: number, ofAccount: number): BucketRef | null {
  if (ofOwn === 0 && ofAccount === 0) return null
  const owner: OwnerSlot = ofOwn !== 0 ? 0 : 1
  return { owner, id: reader.number() }
}

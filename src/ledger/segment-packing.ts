/**
 * Encodes segments, their payments and their reservations. Numbers, times and texts as `Writer`
 * writes them; times are relative to an instant that the caller knows:
 *
 *   segment      pricing | u8 flags | funding sources | end | digest and end of the terms after
 *                it | number | version | counts
 *   counts       used | included units, included money | charged units | money that groups
 *                covered | charged | debt, forfeited units and micros | debt of the account |
 *                payments (payment-packing.ts) | first and last time | carried state
 *                (carried-packing.ts)
 *   reservation  slices: u8 flags | bucket | units;  holds: source | micros;  units minus slices
 *   source       u8 flags | bucket | limit counter
 *
 * A field whose flag is not set is empty or 0.
 */
import type { BucketRef, FundingSource, OwnerSlot } from '../domain/bucket.ts'
import { type Counts, newCounts } from '../domain/counts.ts'
import type { Line } from '../domain/line.ts'
import type { MoneyHold, Reservation, Segment, Slice } from '../domain/session.ts'
import { readCarried, writeCarried } from './carried-packing.ts'
import { readPayments, writePayments } from './payment-packing.ts'
import { readPricing, writeLinePricing, writePricing } from './pricing-packing.ts'
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
  const { fundingSources, after, counts } = segment
  let flags = flagsOf(counts)
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
  writer.number(segment.version)
  writeCounts(writer, counts, flags, sinceMs)
}

export function readSegment(reader: Reader, sinceMs: number): Segment {
  const { key, isPrepaid, pricing } = readPricing(reader)
  const flags = reader.u8()
  const fundingSources = flags & FUNDING_SOURCES ? readFundingSources(reader) : []
  const endMs = reader.time(sinceMs)
  const hasAfter = (flags & TERMS_AFTER) !== 0
  const after = hasAfter ? { digest: reader.number(), endMs: reader.time(sinceMs) } : null
  return {
    key,
    pricing,
    fundingSources,
    isPrepaid,
    endMs,
    after,
    number: reader.number(),
    version: reader.number(),
    counts: readCounts(reader, flags, sinceMs),
  }
}

/** Writes the part of a line that comes from its segment; it follows the line's identity. */
export function writeLineParts(writer: Writer, { pricing, version, counts }: LineParts): void {
  const flags = flagsOf(counts)
  writeLinePricing(writer, pricing)
  writer.u8(flags)
  writer.number(version)
  writeCounts(writer, counts, flags, 0)
}

type LineParts = Pick<Line, 'pricing' | 'version' | 'counts'>

export function readLineParts(reader: Reader): LineParts {
  const { pricing } = readPricing(reader)
  const flags = reader.u8()
  return { pricing, version: reader.number(), counts: readCounts(reader, flags, 0) }
}

function flagsOf(counts: Counts): number {
  const hasIncluded =
    counts.includedUnits !== 0 || counts.includedMoneyUnits !== 0 || counts.includedMicros !== 0
  const hasForfeited = counts.forfeitedUnits !== 0 || counts.forfeitedMicros !== 0
  let flags = hasIncluded || hasForfeited || counts.debt !== 0 ? RARE : 0
  if (counts.access) flags |= ACCESS
  if (counts.late) flags |= REPORTED_AFTER_EXPIRY
  if (counts.hasGroups) flags |= HAS_GROUPS
  if (counts.accountDebt !== 0) flags |= ACCOUNT_DEBT
  if (counts.carried !== null) flags |= CARRIED
  return flags
}

function writeCounts(writer: Writer, counts: Counts, flags: number, sinceMs: number): void {
  const isRare = (flags & RARE) !== 0
  writer.number(counts.used)
  if (isRare) {
    writer.number(counts.includedUnits)
    writer.number(counts.includedMoneyUnits)
  }
  writer.number(counts.chargedUnits)
  if (isRare) writer.number(counts.includedMicros)
  writer.number(counts.charged)
  if (isRare) {
    writer.number(counts.debt)
    writer.number(counts.forfeitedUnits)
    writer.number(counts.forfeitedMicros)
  }
  if (flags & ACCOUNT_DEBT) writer.number(counts.accountDebt)
  writePayments(writer, counts.payments)
  writer.time(counts.firstMs, sinceMs)
  writer.time(counts.lastMs, sinceMs)
  if (counts.carried !== null) writeCarried(writer, counts.carried)
}

/** One statement per value, in the order of `writeCounts`. */
function readCounts(reader: Reader, flags: number, sinceMs: number): Counts {
  const isRare = (flags & RARE) !== 0
  const counts = newCounts(0, (flags & HAS_GROUPS) !== 0, (flags & ACCESS) !== 0, null)
  counts.late = (flags & REPORTED_AFTER_EXPIRY) !== 0
  counts.used = reader.number()
  if (isRare) {
    counts.includedUnits = reader.number()
    counts.includedMoneyUnits = reader.number()
  }
  counts.chargedUnits = reader.number()
  if (isRare) counts.includedMicros = reader.number()
  counts.charged = reader.number()
  if (isRare) {
    counts.debt = reader.number()
    counts.forfeitedUnits = reader.number()
    counts.forfeitedMicros = reader.number()
  }
  if (flags & ACCOUNT_DEBT) counts.accountDebt = reader.number()
  counts.payments = readPayments(reader)
  counts.firstMs = reader.time(sinceMs)
  counts.lastMs = reader.time(sinceMs)
  if (flags & CARRIED) counts.carried = readCarried(reader)
  return counts
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

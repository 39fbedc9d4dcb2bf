/**
 * Encodes the state of an owner, which Lua and the workers read. Little endian:
 *
 *   u8 format | f64 version, total credited, bucket count, owed, repaid, nextBucketId
 *   per bucket: f64 id, credited, spent, reserved, free, limit               (checked by scripts)
 *   per bucket: u8 flags | from, to | priority | prepaid include | usage type | counter
 *
 * Numbers, times and texts of the last row are as `Writer` writes them; times are relative to the
 * begin of the previous bucket.
 */
import { assert, present } from '../domain/assert.ts'
import { assertConserved, type Bucket, type BucketKind, type OwnerState } from '../domain/bucket.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

const OWNER_FORMAT = 2
const AMOUNTS_BYTES = 48
const KINDS: readonly BucketKind[] = ['units', 'cost', 'totalCost']
/** Mask of the kind; the other bits are flags. */
const KIND_BITS = 3
const HAS_USAGET = 4
const HAS_COUNTER = 8
const scratch = new Writer(512)

/**
 * A stored value that this code did not write: damage, never a client's mistake. Account and
 * subscriber are fields, not part of the message, so that logs can mask them (runtime/mask.ts).
 */
export class CorruptValueError extends Error {
  override name = 'CorruptValueError'
  readonly aid: number | undefined
  readonly sid: number | undefined

  constructor(message: string, options: ErrorOptions & { aid?: number; sid?: number } = {}) {
    super(message, options)
    this.aid = options.aid
    this.sid = options.sid
  }
}

export function packOwner(owner: OwnerState): Buffer {
  scratch.clear()
  writeOwnerState(scratch, owner)
  return scratch.take()
}

export function writeOwnerState(writer: Writer, owner: OwnerState): void {
  const { buckets } = owner
  let credited = 0
  for (const bucket of buckets) credited += bucket.credited
  writer.u8(OWNER_FORMAT)
  writer.f64(owner.version)
  writer.f64(credited)
  writer.f64(buckets.length)
  writer.f64(owner.owed)
  writer.f64(owner.repaid)
  writer.f64(owner.nextBucketId)
  for (const bucket of buckets) writeAmounts(writer, bucket)
  let sinceMs = 0
  for (const bucket of buckets) {
    writeRest(writer, bucket, sinceMs)
    sinceMs = bucket.fromMs
  }
}

function writeAmounts(writer: Writer, bucket: Bucket): void {
  writer.f64(bucket.id)
  writer.f64(bucket.credited)
  writer.f64(bucket.spent)
  writer.f64(bucket.reserved)
  writer.f64(bucket.free)
  writer.f64(bucket.limit)
}

function writeRest(writer: Writer, bucket: Bucket, sinceMs: number): void {
  const { usaget, counter } = bucket
  let flags = KINDS.indexOf(bucket.kind)
  if (usaget !== '') flags |= HAS_USAGET
  if (counter !== '') flags |= HAS_COUNTER
  writer.u8(flags)
  writer.time(bucket.fromMs, sinceMs)
  writer.time(bucket.toMs, sinceMs)
  writer.number(bucket.priority)
  writer.number(bucket.prepaidIncludeId)
  if (usaget !== '') writer.string(usaget)
  if (counter !== '') writer.string(counter)
}

/**
 * Throws `CorruptValueError` if the value is not a packed owner or its amounts are inconsistent.
 */
export function unpackOwner(aid: number, sid: number, packed: Buffer): OwnerState {
  return readOwner(aid, sid, new Reader(packed))
}

/** As `unpackOwner`, of the value that the reader has opened. */
export function readOwner(aid: number, sid: number, reader: Reader): OwnerState {
  try {
    return readParts(aid, sid, reader)
  } catch (error) {
    if (error instanceof CorruptValueError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new CorruptValueError(`an owner is damaged: ${why}`, { aid, sid, cause: error })
  }
}

function readParts(aid: number, sid: number, reader: Reader): OwnerState {
  if (reader.u8() !== OWNER_FORMAT) {
    throw new CorruptValueError('an owner has an unknown format', { aid, sid })
  }
  const version = reader.f64()
  // Skips the total, which only the scripts compare.
  reader.skip(8)
  const count = reader.f64()
  const owed = reader.f64()
  const repaid = reader.f64()
  const nextBucketId = reader.f64()
  const amountsAt = reader.skip(count * AMOUNTS_BYTES)
  const buckets = new Array<Bucket>(count)
  let sinceMs = 0
  for (let index = 0; index < count; index += 1) {
    const bucket = readBucket(reader, amountsAt + index * AMOUNTS_BYTES, sinceMs)
    buckets[index] = bucket
    sinceMs = bucket.fromMs
  }
  if (!reader.isAtEnd) throw new CorruptValueError('an owner has a wrong length', { aid, sid })
  const owner: OwnerState = { aid, sid, version, nextBucketId, owed, repaid, buckets }
  assert(Number.isSafeInteger(owner.version), 'version is not an integer')
  assertConserved(owner)
  return owner
}

function readBucket(reader: Reader, amountsAt: number, sinceMs: number): Bucket {
  const flags = reader.u8()
  const fromMs = reader.time(sinceMs)
  const toMs = reader.time(sinceMs)
  const priority = reader.number()
  return {
    id: reader.f64At(amountsAt),
    prepaidIncludeId: reader.number(),
    kind: present(KINDS[flags & KIND_BITS], 'bucket kind'),
    usaget: flags & HAS_USAGET ? reader.word() : '',
    priority,
    fromMs,
    toMs,
    credited: reader.f64At(amountsAt + 8),
    spent: reader.f64At(amountsAt + 16),
    reserved: reader.f64At(amountsAt + 24),
    free: reader.f64At(amountsAt + 32),
    limit: reader.f64At(amountsAt + 40),
    counter: flags & HAS_COUNTER ? reader.word() : '',
  }
}

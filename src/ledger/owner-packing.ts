/**
 * An owner's state as one packed value, read by Lua and by the workers. Little endian:
 *
 *   u8 format | f64 version, nextBucketId, owed, repaid, total credited, bucket count
 *   per bucket: f64 id, credited, spent, reserved, free, limit            (what the scripts check)
 *   per bucket: f64 fromMs, toMs | i32 priority | u32 prepaidIncludeId | u8 kind | u8 length,
 *   usaget | u16 length, counter
 *
 * Format 1, which is still read, has no counters.
 */
import { assert, present } from '../domain/assert.ts'
import { assertConserved, type Bucket, type BucketKind, type OwnerState } from '../domain/bucket.ts'

export const OWNER_FORMAT = 2
/** Formats that are read; owners are written in the newest. */
export const OWNER_FORMATS: readonly number[] = [1, OWNER_FORMAT]
const HEADER_BYTES = 49
const AMOUNTS_BYTES = 48
const REST_BYTES = 26
const LENGTH_BYTES = 2
const KINDS: readonly BucketKind[] = ['units', 'cost', 'totalCost']

/**
 * A stored value that is not what we write: damage, never a client's mistake. Whose it is stands
 * beside the message, for logs hide it (runtime/mask.ts).
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
  const { buckets } = owner
  let size = HEADER_BYTES
  let credited = 0
  for (const bucket of buckets) {
    size += AMOUNTS_BYTES + REST_BYTES + Buffer.byteLength(bucket.usaget)
    size += LENGTH_BYTES + Buffer.byteLength(bucket.counter)
    credited += bucket.credited
  }
  const packed = Buffer.allocUnsafe(size)
  packed.writeUInt8(OWNER_FORMAT, 0)
  packed.writeDoubleLE(owner.version, 1)
  packed.writeDoubleLE(owner.nextBucketId, 9)
  packed.writeDoubleLE(owner.owed, 17)
  packed.writeDoubleLE(owner.repaid, 25)
  packed.writeDoubleLE(credited, 33)
  packed.writeDoubleLE(buckets.length, 41)
  let at = HEADER_BYTES
  for (const bucket of buckets) at = writeAmounts(packed, at, bucket)
  for (const bucket of buckets) at = writeRest(packed, at, bucket)
  assert(at === size, 'packed owner has another size than computed')
  return packed
}

function writeAmounts(packed: Buffer, at: number, bucket: Bucket): number {
  packed.writeDoubleLE(bucket.id, at)
  packed.writeDoubleLE(bucket.credited, at + 8)
  packed.writeDoubleLE(bucket.spent, at + 16)
  packed.writeDoubleLE(bucket.reserved, at + 24)
  packed.writeDoubleLE(bucket.free, at + 32)
  packed.writeDoubleLE(bucket.limit, at + 40)
  return at + AMOUNTS_BYTES
}

function writeRest(packed: Buffer, at: number, bucket: Bucket): number {
  packed.writeDoubleLE(bucket.fromMs, at)
  packed.writeDoubleLE(bucket.toMs, at + 8)
  packed.writeInt32LE(bucket.priority, at + 16)
  packed.writeUInt32LE(bucket.prepaidIncludeId, at + 20)
  packed.writeUInt8(KINDS.indexOf(bucket.kind), at + 24)
  const length = packed.write(bucket.usaget, at + REST_BYTES)
  packed.writeUInt8(length, at + 25)
  const end = at + REST_BYTES + length
  const counterLength = packed.write(bucket.counter, end + LENGTH_BYTES)
  packed.writeUInt16LE(counterLength, end)
  return end + LENGTH_BYTES + counterLength
}

/** Throws `CorruptValueError` if the value is not a packed owner, or its sums do not hold. */
export function unpackOwner(aid: number, sid: number, packed: Buffer): OwnerState {
  try {
    return readOwner(aid, sid, packed)
  } catch (error) {
    if (error instanceof CorruptValueError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new CorruptValueError(`an owner is damaged: ${why}`, { aid, sid, cause: error })
  }
}

function readOwner(aid: number, sid: number, packed: Buffer): OwnerState {
  const count = packed.readDoubleLE(41)
  const format = packed[0] ?? 0
  if (!OWNER_FORMATS.includes(format) || !(count >= 0) || count > packed.length) {
    throw new CorruptValueError('an owner has an unknown format', { aid, sid })
  }
  const buckets: Bucket[] = []
  let at = HEADER_BYTES + count * AMOUNTS_BYTES
  for (let index = 0; index < count; index += 1) {
    const amounts = HEADER_BYTES + index * AMOUNTS_BYTES
    const end = at + REST_BYTES + packed.readUInt8(at + 25)
    const counterEnd = format === 1 ? end : end + LENGTH_BYTES + packed.readUInt16LE(end)
    buckets.push({
      id: packed.readDoubleLE(amounts),
      prepaidIncludeId: packed.readUInt32LE(at + 20),
      kind: present(KINDS[packed.readUInt8(at + 24)], 'bucket kind'),
      usaget: packed.toString('utf8', at + REST_BYTES, end),
      priority: packed.readInt32LE(at + 16),
      fromMs: packed.readDoubleLE(at),
      toMs: packed.readDoubleLE(at + 8),
      credited: packed.readDoubleLE(amounts + 8),
      spent: packed.readDoubleLE(amounts + 16),
      reserved: packed.readDoubleLE(amounts + 24),
      free: packed.readDoubleLE(amounts + 32),
      limit: packed.readDoubleLE(amounts + 40),
      counter: format === 1 ? '' : packed.toString('utf8', end + LENGTH_BYTES, counterEnd),
    })
    at = counterEnd
  }
  if (at !== packed.length) {
    throw new CorruptValueError('an owner has a wrong length', { aid, sid })
  }
  const owner: OwnerState = {
    aid,
    sid,
    version: packed.readDoubleLE(1),
    nextBucketId: packed.readDoubleLE(9),
    owed: packed.readDoubleLE(17),
    repaid: packed.readDoubleLE(25),
    buckets,
  }
  assert(Number.isSafeInteger(owner.version), 'version is not an integer')
  assertConserved(owner)
  return owner
}

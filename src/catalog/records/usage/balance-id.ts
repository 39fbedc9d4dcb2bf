/** The id of a balance, the same in MongoDB, in the API and for the recorder. */
import { createHash } from 'node:crypto'
import { ObjectId } from 'mongodb'

/** Owner and bucket of a balance. */
export interface BalanceKey {
  aid: number
  /** 0 for the shared balances of the account. */
  sid: number
  bucketId: number
}

const OWNER_BITS = 40
const BUCKET_BITS = 15
const OWNER_END = 2 ** OWNER_BITS
const BUCKET_END = 2 ** BUCKET_BITS
const HASHED = 0x80
const HEX = /^[0-9a-f]{24}$/

/**
 * 24 hex digits: a zero bit, then account, subscriber and bucket in 40, 40 and 15 bits. If a number
 * is too large, the id is a hash with the first bit set, which only the projection can resolve.
 */
export function balanceIdOf({ aid, sid, bucketId }: BalanceKey): string {
  const fits = [aid, sid].every((one) => one < OWNER_END) && bucketId < BUCKET_END
  if (!fits) return hashed(`${aid}:${sid}:${bucketId}`)
  const owner = (BigInt(aid) << BigInt(OWNER_BITS)) | BigInt(sid)
  const bits = (owner << BigInt(BUCKET_BITS)) | BigInt(bucketId)
  return bits.toString(16).padStart(24, '0')
}

export function balanceObjectId(key: BalanceKey): ObjectId {
  return ObjectId.createFromHexString(balanceIdOf(key))
}

/** Null if the value is not the id of a balance, or if it is a hash. */
export function parseBalanceId(id: string): BalanceKey | null {
  const hex = id.toLowerCase()
  if (!HEX.test(hex) || isHashed(hex)) return null
  const bits = BigInt(`0x${hex}`)
  const part = (shift: number, width: number) =>
    Number((bits >> BigInt(shift)) & ((1n << BigInt(width)) - 1n))
  return {
    aid: part(OWNER_BITS + BUCKET_BITS, OWNER_BITS),
    sid: part(BUCKET_BITS, OWNER_BITS),
    bucketId: part(0, BUCKET_BITS),
  }
}

/** Whether the id is a hash, which has to be looked up in the projection. */
export function isHashedBalanceId(id: string): boolean {
  const hex = id.toLowerCase()
  return HEX.test(hex) && isHashed(hex)
}

function isHashed(hex: string): boolean {
  return Number.parseInt(hex.slice(0, 2), 16) >= HASHED
}

function hashed(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 12)
  bytes.writeUInt8(bytes.readUInt8(0) | HASHED, 0)
  return bytes.toString('hex')
}

import { Binary, Long } from 'bson'
import type { Args } from '../commands/args.ts'
import { MongoCommandError } from '../errors.ts'
import { isDoc, type Value } from '../values/document.ts'

/** The session fields of a command. */
export type Statement = {
  /** Id of the session, 16 bytes. */
  readonly session: Buffer
  /** Number of the transaction or of the retryable write. */
  readonly number: bigint | undefined
  readonly isInTransaction: boolean
  readonly isStart: boolean
}

const UUID_BYTES = 16

/**
 * Returns undefined for a command without a session.
 * @throws CommandError (InvalidOptions, TypeMismatch) for contradictory or invalid fields
 */
export function parseStatement(args: Args): Statement | undefined {
  const lsid = args.value('lsid')
  const txnNumber = args.value('txnNumber')
  const autocommit = args.value('autocommit')
  const isStart = args.value('startTransaction') !== undefined
  if (txnNumber === undefined && (autocommit !== undefined || isStart)) {
    throw invalid('a transaction requires a txnNumber')
  }
  if (lsid === undefined) {
    if (txnNumber === undefined) return undefined
    throw invalid('Transaction number requires a session ID to also be specified')
  }
  if (autocommit !== undefined && autocommit !== false) {
    throw invalid('autocommit may only be false')
  }
  if (isStart && args.value('startTransaction') !== true) {
    throw invalid('startTransaction may only be true')
  }
  if (isStart && autocommit === undefined) throw invalid('startTransaction requires autocommit')
  return {
    session: sessionKey(lsid),
    number: txnNumber === undefined ? undefined : numberOf(txnNumber),
    isInTransaction: autocommit === false,
    isStart,
  }
}

/** The 16 bytes of a session id `{ id: UUID }`. */
export function sessionKey(lsid: Value): Buffer {
  const id = isDoc(lsid) ? lsid['id'] : undefined
  if (id instanceof Binary && id.sub_type === Binary.SUBTYPE_UUID && id.position === UUID_BYTES) {
    return Buffer.from(id.buffer.subarray(0, UUID_BYTES))
  }
  throw new MongoCommandError('TypeMismatch', "BSON field 'lsid.id' must be a UUID")
}

function numberOf(value: Value): bigint {
  if (value instanceof Long && !value.isNegative()) return value.toBigInt()
  throw new MongoCommandError('TypeMismatch', "BSON field 'txnNumber' must be a long, not negative")
}

function invalid(message: string): MongoCommandError {
  return new MongoCommandError('InvalidOptions', message)
}

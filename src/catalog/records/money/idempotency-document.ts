/** Answers of money actions, kept so that a repeated call does nothing twice (billing). */
import type { IndexDescription } from 'mongodb'
import type { ProcessIdentity } from '../../../runtime/process-identity.ts'

export type IdempotencyDocument = KeyedCallDocument | KeyedPartDocument

/** One call with an `Idempotency-Key`. */
export interface KeyedCallDocument {
  /** Hash of caller, action and key. */
  _id: string
  action: string
  caller: string
  /** Hash of the parameters: the same key with other parameters is refused. */
  digest: string
  /** `done` is written in the transaction of the money, together with `answer`. */
  state: 'running' | 'done'
  /** The body of the answer, byte for byte. */
  answer?: string
  /** Unique per attempt; an attempt that was taken over cannot commit. */
  token: string
  holder: ProcessIdentity
  /** A running call may be taken over by a repetition after this time. */
  lease: Date
  /** The key may be used again after this time. */
  kept_until: Date
}

/** The results of a part of a call, written in the transaction of that part. */
export interface KeyedPartDocument {
  /** Id of the call, `/` and the number of the part. */
  _id: string
  /** Id of the call. */
  call: string
  part: number
  results: unknown[]
  kept_until: Date
}

export const IDEMPOTENCY_INDEXES: readonly IndexDescription[] = [
  { key: { kept_until: 1 } },
  { key: { call: 1, part: 1 } },
]

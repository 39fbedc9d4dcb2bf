import type { CommandReply } from '../commands/command.ts'
import { MongoCommandError, transientError } from '../errors.ts'
import { type Doc, decode, encode } from '../values/document.ts'
import type { Client } from './clients.ts'
import type { Transaction } from './transaction.ts'

/** What the statement with the current number has achieved: a write with its answer, or a commit. */
export type Outcome = { readonly reply: CommandReply } | { readonly committed: true }

/** Time and number of a stored outcome, 8 bytes each; the answer follows, if it is not a commit. */
const HEAD_BYTES = 16

/** A logical session: one client numbers its transactions and retryable writes in it. */
export class Session {
  readonly key: Buffer
  client: Client
  usedMs: number
  outcome: Outcome | undefined
  transaction: Transaction | undefined
  #number = -1n
  #work: Promise<unknown> = Promise.resolve()

  constructor(key: Buffer, client: Client, nowMs: number) {
    this.key = key
    this.client = client
    this.usedMs = nowMs
  }

  /** The highest number that has been used. */
  get number(): bigint {
    return this.#number
  }

  /** Runs numbered statements one after the other, in the order of their arrival. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work)
    this.#work = result.catch(() => undefined)
    return result
  }

  /**
   * Makes `number` the current one; the transaction of a lower number is aborted.
   * @throws CommandError (TransactionTooOld)
   */
  advance(number: bigint): void {
    if (number < this.#number) {
      throw new MongoCommandError(
        'TransactionTooOld',
        `Cannot use transaction number ${number}, as a newer one has started: ${this.#number}`,
      )
    }
    if (number === this.#number) return
    this.transaction?.abort()
    this.transaction = undefined
    this.outcome = undefined
    this.#number = number
  }

  /**
   * The open transaction with a number.
   * @throws CommandError (NoSuchTransaction, TransactionCommitted)
   */
  requireTransaction(number: bigint): Transaction {
    if (number === this.#number && this.outcome && 'committed' in this.outcome) {
      throw new MongoCommandError(
        'TransactionCommitted',
        `Transaction with { txnNumber: ${number} } has been committed.`,
      )
    }
    if (number === this.#number && this.transaction?.state === 'open') return this.transaction
    const reason =
      number === this.#number
        ? `Transaction with { txnNumber: ${number} } has been aborted.`
        : `Given transaction number ${number} does not match any in-progress transactions. ` +
          `The active transaction number is ${this.#number}`
    throw transientError('NoSuchTransaction', reason)
  }

  /** The outcome as it is stored. */
  encode(outcome: Outcome, nowMs: number): Buffer {
    const reply = 'reply' in outcome ? encode(outcome.reply) : new Uint8Array(0)
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + reply.length)
    bytes.writeBigInt64BE(BigInt(nowMs), 0)
    bytes.writeBigInt64BE(this.#number, 8)
    bytes.set(reply, HEAD_BYTES)
    return bytes
  }

  /** Takes over the outcome that an earlier process has stored. */
  restore(bytes: Buffer): void {
    this.#number = bytes.readBigInt64BE(8)
    const reply = bytes.subarray(HEAD_BYTES)
    this.outcome = reply.length > 0 ? { reply: decode(reply) satisfies Doc } : { committed: true }
  }
}

/** When a stored outcome was written, in milliseconds since 1970. */
export function storedAtMs(bytes: Buffer): number {
  return Number(bytes.readBigInt64BE(0))
}

/**
 * Restores owners into partitions whose data was lost. They are restored without sessions. Nothing
 * is charged in a partition until its epoch begins (install.ts), so an interrupted rebuild is
 * simply repeated.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { OperationLine } from '../domain/line.ts'
import type { RedisConnection } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import { packOwner } from './owner-packing.ts'
import { packResult } from './record-packing.ts'
import { runScript } from './script.ts'
import { restoreOwnersScript } from './scripts.ts'

/** The data of a partition exists: another process has rebuilt it. */
export class LedgerStandsError extends Error {
  override name = 'LedgerStandsError'
}

/** An operation whose stored result is kept for `ttlMs`: until then, repeating it moves nothing. */
export interface StoredOperation {
  line: OperationLine
  ttlMs: number
}

/** Collects the restored owners by partition. Throws `LedgerStandsError` or `StoreDownError`. */
export interface Restorer {
  /** Adds owners and operations of one account. */
  add(owners: readonly OwnerState[], operations: readonly StoredOperation[]): Promise<void>
  /** Writes the remaining owners and operations. */
  flush(): Promise<void>
}

/** One stream entry names all of them, and the recorder loads them together. */
const OWNERS_PER_CALL = 20
const OPERATIONS_PER_CALL = 100

interface Part {
  owners: OwnerState[]
  operations: StoredOperation[]
}

/**
 * `nowMs` serves as the new fence number: it exceeds every existing one, since fences count writes.
 */
export function createRestorer(redis: RedisConnection, keys: LedgerKeys, nowMs: number): Restorer {
  const parts = new Map<number, Part>()

  const write = async (partition: number, { owners, operations }: Part): Promise<void> => {
    const call = {
      // As in epochs.ts, partition 0 represents a single Redis, which is lost as a whole.
      epoch: keys.epoch(redis.isCluster ? partition : 0),
      stream: keys.stream(partition),
      fence: nowMs,
      owners: owners.map((owner) => {
        const { aid, sid } = owner
        const name = `${aid}:${sid}`
        return { key: keys.account(aid), name, sid, state: packOwner(owner) }
      }),
      operations: operations.map(({ line, ttlMs }) => ({
        key: keys.operation(line.aid, line.operationId),
        ttlMs,
        result: packResult(line),
      })),
    }
    await runScript(redis, restoreOwnersScript, call).catch((error: unknown) => {
      if (!(error instanceof Error) || !/^EPOCH\b/.test(error.message)) throw error
      throw new LedgerStandsError(`the data of partition ${partition} was rebuilt meanwhile`)
    })
  }

  const writeFull = async (partition: number, part: Part, isLast: boolean): Promise<void> => {
    const { owners, operations } = part
    const isFull = () =>
      owners.length >= OWNERS_PER_CALL || operations.length >= OPERATIONS_PER_CALL
    while (isFull() || (isLast && owners.length + operations.length > 0)) {
      await write(partition, {
        owners: owners.splice(0, OWNERS_PER_CALL),
        operations: operations.splice(0, OPERATIONS_PER_CALL),
      })
    }
  }

  return {
    async add(owners, operations) {
      const aid = owners[0]?.aid ?? operations[0]?.line.aid
      if (aid === undefined) return
      const partition = keys.partitionOf(aid)
      const part = parts.get(partition) ?? { owners: [], operations: [] }
      parts.set(partition, part)
      for (const owner of owners) part.owners.push(owner)
      for (const operation of operations) part.operations.push(operation)
      await writeFull(partition, part, false)
    },
    async flush() {
      for (const [partition, part] of parts) await writeFull(partition, part, true)
    },
  }
}

/** Splits a batch into script calls: one call on a single Redis, in a cluster one per partition. */
import { type RedisConnection, StoreDownError } from '../store/redis.ts'

/**
 * Calls for all items at once on a single Redis, or concurrently for the items of each partition in
 * a cluster. Replies are in the order of the items. In a cluster an outage affects some partitions
 * only: it is the reply of their items. On a single Redis it rejects.
 */
export async function callPerPartition<Item, Reply>(
  redis: RedisConnection,
  items: readonly Item[],
  partitionOf: (item: Item) => number,
  call: (part: readonly Item[], partition: number) => Promise<Reply[]>,
): Promise<(Reply | StoreDownError)[]> {
  if (!redis.isCluster) return items.length === 0 ? [] : call(items, 0)
  const replies: (Reply | StoreDownError)[] = new Array(items.length)
  const parts = [...positionsByPartition(items, partitionOf)]
  await Promise.all(
    parts.map(async ([partition, positions]) => {
      const part = positions.map((position) => items[position] as Item)
      const answers = await call(part, partition).catch((error: unknown) => outageOf(error))
      for (const [index, position] of positions.entries()) {
        replies[position] = answers instanceof StoreDownError ? answers : (answers[index] as Reply)
      }
    }),
  )
  return replies
}

function positionsByPartition<Item>(
  items: readonly Item[],
  partitionOf: (item: Item) => number,
): Map<number, number[]> {
  const parts = new Map<number, number[]>()
  for (const [position, item] of items.entries()) {
    const partition = partitionOf(item)
    const existing = parts.get(partition)
    if (existing === undefined) parts.set(partition, [position])
    else existing.push(position)
  }
  return parts
}

function outageOf(error: unknown): StoreDownError {
  if (error instanceof StoreDownError) return error
  throw error
}

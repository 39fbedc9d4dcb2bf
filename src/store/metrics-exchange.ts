/** Transports the metrics of all processes through Redis to the one that serves Prometheus. */
import type { Logger } from '../runtime/log.ts'
import { type Metrics, type MetricsSnapshot, parseSnapshot } from '../runtime/metrics.ts'
import type { RedisConnection } from './redis.ts'

const PUBLISH_MS = 1_000
/** A process that has ended disappears after some missed publications. */
const TTL_MS = 5_000

/** One hash tag, so that all keys are in one slot of a cluster. */
const IDS = '{tollgate:metrics}'
const keyOf = (nodeId: string) => `${IDS}:${nodeId}`

/** Publishes a snapshot for some seconds. `nodeId` is unique per process. */
export async function publishSnapshot(
  redis: RedisConnection,
  nodeId: string,
  snapshot: MetricsSnapshot,
): Promise<void> {
  await redis.guard(redis.client.set(keyOf(nodeId), JSON.stringify(snapshot), 'PX', TTL_MS))
  await redis.guard(redis.client.sadd(IDS, nodeId))
}

/** The current snapshots of all processes. Throws `StoreDownError`. */
export async function readSnapshots(redis: RedisConnection): Promise<MetricsSnapshot[]> {
  const ids = await redis.guard(redis.client.smembers(IDS))
  if (ids.length === 0) return []
  const texts = await redis.guard(redis.client.mget(ids.map(keyOf)))
  const gone = ids.filter((_, index) => texts[index] === null)
  if (gone.length > 0) await redis.guard(redis.client.srem(IDS, ...gone))
  return texts.flatMap((text) => (text === null ? [] : (parseSnapshot(text) ?? [])))
}

export interface SnapshotPublisher {
  stop(): void
}

/** Publishes the metrics of this process every second while Redis is available. */
export function startSnapshotPublisher(
  redis: RedisConnection,
  nodeId: string,
  metrics: Pick<Metrics, 'snapshot'>,
  log: Pick<Logger, 'warn'>,
): SnapshotPublisher {
  let isFailing = false
  const publish = async () => {
    try {
      await publishSnapshot(redis, nodeId, await metrics.snapshot())
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'metrics cannot be published')
      isFailing = true
    }
  }
  const timer = setInterval(() => void publish(), PUBLISH_MS)
  timer.unref()
  void publish()
  return { stop: () => clearInterval(timer) }
}

/** Checks the Redis configuration that the ledger relies on. */
import type { RedisCommander } from 'ioredis'
import type { Logger } from '../runtime/log.ts'
import type { RedisConnection } from './redis.ts'

/** The Redis configuration could lose units, for example by eviction. */
export class StorePolicyError extends Error {
  override name = 'StorePolicyError'
}

/** Shortest allowed limit of values in a compact hash, bytes. */
const LISTPACK_VALUE_BYTES_MIN = 512

/**
 * Checks every master. Throws `StorePolicyError` if units could be lost, or `StoreDownError`; logs
 * a warning if only memory is wasted.
 */
export async function checkRedisPolicy(redis: RedisConnection, log: Logger): Promise<void> {
  for (const settings of await redis.onEachMaster(settingsOf)) check(settings, log)
}

interface MasterSettings {
  policy: string
  appendonly: string
  listpackValueBytes: number
}

async function settingsOf(master: RedisCommander): Promise<MasterSettings> {
  const setting = async (name: string) => {
    const [, value] = (await master.config('GET', name)) as string[]
    return value
  }
  return {
    policy: (await setting('maxmemory-policy')) ?? '',
    appendonly: (await setting('appendonly')) ?? '',
    // Redis 6.2 uses the old name.
    listpackValueBytes: Number(
      (await setting('hash-max-listpack-value')) ?? (await setting('hash-max-ziplist-value')),
    ),
  }
}

function check({ policy, appendonly, listpackValueBytes }: MasterSettings, log: Logger): void {
  if (policy !== 'noeviction') {
    throw new StorePolicyError(`redis: maxmemory-policy is ${policy}, it must be noeviction`)
  }
  if (appendonly !== 'yes') {
    log.warn('redis: appendonly is off, a restart of redis loses balances')
  }
  if (listpackValueBytes < LISTPACK_VALUE_BYTES_MIN) {
    const advice = `raise it to ${LISTPACK_VALUE_BYTES_MIN} to halve the memory of owners`
    log.warn(`redis: hash-max-listpack-value is ${listpackValueBytes}, ${advice}`)
  }
}

/** Why commits cannot be acknowledged, if a master has too few replicas; otherwise null. */
export async function replicasMissing(redis: RedisConnection): Promise<string | null> {
  const { replicaAcks } = redis
  if (replicaAcks === 0) return null
  const counts = await redis.onEachMaster(async (master) => {
    const text = await master.info('replication')
    return text.match(/^slave\d+:.*state=online/gm)?.length ?? 0
  })
  const least = Math.min(...counts)
  return least >= replicaAcks ? null : `redis: a master has ${least} of ${replicaAcks} replicas`
}

/** Masters that refuse all writes because their disk is full or fails. */
export interface WriteRefusals {
  refusing: number
  masters: number
  /** Reason of one of them; null if none refuses. */
  reason: string | null
}

/**
 * Finds masters that report by INFO that they cannot write; they refuse writes (MISCONF). Throws
 * `StoreDownError`.
 */
export async function writeRefusals(redis: RedisConnection): Promise<WriteRefusals> {
  const found = await redis.onEachMaster(refusalOf)
  const reasons = found.filter((reason) => reason !== null)
  return { refusing: reasons.length, masters: found.length, reason: reasons[0] ?? null }
}

async function refusalOf(master: RedisCommander): Promise<string | null> {
  const info = await master.info('persistence')
  const isBad = (field: string) => new RegExp(`^${field}:err`, 'm').test(info)
  if (/^aof_enabled:1/m.test(info) && isBad('aof_last_write_status')) {
    return 'its append-only file cannot be written'
  }
  if (!isBad('rdb_last_bgsave_status')) return null
  const [, stops] = (await master.config('GET', 'stop-writes-on-bgsave-error')) as string[]
  const [, points] = (await master.config('GET', 'save')) as string[]
  return stops === 'yes' && points !== '' ? 'its last snapshot failed (bgsave)' : null
}

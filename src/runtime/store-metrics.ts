/** Metrics of stores that answer, but refuse writes. */
import { Gauge, type Registry } from 'prom-client'

export interface StoreMetrics {
  /** Sets the number of Redis masters that cannot write and refuse to charge. */
  redisCannotWrite(masters: number): void
  /** Sets whether MongoDB refuses writes. */
  mongoCannotWrite(refusing: 0 | 1): void
}

export function createStoreMetrics(registers: Registry[]): StoreMetrics {
  const redis = new Gauge({
    name: 'tollgate_redis_cannot_write',
    help: 'Redis masters that cannot write to disk, and refuse to charge',
    registers,
  })
  const mongo = new Gauge({
    name: 'tollgate_mongo_cannot_write',
    help: '1 while MongoDB refuses writes, so that lines wait to be recorded',
    registers,
  })
  return {
    redisCannotWrite: (masters) => redis.set(masters),
    mongoCannotWrite: (refusing) => mongo.set(refusing),
  }
}

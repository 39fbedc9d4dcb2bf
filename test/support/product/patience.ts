/** How long the product waits for its stores in tests, which share the machine with others. */
import { loadConfig } from '../../../src/config/load.ts'

/**
 * The default of every fixture: stores may pause for seconds, because the machine is busy, without
 * a request or a start that fails.
 */
export const PATIENT = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '20000',
  TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: '10000',
  TOLLGATE_MONGO_TIMEOUT_MS: '20000',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '25000',
  TOLLGATE_SHUTDOWN_TIMEOUT_MS: '75000',
}

const { redis, mongo, realtime, shutdown } = loadConfig({ env: {} })

/** The limits of config/default.yaml: for benchmarks, and for tests that wait for outages. */
export const DEFAULT_LIMITS: Readonly<Record<keyof typeof PATIENT, string>> = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: String(redis.commandTimeoutMs),
  TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: String(redis.connectTimeoutMs),
  TOLLGATE_MONGO_TIMEOUT_MS: String(mongo.timeoutMs),
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: String(realtime.requestTimeoutMs),
  TOLLGATE_SHUTDOWN_TIMEOUT_MS: String(shutdown.timeoutMs),
}

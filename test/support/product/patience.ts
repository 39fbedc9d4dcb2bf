/**
 * Settings of a node that waits for its stores while a machine stands still for seconds, because
 * others use it too: for what is not about outages.
 */
export const PATIENT = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '20000',
  TOLLGATE_MONGO_TIMEOUT_MS: '20000',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '25000',
  TOLLGATE_SHUTDOWN_TIMEOUT_MS: '75000',
}

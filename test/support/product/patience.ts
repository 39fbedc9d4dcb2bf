/**
 * Settings of a node that tolerates stores that pause for seconds, because the machine is shared:
 * for tests that are not about outages.
 */
export const PATIENT = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '20000',
  TOLLGATE_MONGO_TIMEOUT_MS: '20000',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '25000',
  TOLLGATE_SHUTDOWN_TIMEOUT_MS: '75000',
}

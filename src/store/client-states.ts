/**
 * The highest Origin-State-Id of each Diameter client, for all nodes, and the clients that have
 * restarted, so that the sessions they have lost can be ended.
 */
import { openExpiringKeys } from './expiring.ts'
import type { RedisConnection } from './redis.ts'

export interface ClientStates {
  /**
   * Stores a state, and that its client has restarted if a lower one is stored. `knownId`: the
   * state that the caller knows, 0 if none. Returns whether the client has restarted. Rejects with
   * `StoreDownError`.
   */
  raise(name: string, stateId: number, knownId: number): Promise<boolean>
}

/** Clients by name with the state before which their sessions are lost. */
export type Restarts = ReadonlyMap<string, number>

const PREFIX = 'diameter-client'
/** Hash with one field per restart: client and new state. */
const RESTARTS = 'tollgate:restarts'
/** Longer than the longest life of a session without a request. */
const TTL_MS = 60 * 86_400_000

/** Two nodes that receive a state at the same time may both record a restart, which is harmless. */
export function openClientStates(redis: RedisConnection): ClientStates {
  const keys = openExpiringKeys(redis, PREFIX)
  return {
    async raise(name, stateId, knownId) {
      const stored = Number((await keys.get(name)) ?? 0)
      const before = Math.max(stored, knownId)
      if (stateId < before) return false
      const hasRestarted = before > 0 && stateId > before
      // Recorded first: if the next write fails, the restart is recorded again.
      if (hasRestarted) await recordRestart(redis, name, stateId)
      await keys.set(name, String(stateId), TTL_MS)
      return hasRestarted
    },
  }
}

async function recordRestart({ client, guard }: RedisConnection, name: string, stateId: number) {
  await guard(client.hset(RESTARTS, fieldOf(name, stateId), 1))
  await guard(client.pexpire(RESTARTS, TTL_MS))
}

/** Rejects with `StoreDownError`. */
export async function pendingRestarts({ client, guard }: RedisConnection): Promise<Restarts> {
  const restarts = new Map<string, number>()
  for (const field of await guard(client.hkeys(RESTARTS))) {
    const [state = '', name = ''] = field.split(/ (.*)/s)
    restarts.set(name, Math.max(restarts.get(name) ?? 0, Number(state) || 0))
  }
  return restarts
}

/** Removes restarts up to these states; later ones remain. Rejects with `StoreDownError`. */
export async function forgetRestarts(
  { client, guard }: RedisConnection,
  restarts: Restarts,
): Promise<void> {
  const done = (await guard(client.hkeys(RESTARTS))).filter((field) => {
    const [state = '', name = ''] = field.split(/ (.*)/s)
    return !(Number(state) > (restarts.get(name) ?? -1))
  })
  if (done.length > 0) await guard(client.hdel(RESTARTS, ...done))
}

function fieldOf(name: string, stateId: number): string {
  return `${stateId} ${name}`
}

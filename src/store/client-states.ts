/**
 * What Diameter clients say of their state (Origin-State-Id): the highest of each, for all nodes,
 * and the clients that have restarted, for whoever ends the sessions that they have lost.
 */
import { openExpiringKeys } from './expiring.ts'
import type { RedisConnection } from './redis.ts'

export interface ClientStates {
  /**
   * Remembers a state, and that its client has restarted if a lower one is known. `knownId`: the
   * one that the caller knows; 0: none. Gives whether it has. Rejects with `StoreDownError`.
   */
  raise(name: string, stateId: number, knownId: number): Promise<boolean>
}

/** Clients by their names, with the states before which their sessions are lost. */
export type Restarts = ReadonlyMap<string, number>

const PREFIX = 'diameter-client'
/** Hash: a client and its state, each time that it has restarted. */
const RESTARTS = 'tollgate:restarts'
/** Longer than any session lives without a request. */
const TTL_MS = 60 * 86_400_000

/** Two nodes that hear of a state at the same time may both tell of it: that does no harm. */
export function openClientStates(redis: RedisConnection): ClientStates {
  const keys = openExpiringKeys(redis, PREFIX)
  return {
    async raise(name, stateId, knownId) {
      const stored = Number((await keys.get(name)) ?? 0)
      const before = Math.max(stored, knownId)
      if (stateId < before) return false
      const hasRestarted = before > 0 && stateId > before
      // Noted first: if what follows fails, it is noted once more.
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

/** Those up to these states; what was noted since stays. Rejects with `StoreDownError`. */
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

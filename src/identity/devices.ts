/**
 * Devices from which an account has logged in before. They may still try a password while an attack
 * locks out other sources; a known device proves nothing else. A browser is identified by a signed
 * cookie per account, an OAuth client by its own secret.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AuthDeps } from './auth-deps.ts'

/** Each rejects with `StoreDownError`. `account` is the key under which attempts are counted. */
export interface Devices {
  /** Id of the device whose cookie has this value; null if it is not known for the account. */
  idOf(value: string | null, account: string): Promise<string | null>
  /** Issues a new cookie value; registers a new device if `id` is null. */
  issue(account: string, id: string | null): Promise<string>
  /** Id of a client that has logged in for the account before; null if it has not. */
  idOfClient(client: string, account: string): Promise<string | null>
  noteClient(client: string, account: string): Promise<void>
}

const DAY_MS = 24 * 3_600_000
/** A device is forgotten after this time without a login. */
export const DEVICE_MS = 180 * DAY_MS
/** Exceeds the lifetime of every cookie signed with the key. */
const KEY_MS = 400 * DAY_MS
const KEY = 'device-key'
const KEY_BYTES = 32
const VALUE = /^([\w-]{22})\.([\da-z]{1,11})\.([\w-]{43})$/

export function createDevices({ keys, clock }: Pick<AuthDeps, 'keys' | 'clock'>): Devices {
  const signature = async (id: string, ends: string, account: string) => {
    const key = await keys.get(KEY)
    if (key === null) return null
    return createHmac('sha256', key).update([id, ends, account].join('\0')).digest('base64url')
  }
  return {
    async idOf(value, account) {
      const [, id = '', ends = '', signed = ''] = VALUE.exec(value ?? '') ?? []
      if (id === '' || Number.parseInt(ends, 36) <= clock.nowMs()) return null
      const right = await signature(id, ends, account)
      if (right === null) return null
      return timingSafeEqual(Buffer.from(right), Buffer.from(signed)) ? id : null
    },

    async issue(account, known) {
      const id = known ?? randomBytes(16).toString('base64url')
      const ends = (clock.nowMs() + DEVICE_MS).toString(36)
      // All processes share the signing key.
      await keys.setOnce(KEY, randomBytes(KEY_BYTES).toString('base64url'), KEY_MS)
      await keys.extend(KEY, KEY_MS)
      return [id, ends, await signature(id, ends, account)].join('.')
    },

    async idOfClient(client, account) {
      const key = clientKey(client, account)
      return (await keys.get(key)) === null ? null : key
    },

    noteClient: (client, account) => keys.set(clientKey(client, account), '1', DEVICE_MS),
  }
}

function clientKey(client: string, account: string): string {
  const both = createHash('sha256')
    .update(JSON.stringify([client, account]))
    .digest('base64url')
  return `known-client:${both}`
}
